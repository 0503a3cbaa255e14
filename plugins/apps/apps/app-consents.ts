/** Kept answers and questions about apps, as far as plugin `prompts` is there. Its last word holds while it restarts. */

import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { type ConsentPolicy, DEFAULT_POLICY, type Decision, questionOf } from '@device-core/plugin-api/inside/consent';
import type { Consent, Consents } from '@device-core/plugin-api/inside/services/consents';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { Prompts } from '@device-core/plugin-api/services/prompts';

export class AppConsents {
  readonly #log: Logger;
  readonly #answers = new Map<string, readonly Consent[]>();
  /** The last question about each app, so that an app that starts again and again does not ask each time. */
  readonly #asked = new Map<string, string>();
  #lent: (app: string) => readonly Consent[] = () => [];
  #policy: ConsentPolicy = DEFAULT_POLICY;
  #consents: Consents | undefined;
  #prompts: Prompts | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Somebody keeps answers. */
  get askable(): boolean {
    return this.#consents !== undefined;
  }

  async followConsents(service: Consents | undefined): Promise<void> {
    this.#consents = service;
    if (service) this.#policy = await service.policy();
  }

  followPrompts(service: Prompts | undefined): void {
    this.#prompts = service;
  }

  /** Answers that hold as long as an app is tried, over those that are kept. */
  followTrials(of: (app: string) => readonly Consent[]): void {
    this.#lent = of;
  }

  /** As far as they were looked at. */
  rulesFor(app: string): {
    readonly policy: ConsentPolicy;
    readonly consents: readonly Consent[];
    readonly askable: boolean;
  } {
    const answers = [...(this.#answers.get(app) ?? []), ...this.#lent(app)];
    return { policy: this.#policy, consents: answers, askable: this.askable };
  }

  async look(app: string): Promise<void> {
    const answers = await this.#consents?.of(app);
    if (answers) this.#answers.set(app, answers);
  }

  /** In force and durable when it resolves. Throws UNAVAILABLE where nobody keeps answers, and the codes of Consents.keep(). */
  async keep(app: string, answers: readonly Consent[]): Promise<void> {
    if (!this.#consents)
      throw new CoreError('UNAVAILABLE', { what: 'the kept answers', reason: 'plugin prompts is not there' });
    await this.#consents.keep(app, answers);
    await this.look(app);
  }

  /** Nobody waits for the answer: when it comes the app starts again with it. The same is asked once while the Core runs. */
  ask(app: AppManifest, undecided: readonly Decision[]): void {
    if (undecided.length === 0) {
      this.withdraw(app.id);
      return;
    }
    if (!this.#prompts) return;
    const asked = JSON.stringify([app.version, undecided.map(({ capability, params }) => [capability, params])]);
    if (this.#asked.get(app.id) === asked) return;
    this.#asked.set(app.id, asked);
    this.#prompts
      .ask(questionOf({ app }, undecided))
      .then(({ state }) => {
        // A question replaced by a newer one leaves that one in place; a question withdrawn with its plugin is asked
        // again at the next start.
        if (state === 'withdrawn' && this.#asked.get(app.id) === asked) this.#asked.delete(app.id);
      })
      .catch((thrown) => {
        this.#asked.delete(app.id);
        this.#log.warn({ app: app.id, reason: reasonOf(thrown) }, 'cannot ask for what an app wants');
      });
  }

  /** The question that ask() asked about this app means nothing any more. */
  withdraw(app: string): void {
    if (!this.#asked.delete(app)) return;
    this.#prompts
      ?.withdraw(app, 'consent')
      .catch((thrown) => this.#log.warn({ app, reason: reasonOf(thrown) }, 'cannot withdraw a question'));
  }
}
