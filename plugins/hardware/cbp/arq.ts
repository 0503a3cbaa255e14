/**
 * Go-back-N in transaction lock step (rules A1 to A5). Counters run on without wrapping; only their low 8 bits travel.
 * Losses are seen by counting transactions, there are no retransmission timers.
 */

export type Arrival = 'new' | 'duplicate' | 'ahead';

interface Sent {
  readonly payload: Uint8Array;
  /** Transaction in which it went out last, and when, in milliseconds. */
  transaction: number;
  time: number;
}

export class Arq {
  readonly window: number;
  /** The peer's ack_delay: transactions after which a missing acknowledgement means a loss. */
  readonly ackDelay: number;
  /** Packets sent again. */
  retransmissions = 0;
  #base = 0;
  #next = 0;
  #unsent = 0;
  #expected = 0;
  #transaction = 0;
  #highest = 0;
  readonly #store: (Sent | undefined)[];

  constructor(window: number, ackDelay: number) {
    this.window = window;
    this.ackDelay = ackDelay;
    this.#store = new Array(window);
  }

  /** A stored packet waits to be sent, for the first time or again. */
  get pending(): boolean {
    return this.#unsent < this.#next;
  }

  /** A new packet may be built. */
  get open(): boolean {
    return this.#next - this.#base < this.window;
  }

  get unacked(): number {
    return this.#next - this.#base;
  }

  /** Value of the `ack` field. */
  get ack(): number {
    return this.#expected & 0xff;
  }

  /** Value of the `seq` field: of the packet about to be sent, or the next one to be built. */
  get seq(): number {
    return this.#unsent & 0xff;
  }

  /** When the oldest unacknowledged packet went out; undefined while there is none or it waits to be sent. */
  get oldestSentAt(): number | undefined {
    if (this.#base >= this.#unsent) return undefined;
    return this.#store[this.#base % this.window]?.time;
  }

  push(payload: Uint8Array): void {
    if (!this.open) throw new RangeError('the send window is full');
    this.#store[this.#next % this.window] = { payload, transaction: -1, time: 0 };
    this.#next++;
  }

  /** The payload to send in this transaction, counted as sent; undefined for an empty packet. */
  take(now: number): Uint8Array | undefined {
    if (!this.pending) return undefined;
    const sent = this.#store[this.#unsent % this.window]!;
    sent.transaction = this.#transaction;
    sent.time = now;
    if (this.#unsent < this.#highest) this.retransmissions++;
    this.#unsent++;
    this.#highest = Math.max(this.#highest, this.#unsent);
    return sent.payload;
  }

  /** A valid packet acknowledged up to `ack`. A stale one is ignored, for losses as well. */
  acknowledge(ack: number): void {
    const advance = (ack - this.#base) & 0xff;
    if (advance > this.#next - this.#base) return;
    for (let index = 0; index < advance; index++) this.#store[(this.#base + index) % this.window] = undefined;
    this.#base += advance;
    this.#unsent = Math.max(this.#unsent, this.#base);
    if (this.#base < this.#unsent) {
      const oldest = this.#store[this.#base % this.window]!;
      if (this.#transaction - oldest.transaction >= this.ackDelay) this.#unsent = this.#base;
    }
  }

  /** Judges the sequence number of a data packet and moves on when it is the next one. */
  accept(seq: number): Arrival {
    const offset = (seq - this.#expected) & 0xff;
    if (offset === 0) {
      this.#expected++;
      return 'new';
    }
    return offset >= 0x100 - this.window ? 'duplicate' : 'ahead';
  }

  /** Counts a transaction that is over, with any outcome. */
  tick(): void {
    this.#transaction++;
  }
}
