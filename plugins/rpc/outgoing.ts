/**
 * What is on its way to a peer. Messages of one turn leave in one write. Above `softBytes` whoever can wait has to; above `hardBytes` the peer is
 * given up.
 */
import type { Socket } from 'node:net';

export interface OutgoingEvents {
  /** There is room again. */
  room(): void;
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
    if (this.held > this.#hard) this.#events.overflow(this.held);
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
      this.#socket.cork();
      for (const chunk of chunks) this.#socket.write(chunk);
      this.#socket.uncork();
      taken = !this.#socket.writableNeedDrain;
    }
    if (taken && !this.#closing) this.#events.room(); // no drain will come
  };

  /** Nothing more is accepted; what was accepted is still sent. */
  close(): void {
    this.#closing = true;
    this.flush();
    this.#closed = true;
  }
}
