import { limited } from './error.ts';
import { decode, HEAD, lengthOf, type Message } from './message.ts';

const LONGEST_LINE = 4_096;

/** Cuts what comes from a socket into lines, while it logs in, and then into messages. */
export class Incoming {
  readonly #most: number;
  #chunks: Uint8Array[] = [];
  #size = 0;
  /** Bytes that have to be there before it is worth looking again. */
  #needed = 1;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** The next line without its end, if it is there. Throws DBusError for one that is too long. */
  line(): string | undefined {
    const bytes = this.#joined();
    const end = bytes.indexOf('\r\n');
    if (end < 0 && bytes.length > LONGEST_LINE) throw limited(`a line of more than ${LONGEST_LINE} bytes`);
    if (end < 0) return undefined;
    this.#take(end + 2);
    return bytes.toString('latin1', 0, end);
  }

  /** The messages that are there. Throws DBusError where it is not D-Bus, or too long. */
  *messages(): Generator<Message> {
    while (this.#size >= this.#needed) {
      if (this.#size < HEAD) return;
      const bytes = this.#joined();
      this.#needed = lengthOf(bytes, this.#most);
      if (this.#size < this.#needed) return;
      const message = decode(bytes.subarray(0, this.#needed));
      this.#take(this.#needed);
      if (message) yield message;
    }
  }

  #joined(): Buffer {
    const whole = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return Buffer.from(whole.buffer, whole.byteOffset, whole.length);
  }

  #take(count: number): void {
    const rest = this.#joined().subarray(count);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    this.#needed = 1;
  }
}
