/** Somebody who watches the panel from afar: gives credit, and puts what comes on a glass of its own. */
import { Readable } from 'node:stream';
import { inflateRawSync } from 'node:zlib';
import { Glass } from '@device-core/plugin-api/pixels';
import type { Rect } from '@device-core/plugin-api/scene';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';

export interface Head {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly rects: readonly Rect[];
  readonly bytes: number;
  readonly seq?: number;
  readonly at?: number;
  readonly masked?: boolean;
}

export class FarViewer implements StreamChannel {
  readonly id = 'far';
  readonly #over = new AbortController();
  readonly signal = this.#over.signal;
  readonly incoming = Readable.from([]);
  readonly heads: Head[] = [];
  glass: Glass | undefined;
  /** Frames that were handed to it, read or not. */
  sent = 0;
  #credit: number;
  readonly #waiting: (() => void)[] = [];

  constructor(credit: number) {
    this.#credit = credit;
  }

  async send(chunk: Uint8Array): Promise<void> {
    this.sent += 1;
    while (this.#credit === 0 && !this.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#credit -= 1;
    if (!this.signal.aborted) this.#read(Buffer.from(chunk));
  }

  more(count: number): void {
    this.#credit += count;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  end(): void {
    this.#over.abort();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #read(chunk: Buffer): void {
    const end = chunk.indexOf('\n');
    const head = JSON.parse(chunk.subarray(0, end).toString()) as Head;
    const body = chunk.subarray(end + 1);
    if (body.length !== head.bytes) throw new Error(`${body.length} bytes came, the line says ${head.bytes}`);
    const { width, height, format, rects, seq = 0 } = head;
    const former = this.glass;
    if (former?.width !== width || former.height !== height || former.format !== format) this.glass = new Glass(head);
    this.glass?.put({ seq, rects, pixels: head.seq === undefined ? body : inflateRawSync(body) });
    this.heads.push(head);
  }
}
