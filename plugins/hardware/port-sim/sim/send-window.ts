/** The bridge's half of go-back-N: what it has sent and the host has not confirmed, and which number it expects. */

interface Slot {
  readonly payload: Uint8Array;
  sentIn: number;
  sentAt: number;
}

export class SendWindow {
  /** Unconfirmed packets, oldest first; `cursor` of them have been sent since the last loss. */
  readonly #slots: Slot[] = [];
  readonly #size: number;
  readonly #hostAckDelay: number;
  #cursor = 0;
  #firstSeq = 0;
  #expected = 0;
  #clock = 0;
  retransmitted = 0;
  #everSent = 0;

  constructor(size: number, hostAckDelay: number) {
    this.#size = size;
    this.#hostAckDelay = hostAckDelay;
  }

  get size(): number {
    return this.#size;
  }

  get ack(): number {
    return this.#expected % 256;
  }

  /** Number of the packet at the cursor. */
  get seq(): number {
    return (this.#firstSeq + this.#cursor) % 256;
  }

  get hasUnsent(): boolean {
    return this.#cursor < this.#slots.length;
  }

  get hasRoom(): boolean {
    return this.#slots.length < this.#size;
  }

  /** When the oldest packet that waits for its confirmation was sent. */
  get waitingSince(): number | undefined {
    return this.#cursor > 0 ? this.#slots[0]?.sentAt : undefined;
  }

  add(payload: Uint8Array): void {
    this.#slots.push({ payload, sentIn: 0, sentAt: 0 });
  }

  /** CS falls: the packet at the cursor counts as sent. */
  send(now: number): Uint8Array | undefined {
    const slot = this.#slots[this.#cursor];
    if (!slot) return undefined;
    slot.sentIn = this.#clock;
    slot.sentAt = now;
    this.#cursor++;
    const number = this.#firstSeq + this.#cursor;
    if (number <= this.#everSent) this.retransmitted++;
    this.#everSent = Math.max(this.#everSent, number);
    return slot.payload;
  }

  confirm(ack: number): void {
    const confirmed = (((ack - this.#firstSeq) % 256) + 256) % 256;
    if (confirmed > this.#slots.length) return;
    this.#slots.splice(0, confirmed);
    this.#firstSeq += confirmed;
    this.#cursor = Math.max(0, this.#cursor - confirmed);
    const oldest = this.#slots[0];
    if (oldest && this.#cursor > 0 && this.#clock - oldest.sentIn >= this.#hostAckDelay) this.#cursor = 0;
  }

  /** True for the packet that is expected next; it is counted as taken. */
  take(seq: number): boolean {
    if (seq !== this.#expected % 256) return false;
    this.#expected++;
    return true;
  }

  transactionOver(): void {
    this.#clock++;
  }
}
