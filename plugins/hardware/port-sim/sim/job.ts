/** One request on its way through an endpoint of the bridge. */
import { FRAME_HEAD } from './wire-format.ts';

interface Segment {
  readonly bytes: Uint8Array;
  taken: number;
  /** Ring bytes beside the body, given back when it is first touched. */
  overhead: number;
}

/** Job of an executor: bytes of the request as they arrive, and the way back. */
export class Job {
  readonly rid: number;
  readonly op: number;
  /** Bytes the request has in all. */
  readonly length: number;
  /** Next fragment number expected. */
  nextFragment = 0;
  arrived = 0;
  /** Called for new bytes, and for room for the answer. */
  onChange: (() => void) | undefined;
  deadline: Disposable | undefined;
  #status: number | undefined;
  readonly #segments: Segment[] = [];
  readonly #giveBack: (bytes: number) => void;
  readonly #answer: Uint8Array[] = [];
  readonly #changed: () => void;
  #backlog = 0;
  #answerLength: number | undefined;
  #answerFragment = 0;
  #available = 0;

  constructor(
    head: { readonly rid: number; readonly op: number; readonly length: number },
    giveBack: (bytes: number) => void,
    changed: () => void,
  ) {
    this.rid = head.rid;
    this.op = head.op;
    this.length = head.length;
    this.#giveBack = giveBack;
    this.#changed = changed;
  }

  // ---- the request ----

  get complete(): boolean {
    return this.arrived === this.length;
  }

  /** Bytes that have arrived and have not been taken. */
  get available(): number {
    return this.#available;
  }

  add(bytes: Uint8Array, prelude: number): void {
    this.arrived += bytes.length;
    if (this.#status !== undefined || bytes.length === 0) {
      this.#giveBack(FRAME_HEAD + prelude + (this.#status === undefined ? 0 : bytes.length));
    } else {
      this.#segments.push({ bytes, taken: 0, overhead: FRAME_HEAD + prelude });
      this.#available += bytes.length;
    }
    this.onChange?.();
  }

  /** At most `most` bytes that have arrived; their place in the ring is free again. */
  take(most: number): Uint8Array {
    const out = new Uint8Array(Math.min(most, this.#available));
    let filled = 0;
    while (filled < out.length) {
      const segment = this.#segments[0]!;
      const part = segment.bytes.subarray(segment.taken, segment.taken + out.length - filled);
      out.set(part, filled);
      filled += part.length;
      segment.taken += part.length;
      this.#giveBack(part.length + segment.overhead);
      segment.overhead = 0;
      if (segment.taken === segment.bytes.length) this.#segments.shift();
    }
    this.#available -= out.length;
    return out;
  }

  // ---- the answer ----

  get status(): number | undefined {
    return this.#status;
  }

  /** Answer bytes that have not been sent. */
  get backlog(): number {
    return this.#backlog;
  }

  get started(): boolean {
    return this.#answerFragment > 0;
  }

  /** Bytes the answer will have; without it the length is announced as unknown. */
  expect(length: number): void {
    this.#answerLength = length;
  }

  answer(bytes: Uint8Array): void {
    if (this.#status !== undefined || bytes.length === 0) return;
    this.#answer.push(bytes);
    this.#backlog += bytes.length;
    this.#changed();
  }

  /** Ends the job; the first call decides. Bytes of the request that are still in the ring are dropped. */
  finish(status: number): void {
    if (this.#status !== undefined) return;
    this.#status = status;
    this.deadline?.[Symbol.dispose]();
    this.onChange = undefined;
    for (const { bytes, taken, overhead } of this.#segments.splice(0)) this.#giveBack(bytes.length - taken + overhead);
    this.#available = 0;
    if (status !== 0) this.#drop();
    this.#changed();
  }

  #drop(): void {
    this.#answer.length = 0;
    this.#backlog = 0;
  }

  /** Total length as the head of the answer states it. */
  get announced(): number {
    if (this.#status !== undefined) return this.started ? 0 : this.#backlog;
    return this.#answerLength ?? 0xffffffff;
  }

  /** The next `count` answer bytes, leaving for the wire. */
  send(count: number): { readonly fragment: number; readonly bytes: Uint8Array } {
    const bytes = new Uint8Array(count);
    let filled = 0;
    while (filled < count) {
      const chunk = this.#answer[0]!;
      const part = chunk.subarray(0, count - filled);
      bytes.set(part, filled);
      filled += part.length;
      if (part.length === chunk.length) this.#answer.shift();
      else this.#answer[0] = chunk.subarray(part.length);
    }
    this.#backlog -= count;
    const fragment = this.#answerFragment++;
    this.onChange?.();
    return { fragment, bytes };
  }
}
