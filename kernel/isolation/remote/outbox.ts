import { randomInt } from 'node:crypto';
import { MARK, type Message, PASSED, type Port } from './protocol.ts';

/** Messages that go out together, and bytes after which no more join them. */
const BATCH = { messages: 256, bytes: 256 << 10 };
/** Weight of a message beside its strings and buffers. */
const MESSAGE_BYTES = 128;
const NONCE = 2 ** 47;

/** A message that waits for room on the other side. */
interface Parcel {
  readonly message: Message;
  readonly bytes: number;
}

const NONE: readonly ArrayBuffer[] = [];

/**
 * Queue to the other side, with a window of bytes: messages under way take memory of both sides. A mark goes along now and then,
 * and the other side acknowledges it when it gets there. The rest waits here meanwhile.
 */
export class Outbox {
  readonly #port: Port;
  readonly #windowBytes: number;
  /** Goes out together, at the end of this turn of the microtask queue. */
  #batch: Message[] = [];
  #transfer: ArrayBuffer[] = [];
  #batchBytes = 0;
  #scheduled = false;
  /** Empty while the window is open. */
  #parcels: Parcel[] = [];
  #waiting = 0;
  /** Bytes that were sent in all, to the last mark, and up to the last mark that was passed. */
  #sent = 0;
  #marked = 0;
  #passed = 0;
  readonly #marks: { readonly nonce: number; readonly sent: number }[] = [];
  /** The mark of the other side that was come to last. */
  #owed: number | undefined;

  constructor(port: Port, windowBytes: number) {
    this.#port = port;
    this.#windowBytes = windowBytes;
  }

  /** Bytes that wait until the other side takes more. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Adds a message; those of one turn of the microtask queue go out together. */
  add(message: Message, bytes = 0, transfer = NONE): void {
    if (!this.#isOpen) {
      // A waiting message must not change, so it is copied.
      this.#parcels.push({ message: structuredClone(message), bytes: bytes + MESSAGE_BYTES });
      this.#waiting += bytes + MESSAGE_BYTES;
      return;
    }
    this.#join(message, bytes + MESSAGE_BYTES);
    if (transfer.length > 0) this.#transfer.push(...transfer);
    if (this.#isWhole) this.#post();
    else this.#schedule();
  }

  /** The other side asks to be told that this side came so far. */
  reached(nonce: number): void {
    this.#owed = nonce;
    this.#schedule();
  }

  /** The other side came so far. Throws where it cannot have. */
  passed(nonce: number): void {
    const index = this.#marks.findIndex((mark) => mark.nonce === nonce);
    if (index < 0) throw new TypeError('it came to a mark that it was not given');
    this.#passed = this.#marks[index]!.sent;
    this.#marks.splice(0, index + 1);
    this.#flush();
  }

  /** Sends all that is left, to a side that is about to be gone. */
  end(): void {
    this.#flush();
    while (this.#parcels.length > 0) this.#postWaiting();
  }

  get #isOpen(): boolean {
    return this.#sent - this.#passed < this.#windowBytes;
  }

  get #isWhole(): boolean {
    return this.#batch.length >= BATCH.messages || this.#batchBytes >= BATCH.bytes;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    while (this.#isOpen && this.#parcels.length > 0) this.#postWaiting();
    if (this.#batch.length > 0 || this.#owed !== undefined) this.#post();
  };

  #schedule(): void {
    if (!this.#scheduled) queueMicrotask(this.#flush);
    this.#scheduled = true;
  }

  #join(message: Message, bytes: number): void {
    this.#batch.push(message);
    this.#batchBytes += bytes;
  }

  #postWaiting(): void {
    let count = 0;
    for (; count < this.#parcels.length && !this.#isWhole; count++) {
      const { message, bytes } = this.#parcels[count]!;
      this.#join(message, bytes);
      this.#waiting -= bytes;
    }
    this.#parcels.splice(0, count);
    this.#post();
  }

  #post(): void {
    const messages = this.#batch;
    const transfer = this.#transfer;
    this.#sent += this.#batchBytes;
    this.#batch = [];
    this.#batchBytes = 0;
    if (transfer.length > 0) this.#transfer = [];
    if (this.#owed !== undefined) messages.unshift([PASSED, this.#owed]);
    this.#owed = undefined;
    if (this.#sent - this.#marked >= this.#windowBytes / 4) {
      const nonce = randomInt(NONCE);
      this.#marked = this.#sent;
      this.#marks.push({ nonce, sent: this.#sent });
      messages.push([MARK, nonce]);
    }
    this.#port.post(messages, transfer);
  }
}
