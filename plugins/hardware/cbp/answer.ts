/** The response of one request, put together from its fragments. */
import { FRAME, type Frame } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { STATUS } from './status.ts';

const UNKNOWN_LENGTH = 0xffffffff;
const RSP_HEAD = 4;

export interface Outcome {
  readonly status: number;
  readonly body: Uint8Array;
}

export class Answer {
  /** Maximum bytes that the host set aside for the answer. */
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #expected: number | undefined;
  #received = 0;
  #fragment = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a RSP or DATA frame; the outcome when it was the last. Throws ProtocolError. */
  take(frame: Frame): Outcome | undefined {
    if (frame.aux !== this.#fragment)
      throw new ProtocolError(`response fragment ${frame.aux} instead of ${this.#fragment}`);
    this.#fragment = (this.#fragment + 1) & 0xff;
    const chunk = frame.type === FRAME.RSP ? this.#open(frame.body) : frame.body;
    if (frame.type === FRAME.DATA && this.#expected === undefined)
      throw new ProtocolError('response data before its head');
    this.#received += chunk.length;
    if (this.#received > this.#expected!) throw new ProtocolError(`a response of more than ${this.#expected} bytes`);
    if (chunk.length > 0) this.#chunks.push(chunk);
    if (!frame.fin) return undefined;
    return { status: frame.op, body: frame.op === STATUS.OK ? this.#join() : new Uint8Array(0) };
  }

  #open(body: Uint8Array): Uint8Array {
    if (this.#expected !== undefined) throw new ProtocolError('a second response head');
    if (body.length < RSP_HEAD) throw new ProtocolError('a response head that is too short');
    const total = (body[0]! | (body[1]! << 8) | (body[2]! << 16) | (body[3]! << 24)) >>> 0;
    if (total !== UNKNOWN_LENGTH && total > this.#limit) throw new ProtocolError(`a response of ${total} bytes`);
    this.#expected = total === UNKNOWN_LENGTH ? this.#limit : total;
    return body.subarray(RSP_HEAD);
  }

  #join(): Uint8Array {
    return this.#chunks.length === 1 ? new Uint8Array(this.#chunks[0]!) : Buffer.concat(this.#chunks);
  }
}
