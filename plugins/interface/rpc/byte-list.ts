/** Bytes that come in pieces and are joined once. */

/** Pieces below this are copied together, so that a peer that sends byte by byte does not cost an object a byte. */
const SMALL = 4096;

export class ByteList {
  #parts: Buffer[] = [];
  /** Last part while it is our own and has room. */
  #room: Buffer | undefined;
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Buffer): void {
    this.#length += bytes.length;
    if (bytes.length >= SMALL) {
      this.#seal();
      this.#parts.push(bytes);
      return;
    }
    if (!this.#room || this.#used + bytes.length > this.#room.length) {
      this.#seal();
      this.#room = Buffer.allocUnsafeSlow(SMALL * 4);
    }
    this.#used += bytes.copy(this.#room, this.#used);
  }

  /** Everything and `last` in one piece; the list is empty afterwards. */
  take(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    this.#seal();
    const all = Buffer.concat([...this.#parts, last], this.#length + last.length);
    this.#parts = [];
    this.#length = 0;
    return all;
  }

  clear(): void {
    this.#parts = [];
    this.#room = undefined;
    this.#used = 0;
    this.#length = 0;
  }

  #seal(): void {
    if (this.#room && this.#used > 0) this.#parts.push(this.#room.subarray(0, this.#used));
    this.#room = undefined;
    this.#used = 0;
  }
}
