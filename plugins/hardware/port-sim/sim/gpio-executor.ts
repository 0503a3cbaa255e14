/** A bank of GPIO lines: latches, directions, pulls, wires between lines, levels that a script or a test drives from outside. */
import type { SimClock } from './clock.ts';
import { type Executor, type MessageResult, runMessage, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import type { PioLines } from './pio-machine.ts';
import { wordAt, words } from './wire-format.ts';

const OP = { read: 1, write: 2, configure: 3 } as const;
const EDGE_EVENT = 0x80;
const DELAY_MS = 0.005;
const MOST_BODY = 64;
const PULL_UP = 1;
const KEEP = 0xff;

type Level = 0 | 1;

interface Line {
  direction: 'in' | 'out' | 'open-drain';
  pullUp: boolean;
  /** Bit 0 rising, bit 1 falling. */
  edges: number;
  debounceMs: number;
  latch: Level;
  safe: Level | 'keep';
  /** Level that the world outside drives onto it. */
  outside: Level | undefined;
  level: Level;
  quietUntil: number;
}

const fresh = (): Line => ({
  direction: 'in',
  pullUp: false,
  edges: 0,
  debounceMs: 0,
  latch: 0,
  safe: 'keep',
  outside: undefined,
  level: 0,
  quietUntil: 0,
});

export class GpioExecutor implements Executor {
  readonly #clock: SimClock;
  readonly #lines: Line[];
  /** Per line, those that a wire connects it with. */
  readonly #wires: number[][];
  readonly #edge: (op: number, data: Uint8Array) => void;

  constructor(
    lines: number,
    wires: readonly (readonly [number, number])[],
    clock: SimClock,
    edge: (op: number, data: Uint8Array) => void,
  ) {
    this.#clock = clock;
    this.#edge = edge;
    this.#lines = Array.from({ length: lines }, fresh);
    this.#wires = this.#lines.map(() => []);
    for (const [from, to] of wires) {
      this.#wires[from]?.push(to);
      this.#wires[to]?.push(from);
    }
  }

  start(job: Job): () => void {
    return runMessage(job, this.#clock, { delayMs: DELAY_MS, most: MOST_BODY }, (op, body) => this.#handle(op, body));
  }

  reset(): void {
    this.#lines.forEach((line, index) => {
      this.#lines[index] = { ...fresh(), outside: line.outside };
    });
    this.#settle();
  }

  safe(): void {
    for (const line of this.#lines) if (line.safe !== 'keep') line.latch = line.safe;
    this.#settle();
  }

  /** Drives a line from outside, or lets go of it. */
  drive(line: number, level: Level | undefined): void {
    const target = this.#lines[line];
    if (!target) return;
    target.outside = level;
    this.#settle();
  }

  level(line: number): Level | undefined {
    return this.#lines[line]?.level;
  }

  get settings(): object {
    return {
      lines: this.#lines.map(({ direction, pullUp, edges, latch, safe, level }) => ({
        direction,
        pull: pullUp ? 'up' : 'none',
        edges,
        latch,
        safe,
        level,
      })),
    };
  }

  /** View for watchers: each line, and the level that the world outside drives onto it. */
  get view(): readonly {
    readonly direction: Line['direction'];
    readonly level: Level;
    readonly outside: Level | null;
  }[] {
    return this.#lines.map(({ direction, level, outside = null }) => ({ direction, level, outside }));
  }

  /** For another block of the bridge that has the lines too: PIO. */
  get lines(): PioLines {
    const each = (mask: number, act: (line: Line, bit: number) => void) => {
      this.#lines.forEach((line, index) => {
        if ((mask >>> index) & 1) act(line, index);
      });
      this.#settle();
    };
    return {
      read: () => this.#read(0xffff_ffff) >>> 0,
      write: (mask, values) =>
        each(mask, (line, bit) => {
          line.latch = ((values >>> bit) & 1) as Level;
        }),
      direction: (mask, outputs) =>
        each(mask, (line, bit) => {
          line.direction = (outputs >>> bit) & 1 ? 'out' : 'in';
        }),
    };
  }

  #handle(op: number, body: Uint8Array): MessageResult {
    if (op === OP.read && body.length === 4) return { status: STATUS.ok, body: words(this.#read(wordAt(body, 0))) };
    if (op === OP.write && body.length === 8) return this.#write(wordAt(body, 0), wordAt(body, 4));
    if (op === OP.configure && body.length === 8) return this.#configure(body);
    return { status: op >= OP.read && op <= OP.configure ? STATUS.invalid : STATUS.unsupported };
  }

  #read(mask: number): number {
    return this.#lines.reduce((values, { level }, index) => (level ? values | (1 << index) : values), 0) & mask;
  }

  #write(mask: number, values: number): MessageResult {
    if (this.#lines.length < 32 && mask >>> this.#lines.length !== 0) return { status: STATUS.invalid };
    this.#lines.forEach((line, index) => {
      if ((mask >>> index) & 1) line.latch = ((values >>> index) & 1) as Level;
    });
    this.#settle();
    return { status: STATUS.ok };
  }

  #configure(body: Uint8Array): MessageResult {
    const [index = 0, direction = 0, pull = 0, edges = 0, low = 0, high = 0, initial = 0, safe = KEEP] = body;
    const line = this.#lines[index];
    if (!line || direction > 2 || pull > 2 || edges > 3 || initial > 1 || (safe > 1 && safe !== KEEP)) {
      return { status: STATUS.invalid };
    }
    line.direction = (['in', 'out', 'open-drain'] as const)[direction]!;
    line.pullUp = pull === PULL_UP;
    line.debounceMs = (low + (high << 8)) / 1000;
    line.safe = safe === KEEP ? 'keep' : (safe as Level);
    if (line.direction !== 'in') line.latch = initial as Level;
    line.edges = 0;
    this.#settle();
    line.edges = edges;
    return { status: STATUS.ok };
  }

  /** Works out every level and reports the edges. */
  #settle(): void {
    this.#lines.forEach((line, index) => {
      const level = this.#resolve(line, index);
      if (level === line.level) return;
      line.level = level;
      const wanted = line.edges & (level === 1 ? 1 : 2);
      const now = this.#clock.now();
      if (!wanted || now < line.quietUntil) return;
      line.quietUntil = now + line.debounceMs;
      this.#edge(EDGE_EVENT, Uint8Array.of(index, level, 0, 0));
    });
  }

  #resolve(line: Line, index: number): Level {
    if (line.direction === 'out') return line.latch;
    if (line.direction === 'open-drain' && line.latch === 0) return 0;
    if (line.outside !== undefined) return line.outside;
    for (const other of this.#wires[index]!) {
      const driver = this.#lines[other];
      if (driver?.direction === 'out' || (driver?.direction === 'open-drain' && driver.latch === 0))
        return driver.latch;
    }
    return line.pullUp || this.#wires[index]!.some((other) => this.#lines[other]?.pullUp) ? 1 : 0;
  }
}
