/** Endpoint 0 of the bridge: the table, names, counters, echo, reset. */
import type { SimClock } from './clock.ts';
import { type Executor, type MessageResult, runMessage, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import { words } from './wire-format.ts';

const OP = { enumerate: 1, name: 2, stats: 3, endpointStats: 4, endpointReset: 5, echo: 6, reboot: 7 } as const;
const MOST_ECHO = 4096;
const DELAY_MS = 0.005;

/** The parts of the bridge that the system endpoint speaks for. */
export interface SystemView {
  descriptors(first: number): Uint8Array;
  label(endpoint: number): string | undefined;
  stats(): readonly number[];
  endpointStats(endpoint: number): readonly number[] | undefined;
  /** False where there is no such endpoint. */
  resetEndpoint(endpoint: number): boolean;
  reboot(): void;
}

export class SysExecutor implements Executor {
  readonly #view: SystemView;
  readonly #clock: SimClock;

  constructor(view: SystemView, clock: SimClock) {
    this.#view = view;
    this.#clock = clock;
  }

  start(job: Job): () => void {
    return runMessage(job, this.#clock, { delayMs: DELAY_MS, most: MOST_ECHO }, (op, body) => this.#handle(op, body));
  }

  reset(): void {
    // It keeps no settings.
  }

  safe(): void {
    // It drives no outputs.
  }

  #handle(op: number, body: Uint8Array): MessageResult {
    const endpoint = body[0];
    switch (op) {
      case OP.enumerate:
        return endpoint === undefined ? INVALID : { status: STATUS.ok, body: this.#view.descriptors(endpoint) };
      case OP.name:
        return some(endpoint, (ep) => {
          const label = this.#view.label(ep);
          return label === undefined ? undefined : Buffer.from(label, 'utf8');
        });
      case OP.stats:
        return { status: STATUS.ok, body: words(...this.#view.stats()) };
      case OP.endpointStats:
        return some(endpoint, (ep) => {
          const stats = this.#view.endpointStats(ep);
          return stats && words(...stats);
        });
      case OP.endpointReset:
        return some(endpoint, (ep) => (this.#view.resetEndpoint(ep) ? new Uint8Array(0) : undefined));
      case OP.echo:
        return { status: STATUS.ok, body };
      case OP.reboot:
        this.#view.reboot();
        return { status: STATUS.ok };
      default:
        return { status: STATUS.unsupported };
    }
  }
}

const INVALID: MessageResult = { status: STATUS.invalid };

function some(endpoint: number | undefined, answer: (ep: number) => Uint8Array | undefined): MessageResult {
  if (endpoint === undefined) return INVALID;
  const body = answer(endpoint);
  return body ? { status: STATUS.ok, body } : { status: STATUS.noEndpoint };
}
