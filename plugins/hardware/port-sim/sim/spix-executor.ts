/** An SPI bus of the board: transfers in chunks at the speed of the target, fed from the ring as bytes arrive. */
import type { SimClock } from './clock.ts';
import { type Executor, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import type { SpiTarget } from './spi-target.ts';
import { wordAt } from './wire-format.ts';

const XFER = 1;
const HEAD = 16;
const CHUNK = 64;
/** Answer bytes that may wait for the host before the clock pauses. */
const BACKLOG = 2048;
const FLAG = { lsbFirst: 1, keepCs: 4, atomic: 8 } as const;

export interface SpixOptions {
  readonly maxSpeedHz: number;
  readonly maxTransfer: number;
  /** Longest transfer without pauses of the clock. */
  readonly atomicBytes: number;
  readonly chipSelects: number;
  readonly targets: ReadonlyMap<number, SpiTarget>;
}

export class SpixExecutor implements Executor {
  readonly #options: SpixOptions;
  readonly #clock: SimClock;
  /** The chip select that a transfer has left active. */
  #kept: number | undefined;

  constructor(options: SpixOptions, clock: SimClock) {
    this.#options = options;
    this.#clock = clock;
  }

  start(job: Job): () => void {
    let transfer: Transfer | undefined;
    const begin = () => {
      if (job.available < HEAD) {
        if (job.length < HEAD) job.finish(job.op === XFER ? STATUS.invalid : STATUS.unsupported);
        return;
      }
      job.onChange = undefined;
      const head = readHead(job.take(HEAD), job.length - HEAD);
      const refusal = job.op === XFER ? this.#refuse(head) : STATUS.unsupported;
      if (refusal !== STATUS.ok) job.finish(refusal);
      else
        transfer = new Transfer(job, head, this.#clock, this.#select(head.cs), (aborted) => this.#end(head, aborted));
    };
    job.onChange = begin;
    begin();
    return () => transfer?.stop();
  }

  reset(): void {
    this.#release();
  }

  safe(): void {
    this.#release();
  }

  #refuse({ cs, mode, bits, flags, speedHz, clocked, wanted, sent }: Head): number {
    const { maxSpeedHz, maxTransfer, atomicBytes, chipSelects } = this.#options;
    if (cs >= chipSelects || wanted > clocked || sent > clocked) return STATUS.invalid;
    if (mode > 3) return STATUS.badMode;
    if (speedHz === 0 || speedHz > maxSpeedHz) return STATUS.badSpeed;
    if (bits !== 8) return STATUS.unsupported;
    if (clocked > maxTransfer || (flags & FLAG.atomic && sent + wanted > atomicBytes)) return STATUS.tooBig;
    return STATUS.ok;
  }

  #select(cs: number): SpiTarget {
    const target = this.#options.targets.get(cs) ?? FLOATING;
    if (this.#kept === cs) return target;
    this.#release();
    target.select();
    this.#kept = cs;
    return target;
  }

  #end({ flags }: Head, aborted: boolean): void {
    if (aborted || !(flags & FLAG.keepCs)) this.#release();
  }

  #release(): void {
    if (this.#kept !== undefined) this.#options.targets.get(this.#kept)?.release();
    this.#kept = undefined;
  }
}

interface Head {
  readonly cs: number;
  readonly mode: number;
  readonly bits: number;
  readonly flags: number;
  readonly speedHz: number;
  readonly clocked: number;
  readonly wanted: number;
  readonly sent: number;
}

function readHead(body: Uint8Array, sent: number): Head {
  const [cs = 0, mode = 0, bits = 0, flags = 0] = body;
  return { cs, mode, bits, flags, speedHz: wordAt(body, 4), clocked: wordAt(body, 8), wanted: wordAt(body, 12), sent };
}

/** One transfer: a chunk whenever its bytes are there and its time on the bus is over. */
class Transfer {
  readonly #job: Job;
  readonly #head: Head;
  readonly #clock: SimClock;
  readonly #target: SpiTarget;
  readonly #ended: (aborted: boolean) => void;
  #clocked = 0;
  #taken = 0;
  #held: Buffer = Buffer.alloc(0);
  /** When the bus is free again: the time line of the transfer, kept apart from when timers fire. */
  #busFree: number;
  #timer: Disposable | undefined;
  #over = false;

  constructor(job: Job, head: Head, clock: SimClock, target: SpiTarget, ended: (aborted: boolean) => void) {
    this.#job = job;
    this.#head = head;
    this.#clock = clock;
    this.#target = target;
    this.#ended = ended;
    this.#busFree = clock.now();
    job.expect(head.wanted);
    job.onChange = () => this.#step();
    this.#step();
  }

  /** At the next safe point: here between two chunks; CS is released. */
  stop(aborted = true): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.[Symbol.dispose]();
    this.#ended(aborted);
  }

  #step(): void {
    if (this.#over || this.#timer) return;
    const { clocked, sent, flags } = this.#head;
    const left = clocked - this.#clocked;
    if (left === 0) {
      this.stop(false);
      this.#job.finish(STATUS.ok);
      return;
    }
    const atomic = (flags & FLAG.atomic) !== 0;
    if (atomic) this.#hold();
    if (atomic ? !this.#job.complete : this.#job.backlog >= BACKLOG) return;
    const toSend = sent - this.#taken;
    const ready = this.#held.length + this.#job.available;
    const count = Math.min(CHUNK, left, toSend > 0 ? ready : left);
    if (count === 0) return;
    const start = Math.max(this.#busFree, this.#clock.now());
    this.#busFree = start + (count * 8000) / this.#head.speedHz;
    this.#timer = this.#clock.at(this.#busFree, () => {
      this.#timer = undefined;
      this.#exchange(count);
      this.#step();
    });
  }

  /** Without pauses of the clock means out of a buffer: the ring may be smaller than the transfer. */
  #hold(): void {
    if (this.#job.available > 0) this.#held = Buffer.concat([this.#held, this.#job.take(this.#job.available)]);
  }

  #next(count: number): Uint8Array {
    if (this.#held.length === 0) return this.#job.take(count);
    const bytes = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  #exchange(count: number): void {
    const out = new Uint8Array(count);
    const bytes = this.#next(Math.min(count, this.#head.sent - this.#taken));
    this.#taken += bytes.length;
    out.set(bytes);
    const reversed = this.#head.flags & FLAG.lsbFirst;
    const back = this.#target.exchange(reversed ? out.map(reverse) : out);
    const wanted = back.subarray(0, Math.max(0, this.#head.wanted - this.#clocked));
    this.#clocked += count;
    this.#job.answer(reversed ? wanted.map(reverse) : wanted);
  }
}

function reverse(byte: number): number {
  let out = 0;
  for (let bit = 0; bit < 8; bit++) out |= ((byte >> bit) & 1) << (7 - bit);
  return out;
}

/** Nothing is connected: MISO floats high. */
const FLOATING: SpiTarget = {
  select: () => undefined,
  exchange: (out) => new Uint8Array(out.length).fill(0xff),
  release: () => undefined,
};
