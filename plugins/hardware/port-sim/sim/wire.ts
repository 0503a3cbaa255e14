/**
 * The SPI wire between host and bridge, with the faults that a board or a test asks for. Both ends count transactions;
 * faults fall on bytes.
 */
import type { WireFaults } from './board.ts';
import type { Bridge } from './bridge.ts';
import { RESET_REASON } from './bridge.ts';
import { SeededRandom } from './random.ts';

export class Wire {
  readonly bridge: Bridge;
  /** Transactions in all, and those that a fault has changed. */
  readonly counts = { transactions: 0, faulty: 0 };
  #faults: WireFaults;
  #random: SeededRandom;
  /** The bridge is not armed until then: it crashed, or plays dead. */
  #deafUntil = 0;
  #deafByte = 0x00;
  #crashIn: { transactions: number; ms: number } | undefined;
  #lastOut: Uint8Array = new Uint8Array(0);
  #lastIn: Uint8Array = new Uint8Array(0);
  #pending: Uint8Array | undefined;
  #revival: Disposable | undefined;

  constructor(bridge: Bridge, faults: WireFaults) {
    this.bridge = bridge;
    this.#faults = faults;
    this.#random = new SeededRandom(faults.seed);
  }

  get faults(): WireFaults {
    return this.#faults;
  }

  set faults(faults: WireFaults) {
    this.#faults = faults;
    this.#random = new SeededRandom(faults.seed);
  }

  /** The bridge neither listens nor answers for a while: `byte` is what MISO shows. */
  silence(ms: number, byte: 0x00 | 0xff = 0xff): void {
    this.#deafUntil = this.bridge.clock.now() + ms;
    this.#deafByte = byte;
  }

  /** The bridge crashes after so many transactions and starts again `ms` later, with everything forgotten. */
  crashAfter(transactions: number, ms: number): void {
    this.#crashIn = { transactions, ms };
  }

  get silent(): boolean {
    return this.#deaf;
  }

  /** Transactions until it crashes. */
  get crashesIn(): number | undefined {
    return this.#crashIn?.transactions;
  }

  /** Whole again at once; a bridge that crashed is back, with everything forgotten. */
  heal(faults: WireFaults): void {
    this.faults = faults;
    this.#crashIn = undefined;
    this.#deafUntil = 0;
    if (!this.#revival) return;
    this.#revival[Symbol.dispose]();
    this.#revive();
  }

  dispose(): void {
    this.#revival?.[Symbol.dispose]();
    this.bridge.dispose();
  }

  /** CS falls. */
  begin(): void {
    this.counts.transactions++;
    this.#countDown();
    const unarmed = this.#deaf || this.#random.hit(this.#faults.zeroed);
    this.#pending = unarmed ? undefined : this.bridge.responder.begin();
  }

  /** CS rises: `out` is what the host has clocked out; the result is what it has clocked in. */
  finish(out: Uint8Array): Uint8Array {
    const n = out.length;
    const back = new Uint8Array(n);
    if (!this.#pending) {
      this.counts.faulty++;
      return this.#deaf ? back.fill(this.#deafByte) : back;
    }
    back.set(this.#pending.subarray(0, n));
    const [toBridge, toHost] = this.#disturb(out, back);
    this.#lastOut = out.slice();
    this.#lastIn = back;
    this.#pending = undefined;
    this.bridge.responder.finish(toBridge);
    return toHost;
  }

  get #deaf(): boolean {
    return this.bridge.clock.now() < this.#deafUntil;
  }

  #countDown(): void {
    if (!this.#crashIn || this.#crashIn.transactions-- > 0) return;
    const { ms } = this.#crashIn;
    this.#crashIn = undefined;
    this.silence(ms, 0x00);
    this.bridge.clear();
    this.#revival = this.bridge.clock.at(this.#deafUntil, () => this.#revive());
  }

  #revive(): void {
    this.#revival = undefined;
    this.bridge.reset(RESET_REASON.fault);
  }

  #disturb(out: Uint8Array, back: Uint8Array): readonly [Uint8Array, Uint8Array] {
    const random = this.#random;
    const { stale, slipped, truncated, bitErrorRate } = this.#faults;
    let pair: [Uint8Array, Uint8Array] = [out, back];
    const one = (change: (bytes: Uint8Array, last: Uint8Array) => Uint8Array) => {
      this.counts.faulty++;
      pair = random.hit(0.5) ? [change(pair[0], this.#lastOut), pair[1]] : [pair[0], change(pair[1], this.#lastIn)];
    };
    if (random.hit(stale)) one((bytes, last) => fit(last, bytes.length));
    if (random.hit(slipped)) one((bytes) => slip(bytes, 1 + random.below(7)));
    if (random.hit(truncated)) {
      this.counts.faulty++;
      const kept = random.below(out.length);
      pair = [pair[0].slice(0, kept), fit(pair[1].subarray(0, kept), out.length)];
    }
    return bitErrorRate === 0 ? pair : [this.#flip(pair[0]), this.#flip(pair[1])];
  }

  /** Jumps from error to error: at 1e-4 most packets have none. */
  #flip(bytes: Uint8Array): Uint8Array {
    const bits = 8 * bytes.length;
    let at = this.#random.gap(this.#faults.bitErrorRate);
    if (at >= bits) return bytes;
    this.counts.faulty++;
    const changed = bytes.slice();
    for (; at < bits; at += 1 + this.#random.gap(this.#faults.bitErrorRate)) changed[at >> 3]! ^= 0x80 >> (at & 7);
    return changed;
  }
}

function fit(bytes: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  out.set(bytes.subarray(0, length));
  return out;
}

/** Everything arrives some bits late. */
function slip(bytes: Uint8Array, by: number): Uint8Array {
  return bytes.map((byte, index) => ((bytes[index - 1] ?? 0) << (8 - by)) | (byte >> by));
}
