/**
 * One stream between an app and a plugin. Credit in bytes bounds what is on the way in each direction; a chunk may
 * arrive in several pieces.
 */
import { CoreError } from '@device-core/plugin-api';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';

/** Session functions that a stream needs. */
export interface StreamPort {
  /** Sends at once, behind what waits already. */
  send(message: object): void;
  /** Sends a message that is JSON already. Resolves when the socket has room for more. */
  deliver(json: string, attachment?: Uint8Array): Promise<void>;
}

export interface StreamOptions {
  readonly id: string;
  readonly name: string;
  readonly binary: boolean;
  /** Bytes that the app may write ahead. */
  readonly window: number;
  /** Bytes that the app takes at first. */
  readonly credit: number;
  /** Most bytes of one message. */
  readonly piece: number;
}

/** Sends that may wait for credit: a plugin that does not await send() must not pile up chunks here. */
const MAX_WAITING = 64;
/** Small chunks are joined above this, so that single bytes do not cost an object each. */
const MAX_CHUNKS = 256;

export class AppStream implements StreamChannel {
  readonly id: string;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly #port: StreamPort;
  readonly #options: StreamOptions;
  readonly #controller = new AbortController();
  /** Resolves when the app knows of the stream. */
  readonly known: Promise<void>;
  readonly #announced: () => void;
  #isKnown = false;
  // ---- app to plugin ----
  #chunks: Buffer[] = [];
  #held = 0;
  #granted: number;
  #consumed = 0;
  #finished = false;
  #wake: (() => void) | undefined;
  // ---- plugin to app ----
  #credit: number;
  /** Head of every message with data, up to its number; written by hand, for audio has fifty a second and more. */
  readonly #head: string;
  #seq = 0;
  #waiting = 0;
  #tail: Promise<void> = Promise.resolve();
  #creditCame: (() => void) | undefined;

  constructor(port: StreamPort, options: StreamOptions) {
    this.#port = port;
    this.#options = options;
    this.id = options.id;
    this.name = options.name;
    this.signal = this.#controller.signal;
    this.#granted = options.window;
    this.#credit = options.credit;
    this.#head = `{"jsonrpc":"2.0","method":"stream.data","params":{"id":${JSON.stringify(options.id)},"seq":`;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.known = promise;
    this.#announced = resolve;
  }

  get incoming(): AsyncIterable<Uint8Array> {
    return { [Symbol.asyncIterator]: () => ({ next: () => this.#read() }) };
  }

  /** Bytes that the app wrote and the plugin has not taken. */
  get held(): number {
    return this.#held;
  }

  send(chunk: Uint8Array): Promise<void> {
    if (this.signal.aborted) return Promise.reject(this.signal.reason);
    if (this.#isKnown && this.#waiting === 0 && chunk.length <= Math.min(this.#credit, this.#options.piece)) {
      this.#credit -= chunk.length;
      return this.#sendPiece(chunk, false);
    }
    if (this.#waiting >= MAX_WAITING) {
      const details = { what: `a chunk on stream ${this.id}`, reason: 'the app grants no credit', retryAfterMs: 100 };
      return Promise.reject(new CoreError('QUEUE_FULL', details));
    }
    this.#waiting++;
    const sent = this.#tail.then(() => this.#sendInPieces(chunk));
    this.#tail = sent.then(this.#sentOne, this.#sentOne);
    return sent;
  }

  /** The answer to stream.open is on its way: what the plugin sends may follow. */
  announce(): void {
    this.#isKnown = true;
    this.#announced();
  }

  /** Adds bytes of the app. Throws STREAM_OVERRUN. */
  push(bytes: Buffer): void {
    if (bytes.length > this.#granted)
      throw new CoreError('STREAM_OVERRUN', { stream: this.id, bytes: bytes.length, credit: this.#granted });
    if (bytes.length === 0 || this.#finished) return;
    this.#granted -= bytes.length;
    this.#held += bytes.length;
    this.#chunks.push(bytes);
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks, this.#held)];
    this.#wake?.();
  }

  /** The app writes no more. False where it had said so before. */
  finish(): boolean {
    if (this.#finished) return false;
    this.#finished = true;
    this.#wake?.();
    return true;
  }

  /** The app takes more. */
  addCredit(bytes: number): void {
    this.#credit = Math.min(this.#credit + bytes, Number.MAX_SAFE_INTEGER);
    this.#creditCame?.();
  }

  /** The stream is over. */
  end(reason: CoreError): void {
    if (this.signal.aborted) return;
    this.#controller.abort(reason);
    this.#chunks = [];
    this.#held = 0;
    this.announce();
    this.#wake?.();
    this.#creditCame?.();
  }

  async #read(): Promise<IteratorResult<Uint8Array>> {
    while (this.#chunks.length === 0) {
      if (this.#finished || this.signal.aborted) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const chunk = this.#chunks.shift()!;
    this.#held -= chunk.length;
    this.#consumed += chunk.length;
    if (this.#consumed >= this.#options.window / 2) this.#grant();
    return { done: false, value: chunk };
  }

  /** Given back in halves of the window, not for every chunk. */
  #grant(): void {
    const bytes = this.#consumed;
    this.#consumed = 0;
    this.#granted += bytes;
    if (!this.#finished) this.#port.send(notification('stream.credit', { id: this.id, bytes }));
  }

  readonly #sentOne = (): void => {
    this.#waiting--;
  };

  /** As much as the credit covers goes at once, so that sender and receiver never wait for each other. */
  async #sendInPieces(chunk: Uint8Array): Promise<void> {
    if (!this.#isKnown) await this.known;
    let at = 0;
    while (at < chunk.length) {
      while (this.#credit === 0 && !this.signal.aborted)
        await new Promise<void>((resolve) => {
          this.#creditCame = resolve;
        });
      if (this.signal.aborted) throw this.signal.reason;
      const size = Math.min(chunk.length - at, this.#options.piece, this.#credit);
      const piece = chunk.subarray(at, at + size);
      this.#credit -= size;
      at += size;
      await this.#sendPiece(piece, at < chunk.length);
    }
  }

  /** `more` tells the app that the chunk goes on in the next message. */
  #sendPiece(piece: Uint8Array, more: boolean): Promise<void> {
    const head = `${this.#head}${this.#seq++}${more ? ',"more":true' : ''}`;
    if (this.#options.binary) return this.#port.deliver(`${head}},"bytes":${piece.length}}`, piece);
    const data = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('base64');
    return this.#port.deliver(`${head},"data":"${data}"}}`);
  }
}

export function notification(method: string, params: object): object {
  return { jsonrpc: '2.0', method, params };
}
