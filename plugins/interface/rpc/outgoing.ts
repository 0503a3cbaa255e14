/**
 * Outgoing queue of a peer. Messages of one turn leave in one write. Above `softBytes` senders that can wait have to;
 * above `hardBytes` the peer is given up.
 */
import type { Socket } from 'node:net';

import type { Cut } from './raw-parts.ts';

/** Attachments up to this are copied. */
const COPIED = 16 * 1024;

export interface OutgoingEvents {
  /** There is room again. */
  room(): void;
  /** There is none. */
  full(): void;
  /** More is queued than a peer may leave unread. */
  overflow(bytes: number): void;
}

export class Outgoing {
  readonly #socket: Socket;
  readonly #events: OutgoingEvents;
  readonly #soft: number;
  readonly #hard: number;
  #text = '';
  #chunks: (string | Uint8Array)[] = [];
  #bytes = 0;
  #scheduled = false;
  #closing = false;
  #closed = false;

  constructor(socket: Socket, events: OutgoingEvents, softBytes: number, hardBytes: number) {
    this.#socket = socket;
    this.#events = events;
    this.#soft = softBytes;
    this.#hard = hardBytes;
    socket.on('drain', () => {
      if (!this.#closing) events.room();
    });
  }

  /** Bytes on their way; characters, for text. */
  get held(): number {
    return this.#bytes + this.#socket.writableLength;
  }

  get full(): boolean {
    return this.held >= this.#soft;
  }

  /** One message, of which a part is bytes. They belong to the socket from now on. */
  sendCut({ before, bytes, after }: Cut): void {
    if (this.#closed) return;
    this.#chunks.push(this.#text + before, bytes);
    this.#text = '';
    this.#bytes += before.length + bytes.length;
    this.send(after);
  }

  /** One message, as JSON, and its attachment. The attachment belongs to the socket from now on. */
  send(json: string, attachment?: Uint8Array): void {
    if (this.#closed) return;
    this.#text += `${json}\n`;
    this.#bytes += json.length + 1;
    if (attachment && attachment.length > 0) {
      this.#chunks.push(this.#text, attachment);
      this.#text = '';
      this.#bytes += attachment.length;
    }
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.flush);
    }
    const { held } = this;
    if (held >= this.#soft) this.#events.full();
    if (held > this.#hard) this.#events.overflow(held);
  }

  readonly flush = (): void => {
    this.#scheduled = false;
    if (this.#closed || this.#bytes === 0) return;
    const text = this.#text;
    const chunks = this.#chunks;
    this.#text = '';
    this.#bytes = 0;
    let taken: boolean;
    if (chunks.length === 0) taken = this.#socket.write(text);
    else {
      this.#chunks = [];
      if (text !== '') chunks.push(text);
      taken = this.#writeAll(chunks);
    }
    if (taken && !this.#closing) this.#events.room(); // no drain will come
  };

  /** Small attachments are copied into one piece with their messages, for each piece costs a microsecond; large ones go as they are. */
  #writeAll(chunks: readonly (string | Uint8Array)[]): boolean {
    this.#socket.cork();
    let small: (string | Uint8Array)[] = [];
    let bytes = 0;
    const join = (): void => {
      if (small.length > 0) this.#socket.write(joined(small, bytes));
      small = [];
      bytes = 0;
    };
    for (const chunk of chunks) {
      if (typeof chunk === 'string' || chunk.length <= COPIED) {
        small.push(chunk);
        bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
        continue;
      }
      join();
      this.#socket.write(chunk);
    }
    join();
    this.#socket.uncork();
    return !this.#socket.writableNeedDrain;
  }

  /** Nothing more is accepted; what was accepted is still sent. */
  close(): void {
    this.#closing = true;
    this.flush();
    this.#closed = true;
  }
}

function joined(parts: readonly (string | Uint8Array)[], bytes: number): Buffer {
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'string') at += all.write(part, at);
    else {
      all.set(part, at);
      at += part.length;
    }
  }
  return all;
}
