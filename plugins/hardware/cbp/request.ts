/** One request of the host: its bytes, its place in life, its single outcome. */
import { type Executed, executedByStatus } from '@device-core/plugin-api/buses';
import { Answer, type Outcome } from './answer.ts';
import { statusName } from './status.ts';

/** `queued` has sent nothing, `open` has sent its first fragment, `abandoned` has been settled while the bridge still owes its FIN. */
export type RequestState = 'queued' | 'open' | 'abandoned';

/** Clock of a timeout: the caller's, which counts from the call on, or the transfer's, which counts from its turn on. */
export type TimeoutClock = 'caller' | 'transfer';

/** How a request ended for its caller. */
export interface RequestOutcome extends Outcome {
  /** Extent to which the request was executed, where the status is not OK. */
  readonly executed: Executed;
  readonly clock: TimeoutClock;
}

/** The end of a request that its caller or its limit has called off. */
export type GivenUp = Pick<RequestOutcome, 'status'> & Partial<Pick<RequestOutcome, 'clock' | 'executed'>>;

export interface RequestOptions {
  readonly op: number;
  readonly body: Uint8Array;
  /** Limit of the transfer as sent to the bridge, milliseconds; 0 = its default. */
  readonly deadlineMs: number;
  /** Host's wait from the request's turn on, milliseconds, before its margin is added. */
  readonly patienceMs: number;
  /** Caller's wait, the queue included; no limit if absent. */
  readonly callerMs?: number;
  /** Most response bytes that it takes. */
  readonly answerLimit: number;
}

export class Request implements Omit<RequestOptions, 'callerMs'> {
  readonly op: number;
  readonly body: Uint8Array;
  readonly deadlineMs: number;
  readonly patienceMs: number;
  readonly callerMs: number | undefined;
  readonly answerLimit: number;
  readonly outcome: Promise<RequestOutcome>;
  state: RequestState = 'queued';
  rid = 0;
  sent = 0;
  fragment = 0;
  /** It was refused with BUSY and sent again. */
  retried = false;
  /** Everything before it on its endpoint has ended, and since when: it runs, or is about to. */
  turnAt: number | undefined;
  /** Timer of the transfer. */
  timer: Disposable | undefined;
  /** How it ends for its caller where the bridge calls it off. */
  givenUp: GivenUp | undefined;
  /** Timer of the caller. */
  patience: Disposable | undefined;
  answer: Answer;
  readonly #resolve: (outcome: RequestOutcome) => void;

  constructor(options: RequestOptions) {
    this.op = options.op;
    this.body = options.body;
    this.deadlineMs = options.deadlineMs;
    this.patienceMs = options.patienceMs;
    this.callerMs = options.callerMs;
    this.answerLimit = options.answerLimit;
    this.answer = new Answer(options.answerLimit);
    const { promise, resolve } = Promise.withResolvers<RequestOutcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  /** The first call decides. */
  settle(status: number, known: Partial<RequestOutcome> = {}): void {
    this.timer?.[Symbol.dispose]();
    this.timer = undefined;
    this.patience?.[Symbol.dispose]();
    this.patience = undefined;
    const executed = this.state === 'queued' ? 'no' : executedByStatus(statusName(status));
    this.#resolve({ body: EMPTY, executed, clock: 'transfer', ...known, status });
  }

  /** Back to where it was before its first fragment. */
  rewind(): void {
    this.timer?.[Symbol.dispose]();
    this.timer = undefined;
    this.state = 'queued';
    this.turnAt = undefined;
    this.sent = 0;
    this.fragment = 0;
    this.answer = new Answer(this.answerLimit);
  }
}

const EMPTY = new Uint8Array(0);
