/** Executor of an endpoint's work, in the bridge's own time. */
import type { SimClock } from './clock.ts';
import type { Job } from './job.ts';

export const STATUS = {
  ok: 0x00,
  cancelled: 0x01,
  timeout: 0x02,
  invalid: 0x03,
  unsupported: 0x04,
  noEndpoint: 0x05,
  busy: 0x06,
  tooBig: 0x07,
  ioError: 0x08,
  badSpeed: 0x0c,
  badMode: 0x0d,
  nack: 0x09,
  busStuck: 0x0a,
  busOff: 0x0b,
  noMemory: 0x0e,
  notReady: 0x10,
  overrun: 0x11,
} as const;

export interface Executor {
  /**
   * Starts a job that is at the head of its endpoint's queue and ends it with `job.finish`. Returns how to stop it at
   * the next safe point.
   */
  start(job: Job): () => void;
  /** EP_RESET: default configuration. It outlasts sessions. */
  reset(): void;
  /** Settings that it was given and keeps over sessions, for watchers of the simulator. */
  readonly settings?: object;
  /** The watchdog fired: outputs to their safe values. */
  safe(): void;
}

/** The answer of an operation that takes its whole request at once; undefined where it comes later, by `job.finish`. */
export interface MessageResult {
  readonly status: number;
  readonly body?: Uint8Array;
}

/** Collects the request, then handles it after `delayMs`. */
export function runMessage(
  job: Job,
  clock: SimClock,
  limits: { readonly delayMs: number; readonly most: number },
  handle: (op: number, body: Uint8Array) => MessageResult | undefined,
): () => void {
  const parts: Uint8Array[] = [];
  let timer: Disposable | undefined;
  if (job.length > limits.most) {
    job.finish(STATUS.tooBig);
    return () => undefined;
  }
  const answer = () => {
    const result = handle(job.op, Buffer.concat(parts));
    if (!result) return;
    if (result.body) job.answer(result.body);
    job.finish(result.status);
  };
  const collect = () => {
    parts.push(job.take(job.available));
    if (!job.complete) return;
    job.onChange = undefined;
    timer = clock.at(clock.now() + limits.delayMs, answer);
  };
  job.onChange = collect;
  collect();
  return () => timer?.[Symbol.dispose]();
}
