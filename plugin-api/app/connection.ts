/** One connection to the Core: a JSON message a line, and N raw bytes after a message with `bytes: N`. */
import { connect, type Socket } from 'node:net';

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly meta?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly bytes?: number;
}

const READ_BYTES = 128 * 1024;

export class Connection {
  readonly #socket: Socket;
  readonly #onMessage: (message: Message, attachment: Buffer | undefined) => void;
  #parts: Buffer[] = [];
  /** The message whose attachment is being read, and how much of that is there. */
  #head: Message | undefined;
  #attachment: Buffer | undefined;
  #filled = 0;
  #outgoing = '';

  /** `onClose` is called once, also when the connection cannot be made. */
  constructor(
    path: string,
    onMessage: (message: Message, attachment: Buffer | undefined) => void,
    onClose: (reason: string) => void,
  ) {
    this.#onMessage = onMessage;
    const callback = (bytes: number, buffer: Uint8Array): boolean => {
      this.#read(buffer as Buffer, bytes);
      return true;
    };
    this.#socket = connect({ path, onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback } });
    let reason = 'the Core hung up';
    this.#socket.on('error', (error) => {
      reason = error.message;
    });
    this.#socket.on('close', () => onClose(reason));
  }

  /** Messages of one turn leave in one write. */
  send(message: object, attachment?: Uint8Array): void {
    if (this.#outgoing === '') process.nextTick(this.#flush);
    this.#outgoing += `${JSON.stringify(attachment ? { ...message, bytes: attachment.length } : message)}\n`;
    if (!attachment) return;
    this.#socket.cork();
    this.#flush();
    this.#socket.write(attachment);
    this.#socket.uncork();
  }

  readonly #flush = (): void => {
    if (this.#outgoing !== '') this.#socket.write(this.#outgoing);
    this.#outgoing = '';
  };

  end(): void {
    this.#flush();
    this.#socket.end();
  }

  /** The buffer is used again for the next read: what is kept has to be copied. */
  #read(buffer: Buffer, bytes: number): void {
    for (let at = 0; at < bytes; ) {
      if (this.#attachment) {
        const copied = buffer.copy(this.#attachment, this.#filled, at, bytes);
        at += copied;
        this.#filled += copied;
        this.#deliverIfWhole();
        continue;
      }
      const newline = buffer.subarray(0, bytes).indexOf(10, at);
      const end = newline < 0 ? bytes : newline;
      if (newline >= 0 && this.#parts.length === 0) this.#take(buffer.toString('utf8', at, end));
      else {
        this.#parts.push(Buffer.from(buffer.subarray(at, end)));
        if (newline >= 0) this.#take(Buffer.concat(this.#parts.splice(0)).toString());
      }
      at = end + 1;
    }
  }

  #take(line: string): void {
    const message = JSON.parse(line) as Message;
    if (message.bytes === undefined) {
      this.#onMessage(message, undefined);
      return;
    }
    this.#head = message;
    this.#attachment = Buffer.allocUnsafe(message.bytes);
    this.#filled = 0;
    this.#deliverIfWhole();
  }

  #deliverIfWhole(): void {
    const attachment = this.#attachment!;
    if (this.#filled < attachment.length) return;
    this.#attachment = undefined;
    this.#onMessage(this.#head!, attachment);
  }
}
