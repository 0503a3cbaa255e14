/** The answers that were kept, by app, in the order in which they were given. Durable before a method resolves. */

import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import { type ConsentPolicy, mergeAnswers } from '@device-core/plugin-api/inside/consent';
import type { Consent, Consents } from '@device-core/plugin-api/inside/services/consents';
import type { HealthReport } from '@device-core/plugin-api/services/health';

type ByApp = ReadonlyMap<string, readonly Consent[]>;

const MOST_APPS = 512;
const FORM: KeptForm<ByApp> = {
  form: 1,
  initial: new Map(),
  consequence: 'answers about capabilities hold until the Core ends',
  format: (value) => ({ apps: Object.fromEntries(value) }),
  parse({ apps }) {
    if (typeof apps !== 'object' || apps === null) return undefined;
    const found = Object.entries(apps as Readonly<Record<string, unknown>>);
    return found.every(([, answers]) => Array.isArray(answers) && answers.every(isConsent))
      ? new Map(found as [string, Consent[]][])
      : undefined;
  },
};

export interface KeptAnswersOptions {
  readonly path: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly policy: ConsentPolicy;
}

export class KeptAnswers implements Consents {
  readonly #file: KeptFile<ByApp>;
  readonly #options: KeptAnswersOptions;
  readonly #listeners = new Set<(app: string) => void>();

  private constructor(file: KeptFile<ByApp>, options: KeptAnswersOptions) {
    this.#file = file;
    this.#options = options;
  }

  static async open(options: KeptAnswersOptions): Promise<KeptAnswers> {
    const { path, scope, log } = options;
    return new KeptAnswers(await KeptFile.open(path, FORM, scope, log), options);
  }

  async policy(): Promise<ConsentPolicy> {
    return this.#options.policy;
  }

  async of(app: string): Promise<readonly Consent[]> {
    return this.#file.value.get(app) ?? [];
  }

  all(): readonly (Consent & { readonly app: string })[] {
    return [...this.#file.value].flatMap(([app, answers]) => answers.map((answer) => ({ app, ...answer })));
  }

  async keep(app: string, answers: readonly Consent[]): Promise<void> {
    // Read in the same turn: two that keep at once must not lose one.
    await this.#set(app, mergeAnswers(this.#file.value.get(app) ?? [], answers));
  }

  async replace(app: string, answers: readonly Consent[]): Promise<void> {
    // A refusal made meanwhile stands: a rollback does not grant it again.
    const refused = (this.#file.value.get(app) ?? []).filter(({ allowed }) => !allowed);
    await this.#set(app, mergeAnswers(answers, refused));
  }

  async forget(app: string): Promise<void> {
    await this.#set(app, []);
  }

  onChange(listener: (app: string) => void): Disposable {
    const entry = (app: string) => listener(app);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'prompts.consents');
  }

  async #set(app: string, answers: readonly Consent[]): Promise<void> {
    const next = new Map(this.#file.value);
    if (answers.length === 0 && !next.delete(app)) return;
    if (answers.length > 0) next.set(app, answers);
    if (next.size > MOST_APPS)
      throw new CoreError('BUSY', { what: 'keeping answers about another app', limit: MOST_APPS });
    const kept = this.#file.set(next);
    for (const listener of [...this.#listeners]) {
      try {
        listener(app);
      } catch (thrown) {
        this.#options.log.error({ app, reason: reasonOf(thrown) }, 'a listener of kept answers failed');
      }
    }
    await kept;
  }
}

function isConsent(found: unknown): found is Consent {
  if (typeof found !== 'object' || found === null) return false;
  const { capability, params, allowed, by, at, version } = found as Readonly<Record<string, unknown>>;
  const texts = [capability, by, version].every((text) => typeof text === 'string');
  const named = params === undefined || (typeof params === 'object' && params !== null);
  return texts && named && typeof allowed === 'boolean' && typeof at === 'number';
}
