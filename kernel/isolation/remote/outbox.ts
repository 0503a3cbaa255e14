import { randomInt } from 'node:crypto';
import { MARK, type Message, PASSED, type Port } from './protocol.ts';

/** Messages that go out together, and bytes after which no more join them. */
const BATCH = { messages: 256, bytes: 256 << 10 };
/** What a message weighs beside its strings and buffers. */
const MESSAGE_BYTES = 128;
const NONCE = 2 ** 47;

interface Parcel {
  readonly message: Message;
  readonly transfer: readonly ArrayBuffer[];
  readonly bytes: number;
}

/**
 * What goes to the other side, and no more of it than the other side takes in: what lies between is the memory of both. Now and then a mark goes
 * along, and the other side says when it came to it. Until then the rest waits here.
 */
export class Outbox {
  readonly #port: Port;
  readonly #windowBytes: number;
  #parcels: Parcel[] = [];
  #scheduled = false;
  /** Bytes that were not sent. */
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

  /** What one turn of the microtask queue has to say goes out together. */
  add(message: Message, bytes = 0, transfer: readonly ArrayBuffer[] = []): void {
    // What waits must not change any more.
    const parcel = this.#isOpen
      ? { message, transfer, bytes: bytes + MESSAGE_BYTES }
      : { message: structuredClone(message), transfer: [], bytes: bytes + MESSAGE_BYTES };
    this.#parcels.push(parcel);
    this.#waiting += parcel.bytes;
    if (this.#parcels.length >= BATCH.messages && this.#isOpen) this.flush();
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
    this.flush();
  }

  flush(): void {
    if (this.#owed !== undefined) {
      const passed: Message = [PASSED, this.#owed];
      this.#owed = undefined;
      if (this.#parcels.length > 0 && this.#isOpen) this.#post([passed]);
      else this.#port.post([passed], []);
    }
    while (this.#parcels.length > 0 && this.#isOpen) this.#post([]);
  }

  /** Sends all that is left, to a side that is about to be gone. */
  end(): void {
    while (this.#parcels.length > 0) this.#post([]);
  }

  get #isOpen(): boolean {
    return this.#sent - this.#passed < this.#windowBytes;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  #post(messages: Message[]): void {
    const transfer: ArrayBuffer[] = [];
    let bytes = 0;
    let count = 0;
    for (const parcel of this.#parcels) {
      if (count >= BATCH.messages || bytes >= BATCH.bytes) break;
      count++;
      bytes += parcel.bytes;
      messages.push(parcel.message);
      if (parcel.transfer.length > 0) transfer.push(...parcel.transfer);
    }
    if (count === this.#parcels.length) this.#parcels = [];
    else this.#parcels.splice(0, count);
    this.#waiting -= bytes;
    this.#sent += bytes;
    if (this.#sent - this.#marked >= this.#windowBytes / 4) {
      const nonce = randomInt(NONCE);
      this.#marked = this.#sent;
      this.#marks.push({ nonce, sent: this.#sent });
      messages.push([MARK, nonce]);
    }
    this.#port.post(messages, transfer);
  }
}
