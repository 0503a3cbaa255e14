/** Events of one endpoint on the bridge: bounded by bytes and by the host's credit; when it is full the newest is dropped and counted. */
import { FRAME_HEAD, TYPE, type WireFrame, words } from './wire-format.ts';

const EVENT_HEAD = 8;
const INITIAL_CREDIT = 4096;

export class EventQueue {
  readonly #endpoint: number;
  readonly #capacity: number;
  readonly #queue: {
    readonly op: number;
    readonly timestampUs: number;
    readonly data: Uint8Array;
    readonly lost: number;
  }[] = [];
  #bytes = 0;
  #lost = 0;
  #lostInAll = 0;
  #counter = 0;
  #spent = 0;
  #limit = INITIAL_CREDIT;

  constructor(endpoint: number, capacity: number) {
    this.#endpoint = endpoint;
    this.#capacity = capacity;
  }

  get lost(): number {
    return this.#lostInAll;
  }

  get delivered(): number {
    return this.#counter;
  }

  push(op: number, timestampUs: number, data: Uint8Array): void {
    const size = FRAME_HEAD + EVENT_HEAD + data.length;
    if (this.#bytes + size > this.#capacity) {
      this.#lost = Math.min(0xffff, this.#lost + 1);
      this.#lostInAll++;
      return;
    }
    this.#queue.push({ op, timestampUs, data, lost: this.#lost });
    this.#lost = 0;
    this.#bytes += size;
  }

  grant(limit: number): void {
    if (((limit - this.#limit) | 0) > 0) this.#limit = limit;
  }

  /** Length of the next event's frame, 0 when there is none or the credit does not reach. */
  get nextSize(): number {
    const next = this.#queue[0];
    if (!next) return 0;
    const size = FRAME_HEAD + EVENT_HEAD + next.data.length;
    return ((this.#limit - this.#spent) | 0) >= size ? size : 0;
  }

  next(): WireFrame {
    const { op, timestampUs, data, lost } = this.#queue.shift()!;
    const body = new Uint8Array(EVENT_HEAD + data.length);
    body.set(words(timestampUs, lost));
    body.set(data, EVENT_HEAD);
    this.#bytes -= FRAME_HEAD + body.length;
    this.#spent = (this.#spent + FRAME_HEAD + body.length) >>> 0;
    const rid = this.#counter++ % 0x10000;
    return { type: TYPE.event, fin: true, endpoint: this.#endpoint, rid, code: op, fragment: 0, body };
  }

  reset(): void {
    this.#queue.length = 0;
    this.#bytes = 0;
    this.#lost = 0;
    this.#counter = 0;
    this.#spent = 0;
    this.#limit = INITIAL_CREDIT;
  }
}
