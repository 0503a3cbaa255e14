/**
 * Asks the person before the device whether a page may do what it wants to do: a question like any other, so devicectl
 * can answer it, too.
 */
import { type Logger, maybe, reasonOf } from '@device-core/plugin-api';
import type { Sessions } from '@device-core/plugin-api/inside/services/sessions';
import type { Prompts } from '@device-core/plugin-api/services/prompts';
import type { Waiting } from './confirmations.ts';

const KIND = 'confirm';

/** Outcome of a question. */
interface Told {
  settle(id: string, state: 'confirmed' | 'refused'): void;
  forget(id: string): void;
}

export class PanelQuestions {
  readonly #sessions: Sessions;
  readonly #log: Logger;
  readonly #told: Told;
  #prompts: Prompts | undefined;
  /** Subject -> the confirmation that is asked about now. */
  readonly #asked = new Map<string, string>();

  constructor(sessions: Sessions, log: Logger, told: Told) {
    this.#sessions = sessions;
    this.#log = log;
    this.#told = told;
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

  async #put(subject: string, { id, session, act, operation, names, about, ms }: Waiting): Promise<void> {
    const all = await this.#sessions.list();
    const title = all.find((one) => one.id === session)?.name ?? 'a browser';
    const asker = this.#prompts;
    if (this.#asked.get(subject) !== id || asker === undefined) return;
    const { what = [], claims, ...of } = about ?? { id: '' };
    const { state, allow } = await asker.ask({
      kind: KIND,
      subject,
      title,
      act,
      operation,
      names,
      what,
      ms,
      ...maybe({ claims }),
      ...(about && { about: of }),
    });
    if (state === 'answered') this.#told.settle(id, allow.includes('yes') ? 'confirmed' : 'refused');
    else if (state === 'withdrawn' && of.answers !== undefined) await this.#followAnswer(asker, of.answers, id);
  }

  /** The question that the act would answer was answered elsewhere: then there is nothing left to confirm. */
  async #followAnswer(asker: Prompts, question: string, id: string): Promise<void> {
    if (this.#prompts !== asker) return;
    const open = await asker.list();
    if (!open.some((one) => one.id === question)) this.#told.forget(id);
  }
}
