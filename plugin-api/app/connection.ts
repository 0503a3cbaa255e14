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

export class Connection {
  readonly #socket: Socket;
  readonly #onMessage: (message: Message, attachment: Buffer | undefined) => void;
  #parts: Buffer[] = [];
  #length = 0;
  #head: Message | undefined;
  #outgoing = '';

  /** `onClose` is called once, also when the connection cannot be made. */
  constructor(
    path: string,
    onMessage: (message: Message, attachment: Buffer | undefined) => void,
    onClose: (reason: string) => void,
  ) {
    this.#onMessage = onMessage;
    this.#socket = connect({ path });
    let reason = 'the Core hung up';
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', (error) => {
      reason = error.message;
    });
    this.#socket.on('close', () => onClose(reason));
  }

  /** What is sent in one turn leaves in one write. */
  send(message: object, attachment?: Uint8Array): void {
    if (this.#outgoing === '') process.nextTick(() => this.#flush());
    this.#outgoing += `${JSON.stringify(attachment ? { ...message, bytes: attachment.length } : message)}\n`;
    if (!attachment) return;
    this.#socket.cork();
    this.#flush();
    this.#socket.write(attachment);
    this.#socket.uncork();
  }

  #flush(): void {
    if (this.#outgoing !== '') this.#socket.write(this.#outgoing);
    this.#outgoing = '';
  }

  end(): void {
    this.#flush();
    this.#socket.end();
  }

  /** Pieces are joined once, when what they belong to is complete. */
  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const end = this.#head ? this.#head.bytes! - this.#length : rest.indexOf(10) + 1;
      if (end === 0 || end > rest.length) {
        this.#parts.push(rest);
        this.#length += rest.length;
        return;
      }
      const whole = this.#join(rest.subarray(0, end));
      rest = rest.subarray(end);
      this.#take(whole);
    }
  }

  #take(whole: Buffer): void {
    const head = this.#head;
    if (head) {
      this.#head = undefined;
      this.#onMessage(head, whole);
      return;
    }
    const message = JSON.parse(whole.toString()) as Message;
    if (message.bytes) this.#head = message;
    else this.#onMessage(message, message.bytes === 0 ? Buffer.alloc(0) : undefined);
  }

  #join(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    const whole = Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#length = 0;
    return whole;
  }
}
