/** Asks the person before the device whether a page may do what it wants to do: a question like any other, so devicectl can answer it, too. */
import { type Logger, type Prompts, reasonOf, type Sessions } from '@device-core/plugin-api';
import type { Waiting } from './confirmations.ts';

const KIND = 'confirm';
/** A question has no more room. */
const LONGEST = 200;

export class PanelQuestions {
  readonly #sessions: Sessions;
  readonly #log: Logger;
  readonly #settle: (id: string, state: 'confirmed' | 'refused') => void;
  #prompts: Prompts | undefined;
  /** Subject -> the confirmation that is asked about now. */
  readonly #asked = new Map<string, string>();

  constructor(sessions: Sessions, log: Logger, settle: (id: string, state: 'confirmed' | 'refused') => void) {
    this.#sessions = sessions;
    this.#log = log;
    this.#settle = settle;
  }

  get there(): boolean {
    return this.#prompts !== undefined;
  }

  use(prompts: Prompts | undefined): void {
    this.#prompts = prompts;
    this.#asked.clear();
  }

  ask(waiting: Waiting): void {
    const subject = `page.${waiting.session}`;
    this.#asked.set(subject, waiting.id);
    this.#put(subject, waiting).catch((thrown: unknown) =>
      this.#log.info({ session: waiting.session, reason: reasonOf(thrown) }, 'the panel cannot be asked: a code can'),
    );
  }

  /** It was answered, or nobody waits for it. */
  over({ id, session }: Waiting): void {
    const subject = `page.${session}`;
    if (this.#asked.get(subject) !== id) return;
    this.#asked.delete(subject);
    this.#prompts
      ?.withdraw(subject, KIND)
      .catch((thrown: unknown) => this.#log.debug({ reason: reasonOf(thrown) }, 'a question was not taken back'));
  }

  async #put(subject: string, { id, session, what, ms }: Waiting): Promise<void> {
    const names = await this.#sessions.list();
    const name = names.find((one) => one.id === session)?.name ?? 'a browser';
    if (this.#asked.get(subject) !== id || this.#prompts === undefined) return;
    const asked = { kind: KIND, subject, title: name, act: what.slice(0, LONGEST), what: [], ms } as const;
    const { state, allow } = await this.#prompts.ask(asked);
    if (state === 'answered') this.#settle(id, allow.includes('yes') ? 'confirmed' : 'refused');
  }
}
