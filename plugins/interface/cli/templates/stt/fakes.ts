/**
 * Fakes of the services that the plugin requires: the tests start it with them, and so does `devicectl plugin check`.
 */
import { type EngineDescription, type Speech, type SttEngine, speech } from '@device-core/plugin-api/services/speech';
import { given } from '@device-core/plugin-api/testing';

/** Keeps what is registered. */
export class FakeSpeech {
  readonly engines = new Map<string, { readonly description: EngineDescription; readonly engine: SttEngine }>();

  service() {
    const implementation: Partial<Speech> = {
      register: (kind, description, engine) => {
        const key = `${kind} ${description.id}`;
        this.engines.set(key, { description, engine: engine as SttEngine });
        return { [Symbol.asyncDispose]: async () => void this.engines.delete(key) };
      },
    };
    return given(speech, implementation);
  }
}

export const services = () => [new FakeSpeech().service()];
