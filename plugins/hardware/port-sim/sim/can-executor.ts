/** A CAN controller on a bus with other nodes: acceptance filters, error counters, bus-off. */
import type { SimClock } from './clock.ts';
import { type Executor, runMessage, STATUS } from './executor.ts';
import type { Job } from './job.ts';
import { wordAt, words } from './wire-format.ts';

const OP = { configure: 1, send: 2, filter: 3 } as const;
const EVENT = { received: 0x80, state: 0x81 } as const;
export const CAN_STATE = { stopped: 0, active: 1, warning: 2, passive: 3, busOff: 4 } as const;
const MODE = { normal: 0, loopback: 1, listenOnly: 2 } as const;
const FRAME_HEAD = 8;
const FD = 0x2000_0000;
const SLOTS = 16;
/** Lengths that a code above 8 means in CAN FD. */
const FD_LENGTHS = [12, 16, 20, 24, 32, 48, 64];
const OVERHEAD_BITS = 47;
/** Rise of the error counter with each frame without an acknowledgement. */
const ERROR_STEP = 8;
const WARNING_AT = 96;
const PASSIVE_AT = 128;
const OFF_AT = 256;
const RETRY_MS = 0.25;

interface Filter {
  readonly id: number;
  readonly mask: number;
}

export interface CanOptions {
  readonly maxNominal: number;
  /** 0: the controller knows classic CAN alone. */
  readonly maxData: number;
}

/** A frame as SEND and RX carry it: id with its flags, dlc, flags, data. */
export type CanFrame = Uint8Array;

export class CanExecutor implements Executor {
  readonly #options: CanOptions;
  readonly #clock: SimClock;
  readonly #tell: (op: number, data: Uint8Array) => void;
  readonly #filters = new Map<number, Filter>();
  #nominal = 0;
  #data = 0;
  #mode: number = MODE.normal;
  #errors = 0;
  #state: number = CAN_STATE.stopped;
  /** Fault: no other node acknowledges, or something shorts the wires. */
  #broken = false;
  /** The other nodes hear what is sent. */
  onSent: ((frame: CanFrame) => void) | undefined;

  constructor(options: CanOptions, clock: SimClock, tell: (op: number, data: Uint8Array) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#tell = tell;
  }

  get settings(): object {
    return { nominal: this.#nominal, data: this.#data, mode: this.#mode, filters: [...this.#filters.values()] };
  }

  start(job: Job): () => void {
    let timer: Disposable | undefined;
    const stop = runMessage(job, this.#clock, { delayMs: 0, most: FRAME_HEAD + 64 }, (op, body) => {
      if (op === OP.configure) return { status: this.#configure(body) };
      if (op === OP.filter) return { status: this.#filter(body) };
      if (op !== OP.send) return { status: STATUS.unsupported };
      const wrong = this.#check(body);
      if (wrong !== undefined) return { status: wrong };
      timer = this.#transmit(job, body.slice());
      return undefined;
    });
    return () => {
      stop();
      timer?.[Symbol.dispose]();
    };
  }

  reset(): void {
    this.#filters.clear();
    this.#nominal = 0;
    this.#data = 0;
    this.#errors = 0;
    this.#become(CAN_STATE.stopped);
  }

  safe(): void {
    // A silent node disturbs no other one.
  }

  /** A frame of another node. */
  receive(frame: CanFrame): void {
    if (this.#state === CAN_STATE.stopped || this.#state === CAN_STATE.busOff || this.#broken) return;
    const id = wordAt(frame, 0);
    const filters = [...this.#filters.values()];
    if (filters.length > 0 && !filters.some((filter) => (id & filter.mask) === (filter.id & filter.mask))) return;
    this.#tell(EVENT.received, frame);
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** Fault: the wires are shorted, or whole again. A controller that is off comes back by itself after 128 times 11 quiet bits. */
  break(broken: boolean): void {
    this.#broken = broken;
    if (broken || this.#state !== CAN_STATE.busOff) return;
    this.#clock.at(this.#clock.now() + (128 * 11 * 1_000) / this.#nominal, () => {
      if (this.#broken || this.#state !== CAN_STATE.busOff) return;
      this.#errors = 0;
      this.#become(CAN_STATE.active);
    });
  }

  #configure(body: Uint8Array): number {
    if (body.length < 9) return STATUS.invalid;
    const nominal = wordAt(body, 0);
    const data = wordAt(body, 4);
    const mode = body[8]!;
    if (mode > MODE.listenOnly) return STATUS.badMode;
    if (nominal === 0 || nominal > this.#options.maxNominal || data > this.#options.maxData) return STATUS.badSpeed;
    this.#nominal = nominal;
    this.#data = data;
    this.#mode = mode;
    this.#errors = 0;
    this.#become(CAN_STATE.active);
    return STATUS.ok;
  }

  #filter(body: Uint8Array): number {
    if (body.length !== 12 || body[0]! >= SLOTS) return STATUS.invalid;
    this.#filters.set(body[0]!, { id: wordAt(body, 4), mask: wordAt(body, 8) });
    return STATUS.ok;
  }

  /** The status that refuses a frame; undefined for one that can be sent. */
  #check(body: Uint8Array): number | undefined {
    if (body.length < FRAME_HEAD) return STATUS.invalid;
    const fd = (wordAt(body, 0) & FD) !== 0;
    const dlc = body[4]!;
    const length = dlc <= 8 ? dlc : fd ? FD_LENGTHS[dlc - 9] : undefined;
    if (length !== body.length - FRAME_HEAD) return STATUS.invalid;
    if (fd && this.#data === 0) return STATUS.badMode;
    if (this.#state === CAN_STATE.stopped || this.#mode === MODE.listenOnly) return STATUS.notReady;
    return this.#state === CAN_STATE.busOff ? STATUS.busOff : undefined;
  }

  #transmit(job: Job, frame: CanFrame): Disposable {
    const wire = ((OVERHEAD_BITS + (frame.length - FRAME_HEAD) * 8) * 1_000) / this.#nominal;
    let timer: Disposable;
    const attempt = (after: number): void => {
      timer = this.#clock.at(this.#clock.now() + after, () => {
        if (this.#broken) {
          this.#count(ERROR_STEP);
          if (this.#state === CAN_STATE.busOff) job.finish(STATUS.busOff);
          else attempt(wire + RETRY_MS);
          return;
        }
        this.#count(-1);
        job.answer(words(Math.floor(this.#clock.now() * 1_000)));
        job.finish(STATUS.ok);
        if (this.#mode === MODE.loopback) this.receive(frame);
        this.onSent?.(frame);
      });
    };
    attempt(wire);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  #count(change: number): void {
    this.#errors = Math.max(0, this.#errors + change);
    if (this.#errors >= OFF_AT) this.#become(CAN_STATE.busOff);
    else if (this.#errors >= PASSIVE_AT) this.#become(CAN_STATE.passive);
    else if (this.#errors >= WARNING_AT) this.#become(CAN_STATE.warning);
    else this.#become(CAN_STATE.active);
  }

  #become(state: number): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#tell(EVENT.state, Uint8Array.of(state, Math.min(255, this.#errors), 0, 0));
  }
}
