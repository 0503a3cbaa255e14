/** A programmable I/O block in the manner of the RP2040: 32 words of program, four state machines that drive lines and shift words. */
import type { SimClock } from './clock.ts';
import { type Executor, type MessageResult, runMessage, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import { type PioLines, PioMachine } from './pio-machine.ts';
import { wordAt } from './wire-format.ts';

const OP = { load: 1, configure: 2, enable: 3, write: 4, read: 5 } as const;
const EVENT_IRQ = 0x80;
const MEMORY = 32;
const MACHINES = 4;
const ANYWHERE = 0xff;
const MOST_BODY = 4_096;
/** Instructions in one turn of the event loop; machines are paced by their FIFOs, not by wall time. */
const SLICE = 2_000;
const TURN_MS = 1;
const JMP = 0;

interface Waiting {
  readonly job: Job;
  readonly machine: PioMachine;
  readonly words: number[];
  readonly width: number;
  /** Words still to be read; undefined for a write. */
  readonly wanted: number | undefined;
}

export class PioExecutor implements Executor {
  readonly #clock: SimClock;
  readonly #tell: (op: number, data: Uint8Array) => void;
  readonly #memory = new Uint16Array(MEMORY);
  readonly #used: boolean[] = Array.from({ length: MEMORY }, () => false);
  readonly #slots: { readonly origin: number; readonly length: number }[] = [];
  readonly #machines: readonly PioMachine[];
  #waiting: Waiting | undefined;
  #timer: Disposable | undefined;

  constructor(lines: PioLines, clock: SimClock, tell: (op: number, data: Uint8Array) => void) {
    this.#clock = clock;
    this.#tell = tell;
    const irq = (flag: number) => this.#tell(EVENT_IRQ, Uint8Array.of(1 << flag));
    this.#machines = Array.from({ length: MACHINES }, () => new PioMachine(this.#memory, lines, irq));
  }

  get settings(): object {
    return { programs: this.#slots.length, enabled: this.#machines.map(({ enabled }) => enabled) };
  }

  start(job: Job): () => void {
    const stop = runMessage(job, this.#clock, { delayMs: 0.005, most: MOST_BODY }, (op, body) => {
      if (op === OP.write || op === OP.read) return this.#transfer(job, op === OP.read, body);
      return this.#handle(op, body);
    });
    return () => {
      stop();
      if (this.#waiting?.job === job) this.#waiting = undefined;
    };
  }

  reset(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#waiting = undefined;
    this.#used.fill(false);
    this.#memory.fill(0);
    this.#slots.length = 0;
    for (const machine of this.#machines) machine.reset();
  }

  safe(): void {
    for (const machine of this.#machines) machine.enabled = false;
  }

  #handle(op: number, body: Uint8Array): MessageResult {
    if (op === OP.load) return this.#load(body);
    if (op === OP.configure) return this.#configure(body);
    if (op !== OP.enable) return { status: STATUS.unsupported };
    if (body.length !== 2 || body[0]! >= 1 << MACHINES) return INVALID;
    this.#machines.forEach((machine, index) => {
      if ((body[0]! >> index) & 1) machine.enabled = body[1] !== 0;
    });
    this.#run();
    return { status: STATUS.ok };
  }

  #load(body: Uint8Array): MessageResult {
    const [wish = 0, count = 0] = body;
    if (count === 0 || body.length !== 2 + 2 * count) return INVALID;
    const free = (origin: number) =>
      origin + count <= MEMORY && this.#used.slice(origin, origin + count).every((used) => !used);
    let origin = wish;
    if (wish === ANYWHERE) for (origin = MEMORY - count; origin >= 0 && !free(origin); origin--);
    if (origin < 0 || !free(origin)) return { status: STATUS.noMemory };
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    for (let index = 0; index < count; index++) {
      const word = view.getUint16(2 + 2 * index, true);
      // Jumps are written for a program that begins at 0.
      const moved = word >> 13 === JMP ? (word & ~0x1f) | (((word & 0x1f) + origin) & 0x1f) : word;
      this.#memory[origin + index] = moved;
      this.#used[origin + index] = true;
    }
    this.#slots.push({ origin, length: count });
    return { status: STATUS.ok, body: Uint8Array.of(this.#slots.length - 1, origin) };
  }

  #configure(body: Uint8Array): MessageResult {
    const machine = this.#machines[body[0] ?? MACHINES];
    const slot = this.#slots[body[1] ?? 0xff];
    if (body.length !== 20 || !machine || !slot || wordAt(body, 4) < 0x100) return INVALID;
    machine.configure({
      origin: slot.origin,
      length: slot.length,
      pinctrl: wordAt(body, 8),
      execctrl: wordAt(body, 12),
      shiftctrl: wordAt(body, 16),
    });
    return { status: STATUS.ok };
  }

  #transfer(job: Job, reads: boolean, body: Uint8Array): MessageResult | undefined {
    const machine = this.#machines[body[0] ?? MACHINES];
    const width = body[1] ?? 0;
    if (body.length < 4 || !machine || ![1, 2, 4].includes(width)) return INVALID;
    if (reads && body.length !== 4) return INVALID;
    if (!reads && (body.length - 4) % width !== 0) return INVALID;
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    const words: number[] = [];
    for (let at = 4; at < body.length; at += width)
      words.push(width === 4 ? wordAt(body, at) : view[width === 2 ? 'getUint16' : 'getUint8'](at, true));
    this.#waiting = { job, machine, words, width, wanted: reads ? view.getUint16(2, true) : undefined };
    this.#run();
    return undefined;
  }

  /** Machines run until nothing moves; what only time or the other side can move is looked at again a turn later. */
  #run(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    for (let left = SLICE; left > 0; left--) {
      const served = this.#serve();
      const moved = this.#machines.filter((machine) => machine.step()).length > 0;
      if (!served && !moved) break;
    }
    this.#serve();
    if (this.#waiting || this.#machines.some(({ enabled }) => enabled))
      this.#timer = this.#clock.at(this.#clock.now() + TURN_MS, () => this.#run());
  }

  /** True where a word went in or out. */
  #serve(): boolean {
    const waiting = this.#waiting;
    if (!waiting) return false;
    const { job, machine, words, width, wanted } = waiting;
    let moved = false;
    if (wanted === undefined) {
      while (words.length > 0 && machine.push(words[0]!)) {
        words.shift();
        moved = true;
      }
      if (words.length > 0) return moved;
    } else {
      for (let word = wanted > words.length ? machine.pull() : undefined; word !== undefined; ) {
        words.push(word);
        moved = true;
        word = wanted > words.length ? machine.pull() : undefined;
      }
      if (words.length < wanted) return moved;
      const bytes = Buffer.alloc(words.length * width);
      words.forEach((word, index) => {
        bytes.writeUIntLE(width === 4 ? word : word & (2 ** (8 * width) - 1), index * width, width);
      });
      job.answer(bytes);
    }
    this.#waiting = undefined;
    job.finish(STATUS.ok);
    return true;
  }
}

const INVALID: MessageResult = { status: STATUS.invalid };
