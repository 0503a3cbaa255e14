/** An I2C bus: transfers of segments at the speed of the bus, chips by address, and a bus that can be held down. */
import type { ScriptedChip } from './chips/chip.ts';
import type { SimClock } from './clock.ts';
import { type Executor, type MessageResult, runMessage, STATUS } from './executor.ts';
import type { I2cTarget } from './i2c-target.ts';
import type { Job } from './job.ts';
import { wordAt } from './wire-format.ts';

const OP = { transfer: 1, configure: 2, recover: 3 } as const;
const HEAD = 4;
const TEN_BIT = 0x8000;
const READ = 0x8000;
const LENGTH = 0x7fff;
/** Eight bits and the acknowledgement. */
const BITS = 9;
const DEFAULT_HZ = 100_000;
/** How long the controller waits for SCL and SDA to be released before it calls the bus stuck. */
const STUCK_MS = 5;
/** Nine clocks at most and a stop make a chip let go that waits for the rest of a byte. */
const RECOVERY_CLOCKS = 9;

interface Segment {
  readonly read: boolean;
  readonly length: number;
}

interface Transfer {
  readonly address: number;
  readonly segments: readonly Segment[];
  readonly data: Uint8Array;
}

export interface I2cOptions {
  readonly maxSpeedHz: number;
  readonly maxTransfer: number;
  readonly targets: readonly I2cTarget[];
}

export class I2cExecutor implements Executor {
  readonly #clock: SimClock;
  readonly #options: I2cOptions;
  readonly #targets: ReadonlyMap<number, I2cTarget>;
  #hz = DEFAULT_HZ;
  /** Recoveries that it takes until the bus is free: 0 = free, infinity = a short circuit. */
  #stuck = 0;
  /** The same, from the end of the next transfer on. */
  #sticksLater = 0;
  /** Transfers that were clocked, also those without an answer to the host. */
  clocked = 0;
  /** Chips that are not there for now. */
  readonly #gone = new Set<number>();

  constructor(options: I2cOptions, clock: SimClock) {
    this.#options = options;
    this.#clock = clock;
    this.#targets = new Map(options.targets.map((target) => [target.address, target]));
    this.#hz = Math.min(DEFAULT_HZ, options.maxSpeedHz);
  }

  get settings(): object {
    return { hz: this.#hz };
  }

  target(address: number): I2cTarget | undefined {
    return this.#targets.get(address);
  }

  /** Fault: SDA is held down until so many recoveries of the bus; `later` after the bytes of the next transfer went out. */
  stick(recoveries: number, later = false): void {
    this.#stuck = later ? 0 : recoveries;
    this.#sticksLater = later ? recoveries : 0;
  }

  /** Fault: a chip is pulled out, or put back with its power on. */
  plug(address: number, there: boolean): void {
    if (!there) this.#gone.add(address);
    else if (this.#gone.delete(address)) this.#targets.get(address)?.reset();
  }

  /** View for watchers: recoveries until the bus is free (null: for ever), and its chips. */
  get view(): object {
    const chips = [...this.#targets.values()].map((chip) => ({
      address: chip.address,
      kind: 'change' in chip ? (chip as ScriptedChip).kind : 'registers',
      there: !this.#gone.has(chip.address),
      ...('change' in chip && { senses: (chip as ScriptedChip).senses }),
    }));
    const stuck = this.#stuck || this.#sticksLater;
    return { stuck: Number.isFinite(stuck) ? stuck : null, chips };
  }

  /** Free, and every chip in its place. */
  heal(): void {
    this.stick(0);
    for (const address of [...this.#gone]) this.plug(address, true);
  }

  start(job: Job): () => void {
    const limits = { delayMs: 0, most: this.#options.maxTransfer + HEAD + 2 * 0xff };
    let timer: Disposable | undefined;
    // The answer comes when the bus has clocked it all.
    const later = (ms: number, result: MessageResult): undefined => {
      timer = this.#clock.at(this.#clock.now() + ms, () => {
        if (result.body) job.answer(result.body);
        job.finish(result.status);
      });
    };
    const stop = runMessage(job, this.#clock, limits, (op, body) => {
      if (op !== OP.transfer) return this.#handle(op, body);
      const transfer = readTransfer(body);
      if (!transfer) return { status: STATUS.invalid };
      if (this.#stuck > 0) return later(STUCK_MS, { status: STATUS.busStuck });
      const result = this.#transfer(transfer);
      this.clocked++;
      if (this.#sticksLater > 0) {
        this.#stuck = this.#sticksLater;
        this.#sticksLater = 0;
        return later(STUCK_MS, { status: STATUS.busStuck });
      }
      return later((result.bytes * BITS * 1_000) / this.#hz, result);
    });
    return () => {
      stop();
      timer?.[Symbol.dispose]();
    };
  }

  reset(): void {
    this.#hz = Math.min(DEFAULT_HZ, this.#options.maxSpeedHz);
  }

  safe(): void {
    // It drives nothing while it is idle.
  }

  #handle(op: number, body: Uint8Array): MessageResult {
    if (op === OP.configure) {
      const hz = wordAt(body, 0);
      if (body.length !== 4) return { status: STATUS.invalid };
      if (hz === 0 || hz > this.#options.maxSpeedHz) return { status: STATUS.badSpeed };
      this.#hz = hz;
      return { status: STATUS.ok };
    }
    if (op !== OP.recover) return { status: STATUS.unsupported };
    if (body.length !== 0) return { status: STATUS.invalid };
    if (this.#stuck > 0) this.#stuck--;
    for (let clock = 0; clock < RECOVERY_CLOCKS; clock++) for (const target of this.#targets.values()) target.end();
    return { status: this.#stuck > 0 ? STATUS.busStuck : STATUS.ok };
  }

  /** Runs a transfer on the bus; `bytes` are those that were clocked. */
  #transfer({ address, segments, data }: Transfer): MessageResult & { readonly bytes: number } {
    const target = this.#gone.has(address) ? undefined : this.#targets.get(address);
    const read: number[] = [];
    let sent = 0;
    let bytes = 0;
    let acknowledged = true;
    for (const segment of segments) {
      bytes++;
      acknowledged = target?.begin(segment.read ? 'read' : 'write') ?? false;
      for (let n = 0; acknowledged && n < segment.length; n++) {
        bytes++;
        if (segment.read) read.push(target!.read() & 0xff);
        else acknowledged = target!.write(data[sent++]!);
      }
      target?.end();
      if (!acknowledged) return { status: STATUS.nack, bytes };
    }
    return { status: STATUS.ok, body: Uint8Array.from(read), bytes };
  }
}

function readTransfer(body: Uint8Array): Transfer | undefined {
  if (body.length < HEAD) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const named = view.getUint16(0, true);
  const address = named & 0x3ff;
  const count = body[2]!;
  if (count === 0 || body.length < HEAD + 2 * count) return undefined;
  if (named & ~(TEN_BIT | 0x3ff) || (!(named & TEN_BIT) && address > 0x7f)) return undefined;
  const segments = Array.from({ length: count }, (_, index) => {
    const word = view.getUint16(HEAD + 2 * index, true);
    return { read: (word & READ) !== 0, length: word & LENGTH };
  });
  const data = body.subarray(HEAD + 2 * count);
  const written = segments.reduce((sum, { read, length }) => (read ? sum : sum + length), 0);
  return written === data.length ? { address, segments, data } : undefined;
}
