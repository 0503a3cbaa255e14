/** One request of the host: its bytes, its place in life, its single outcome. */
import { Answer, type Outcome } from './answer.ts';

/** `queued` has sent nothing, `open` has sent its first fragment, `abandoned` has been settled while the bridge still owes its FIN. */
export type RequestState = 'queued' | 'open' | 'abandoned';

export interface RequestOptions {
  readonly op: number;
  readonly body: Uint8Array;
  /** What the bridge is told, milliseconds; 0 = its default. */
  readonly deadlineMs: number;
  /** What the host waits for, milliseconds, before it adds its own margin. */
  readonly patienceMs: number;
  /** Most response bytes that it takes. */
  readonly answerLimit: number;
}

export class Request implements RequestOptions {
  readonly op: number;
  readonly body: Uint8Array;
  readonly deadlineMs: number;
  readonly patienceMs: number;
  readonly answerLimit: number;
  readonly outcome: Promise<Outcome>;
  state: RequestState = 'queued';
  rid = 0;
  sent = 0;
  fragment = 0;
  /** It was refused with BUSY and sent again. */
  retried = false;
  timer: Disposable | undefined;
  answer: Answer;
  readonly #resolve: (outcome: Outcome) => void;

  constructor(options: RequestOptions) {
    this.op = options.op;
    this.body = options.body;
    this.deadlineMs = options.deadlineMs;
    this.patienceMs = options.patienceMs;
    this.answerLimit = options.answerLimit;
    this.answer = new Answer(options.answerLimit);
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  /** The first call decides. */
  settle(status: number, body: Uint8Array = EMPTY): void {
    this.timer?.[Symbol.dispose]();
    this.timer = undefined;
    this.#resolve({ status, body });
  }

  /** Back to where it was before its first fragment. */
  rewind(): void {
    this.timer?.[Symbol.dispose]();
    this.timer = undefined;
    this.state = 'queued';
    this.sent = 0;
    this.fragment = 0;
    this.answer = new Answer(this.answerLimit);
  }
}

const EMPTY = new Uint8Array(0);
