import { CoreError } from '@device-core/plugin-api';
import type { IntentInterpreter, SlotValue } from '@device-core/plugin-api/services/intents';
import type { WyomingEvent } from './codec.ts';
import type { Link } from './link.ts';
import type { RemoteService } from './remote-info.ts';
import { languageFor } from './words.ts';

const MOST_ENTITIES = 64;

/** `recognize` -> `intent` or `not-recognized`. */
export class RemoteIntent implements IntentInterpreter {
  readonly #link: Link;
  readonly #languages: readonly string[];
  readonly #names: Readonly<Record<string, string>>;

  /** `names` of our intents by theirs, where they name them otherwise. */
  constructor(link: Link, { languages }: RemoteService, names: Readonly<Record<string, string>>) {
    this.#link = link;
    this.#languages = languages;
    this.#names = names;
  }

  async interpret(
    text: string,
    { language, signal }: { readonly language: string; readonly signal: AbortSignal },
  ): Promise<{ readonly intent: string; readonly slots: Readonly<Record<string, SlotValue>> } | undefined> {
    if (this.#languages.length > 0 && languageFor(language, this.#languages) === undefined)
      throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: this.#link.name, language });
    await using use = await this.#link.open(signal);
    const { connection } = use;
    try {
      await connection.send('recognize', { text });
      connection.expect('the intent', this.#link.settings.answerMs);
      for (;;) {
        const event = await connection.next();
        if (!event) throw this.#link.hungUp('the intent');
        if (event.type === 'error') throw this.#link.refused(event);
        if (event.type === 'not-recognized') return undefined;
        if (event.type === 'intent') return this.#answer(event);
      }
    } catch (error) {
      throw this.#link.told(error, signal);
    }
  }

  #answer({ data: { name, entities } }: WyomingEvent) {
    if (typeof name !== 'string' || name === '') throw this.#link.failed('its intent has no name');
    if (entities !== undefined && entities !== null && !Array.isArray(entities))
      throw this.#link.failed('its entities are no list');
    const list: readonly unknown[] = entities ?? [];
    if (list.length > MOST_ENTITIES) throw this.#link.failed(`its intent has more than ${MOST_ENTITIES} entities`);
    const slots = list.map((entity): [string, SlotValue] => {
      const { name: slot, value } = Object(entity) as Readonly<Record<string, unknown>>;
      if (typeof slot !== 'string' || !isValue(value))
        throw this.#link.failed('an entity has no name, or a value that is no string, number or boolean');
      return [slot, value];
    });
    const own = Object.hasOwn(this.#names, name) ? this.#names[name]! : name;
    return { intent: own, slots: Object.fromEntries(slots) };
  }
}

function isValue(value: unknown): value is SlotValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
