import { CoreError, reasonOf, type SecretRef } from '@device-core/plugin-api';
import type { Secrets } from '@device-core/plugin-api/services/secrets';
import { KeyFile } from './key-file.ts';

export interface KeyOptions {
  /** Name of the engine, for messages. */
  readonly engine: string;
  readonly ref?: SecretRef | undefined;
  /** Absolute; as it was before there were secrets. */
  readonly file?: string | undefined;
}

/** Asked for each time: a new one is taken up at once, and none stays here. */
export class Key {
  readonly #options: KeyOptions;
  readonly #file: KeyFile | undefined;
  /** While the service is there. */
  secrets: Pick<Secrets, 'get'> | undefined;

  constructor(options: KeyOptions) {
    this.#options = options;
    this.#file = options.file === undefined ? undefined : new KeyFile(options.file, options.engine);
  }

  /** Headers of a request. Rejects with SPEECH_FAILED, which never names the key. */
  async headers(): Promise<Record<string, string>> {
    const { ref } = this.#options;
    if (ref) return { authorization: `Bearer ${await this.#reveal(ref)}` };
    return this.#file ? { authorization: `Bearer ${await this.#file.read()}` } : {};
  }

  /** Why there is none, where there has to be one. */
  async missing(): Promise<string | undefined> {
    const { ref } = this.#options;
    if (!ref) return await this.#file?.missing();
    if (!this.secrets) return NO_SERVICE().message;
    return await this.secrets.get(ref).then(() => undefined, reasonOf);
  }

  async #reveal(ref: SecretRef): Promise<string> {
    const { engine } = this.#options;
    const failed = (reason: string, cause?: unknown) => new CoreError('SPEECH_FAILED', { engine, reason }, { cause });
    let key: string;
    try {
      if (!this.secrets) throw NO_SERVICE();
      key = (await (await this.secrets.get(ref)).reveal()).trim();
    } catch (error) {
      throw failed(`its key cannot be used: ${reasonOf(error)}`, error);
    }
    // Other characters would break out of the header.
    if (!/^[\x21-\x7e]+$/.test(key)) throw failed(`secret ${ref.secret} holds no key`);
    return key;
  }
}

const NO_SERVICE = () => new CoreError('UNAVAILABLE', { what: 'secrets', reason: 'no plugin of the SKU keeps them' });
