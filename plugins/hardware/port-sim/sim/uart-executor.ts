/** A UART: bytes leave at the speed of the line and come in as events, in small packets as a receive FIFO gives them away. */
import type { SimClock } from './clock.ts';
import { type Executor, runMessage, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import { wordAt, words } from './wire-format.ts';

const OP = { configure: 1, write: 2, drain: 3 } as const;
const EVENT = { received: 0x80, error: 0x81 } as const;
const CONFIG_BYTES = 8;
/** Bytes of one event; a sentence of a satellite receiver fits in. Each further event wakes host and bridge three times. */
const CHUNK = 128;
/** A pause of this many characters gives away what came before it. */
const IDLE_CHARACTERS = 4;
const COARSE_MS = 0.5;

interface Line {
  readonly baud: number;
  readonly bits: number;
  readonly parity: 0 | 1 | 2;
  readonly stop: 1 | 2;
}

export interface UartOptions {
  readonly maxBaud: number;
  readonly maxTransfer: number;
  readonly baud: number;
  /** Sent bytes come back. */
  readonly loopback: boolean;
}

export class UartExecutor implements Executor {
  readonly #options: UartOptions;
  readonly #clock: SimClock;
  readonly #tell: (op: number, data: Uint8Array) => void;
  #line: Line;
  readonly #arriving: { readonly at: number; readonly chunk: Uint8Array }[] = [];
  #receiving: Disposable | undefined;
  /** When the last byte that was written has left. */
  #sentUntil = 0;
  /** The other end hears what leaves. */
  onSent: ((bytes: Uint8Array) => void) | undefined;

  constructor(options: UartOptions, clock: SimClock, tell: (op: number, data: Uint8Array) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#tell = tell;
    this.#line = this.#initial();
  }

  #initial(): Line {
    return { baud: this.#options.baud, bits: 8, parity: 0, stop: 1 };
  }

  get settings(): object {
    return this.#line;
  }

  get characterMs(): number {
    const { baud, bits, parity, stop } = this.#line;
    return ((1 + bits + (parity ? 1 : 0) + stop) * 1_000) / baud;
  }

  start(job: Job): () => void {
    let timer: Disposable | undefined;
    const finishAt = (time: number, body?: Uint8Array): undefined => {
      timer = this.#clock.at(time, () => {
        if (body) job.answer(body);
        job.finish(STATUS.ok);
      });
    };
    const stop = runMessage(job, this.#clock, { delayMs: 0, most: this.#options.maxTransfer }, (op, body) => {
      if (op === OP.configure) return { status: this.#configure(body) };
      if (op === OP.drain) return finishAt(this.#sentUntil);
      if (op !== OP.write) return { status: STATUS.unsupported };
      const began = Math.max(this.#clock.now(), this.#sentUntil);
      this.#sentUntil = began + body.length * this.characterMs;
      this.#send(body, began);
      return finishAt(this.#sentUntil, words(body.length));
    });
    return () => {
      stop();
      timer?.[Symbol.dispose]();
    };
  }

  reset(): void {
    this.#line = this.#initial();
    this.#sentUntil = 0;
    this.#receiving?.[Symbol.dispose]();
    this.#receiving = undefined;
    this.#arriving.length = 0;
  }

  safe(): void {
    // A line that rests is high in every case.
  }

  /** Bytes from the other end, at the speed of the line, behind those that are on their way. */
  receive(bytes: Uint8Array): void {
    let at = Math.max(this.#clock.now(), this.#arriving.at(-1)?.at ?? 0);
    for (let from = 0; from < bytes.length; from += CHUNK) {
      const chunk = bytes.slice(from, from + CHUNK);
      at += chunk.length * this.characterMs;
      const pause = chunk.length < CHUNK ? IDLE_CHARACTERS : 0;
      this.#arriving.push({ at: at + pause * this.characterMs, chunk });
    }
    this.#next();
  }

  #next(): void {
    const next = this.#arriving[0];
    if (!next || this.#receiving) return;
    this.#receiving = this.#clock.at(next.at, () => {
      this.#receiving = undefined;
      // Several may be due at once: the clock of a machine is coarser than a fast line.
      const now = this.#clock.now();
      while (this.#arriving[0] && this.#arriving[0].at <= now + COARSE_MS)
        this.#tell(EVENT.received, this.#arriving.shift()!.chunk);
      this.#next();
    });
  }

  /** Fault: what the receiver found wrong. */
  fail(bits: number): void {
    this.#tell(EVENT.error, Uint8Array.of(bits));
  }

  #send(bytes: Uint8Array, began: number): void {
    if (this.#options.loopback) this.#clock.at(began, () => this.receive(bytes));
    if (this.onSent) this.#clock.at(this.#sentUntil, () => this.onSent?.(bytes));
  }

  #configure(body: Uint8Array): number {
    if (body.length !== CONFIG_BYTES) return STATUS.invalid;
    const baud = wordAt(body, 0);
    const [bits = 0, parity = 0, stop = 0, flow = 0] = body.subarray(4);
    if (bits < 5 || bits > 9 || parity > 2 || (stop !== 1 && stop !== 2) || flow > 1) return STATUS.invalid;
    if (baud === 0 || baud > this.#options.maxBaud) return STATUS.badSpeed;
    this.#line = { baud, bits, parity: parity as 0 | 1 | 2, stop };
    return STATUS.ok;
  }
}
