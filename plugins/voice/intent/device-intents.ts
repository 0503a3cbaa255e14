/** Intents of the device itself, as far as the services for them are there. */

import type { Scope } from '@device-core/plugin-api';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import { type Catalogue, DEVICE } from './catalogue.ts';
import type { DeviceIntent, DeviceTexts } from './device-texts.ts';
import { LANGUAGES } from './texts.ts';

/** Carried out twice they do no more than once. */
const ONCE_IS_ENOUGH: ReadonlySet<string> = new Set<DeviceIntent>([
  ...(['volume-set', 'volume-tell', 'mute', 'stop', 'timer-left', 'time', 'help', 'alarm-list'] as const),
]);

type Work = (run: IntentRun, texts: DeviceTexts) => Promise<IntentAnswer>;

type Works = Partial<Readonly<Record<DeviceIntent, Work>>>;

/**
 * Intents in the languages that there is a table for. That of the product is there from the start, another one from
 * the first question in it: the sentences of a language cost 20 ms of CPU.
 */
export class DeviceIntents {
  readonly #catalogue: Catalogue;
  readonly #spoken: Set<string>;
  readonly #groups = new Set<{ readonly scope: Scope; readonly works: Works }>();

  constructor(catalogue: Catalogue, language: string) {
    this.#catalogue = catalogue;
    this.#spoken = new Set([language]);
    catalogue.onNeed = (other) => this.#learn(other);
  }

  /** They are there until the scope ends. */
  add(scope: Scope, works: Works): void {
    const group = { scope, works };
    this.#groups.add(group);
    scope.defer('intents of the device', () => void this.#groups.delete(group));
    for (const texts of LANGUAGES) if (this.#spoken.has(texts.language)) this.#addTexts(texts, group);
  }

  #learn(language: string): void {
    const texts = LANGUAGES.find((one) => one.language === language);
    if (!texts || this.#spoken.has(language)) return;
    this.#spoken.add(language);
    for (const group of this.#groups) this.#addTexts(texts, group);
  }

  #addTexts(texts: DeviceTexts, { scope, works }: { readonly scope: Scope; readonly works: Works }): void {
    const { language, rules, slots } = texts;
    for (const [name, work] of Object.entries(works)) {
      const { title, sentences } = texts.intents[name as DeviceIntent];
      // English has the plain id; a table of another language adds its own.
      const id = language === 'en' ? `device.${name}` : `device.${name}.${language}`;
      const idempotent = ONCE_IS_ENOUGH.has(name);
      const definition = { id, title, language, sentences, rules, slots, idempotent };
      const add = this.#catalogue.add(definition, (run) => work(run, texts), DEVICE);
      scope.use(`intent ${id}`, add);
    }
  }
}
