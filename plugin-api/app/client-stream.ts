/**
 * The app's end of a stream. Bytes in both directions, bounded by credit: reading grants the Core more, writing waits
 * for what it granted.
 */
import type { Message } from './connection.ts';
import { RpcError } from './rpc-error.ts';

export interface StreamPort {
  send(message: object, attachment?: Uint8Array): void;
  call(method: string, params: object): Promise<unknown>;
  forget(id: string): void;
}

export class ClientStream implements AsyncIterable<Uint8Array> {
  readonly id: string;
  /** Resolves when the stream has ended, rejects with the error it ended with. */
  readonly ended: Promise<void>;
  readonly #port: StreamPort;
  readonly #window: number;
  readonly #settle: { resolve: () => void; reject: (error: RpcError) => void };
  #credit: number;
  #chunks: Uint8Array[] = [];
  #pieces: Uint8Array[] = [];
  #gathered = 0;
  #consumed = 0;
  #over: { readonly error?: RpcError } | undefined;
  #wake: (() => void) | undefined;
  #creditCame: (() => void) | undefined;

  constructor(port: StreamPort, id: string, credit: number, window: number) {
    this.#port = port;
    this.id = id;
    this.#credit = credit;
    this.#window = window;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined); // whoever reads or writes is told, too
    this.ended = promise;
    this.#settle = { resolve, reject };
  }

  /** Resolves when the Core's credit covered it all. One write at a time. */
  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      while (this.#credit === 0 && !this.#over)
        await new Promise<void>((resolve) => {
          this.#creditCame = resolve;
        });
      if (this.#over) throw this.#over.error ?? new RpcError('CANCELLED', -32800, `stream ${this.id} has ended`);
      const piece = chunk.subarray(at, at + this.#credit);
      this.#credit -= piece.length;
      at += piece.length;
      this.#port.send({ jsonrpc: '2.0', method: 'stream.write', params: { id: this.id } }, piece);
    }
  }

  /** Nothing more is written. What the Core still sends can be read; `ended` settles when all is done. */
  async close(): Promise<void> {
    if (!this.#over) await this.#port.call('stream.close', { id: this.id });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => this.#next() };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#chunks.length === 0) {
      if (this.#over?.error) throw this.#over.error;
      if (this.#over) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const value = this.#chunks.shift()!;
    this.#grant(value.length);
    return { done: false, value };
  }

  /** A notification of the Core about this stream. */
  take({ method, params = {} }: Message, attachment: Buffer | undefined): void {
    if (method === 'stream.credit') {
      this.#credit += Number(params.bytes);
      this.#creditCame?.();
    } else if (method === 'stream.data') {
      this.#pieces.push(attachment ?? Buffer.from(String(params.data), 'base64'));
      this.#gathered += this.#pieces.at(-1)!.length;
      // A chunk that does not fit the window comes as several: no credit is granted for what cannot be read.
      if (params.more && this.#gathered < this.#window / 2) return;
      const pieces = this.#pieces.splice(0);
      this.#gathered = 0;
      this.#chunks.push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
      this.#wake?.();
    } else if (method === 'stream.end') this.end(params.error ? RpcError.from(params.error) : undefined);
  }

  end(error: RpcError | undefined): void {
    if (this.#over) return;
    this.#over = error ? { error } : {};
    this.#port.forget(this.id);
    if (error) this.#settle.reject(error);
    else this.#settle.resolve();
    this.#wake?.();
    this.#creditCame?.();
  }

  #grant(bytes: number): void {
    this.#consumed += bytes;
    if (this.#consumed < this.#window / 2 || this.#over) return;
    this.#port.send({ jsonrpc: '2.0', method: 'stream.credit', params: { id: this.id, bytes: this.#consumed } });
    this.#consumed = 0;
  }
}
