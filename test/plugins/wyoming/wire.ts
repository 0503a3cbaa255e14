/** Wyoming as its description says, written apart from the plugin: what both agree on is the protocol. */
import { connect, type NetConnectOpts, type Socket } from 'node:net';

export interface Told {
  readonly type: string;
  readonly data: Record<string, unknown>;
  readonly payload: Buffer;
}

export type Style = 'block' | 'inline';

export function bytesOf(
  type: string,
  data: object = {},
  payload: Uint8Array = new Uint8Array(0),
  style: Style = 'block',
): Buffer {
  const body = Buffer.from(style === 'block' ? JSON.stringify(data) : '');
  const head =
    style === 'block' ? { type, version: '1.7.2', data_length: body.length } : { type, data, data_length: null };
  const line = JSON.stringify({ ...head, payload_length: payload.length });
  return Buffer.concat([Buffer.from(`${line}\n`), body, payload]);
}

/** One end of a connection. */
export class Peer {
  readonly socket: Socket;
  style: Style = 'block';
  #bytes = Buffer.alloc(0);
  #over = false;
  #wake = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake.resolve();
    });
    const over = () => {
      this.#over = true;
      this.#wake.resolve();
    };
    socket.on('end', over);
    socket.on('close', over);
    socket.on('error', over);
  }

  static async open(options: NetConnectOpts): Promise<Peer> {
    const socket = connect(options);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => resolve());
      socket.once('error', reject);
    });
    return new Peer(socket);
  }

  tell(type: string, data: object = {}, payload?: Uint8Array): void {
    if (this.socket.writable) this.socket.write(bytesOf(type, data, payload, this.style));
  }

  /** Undefined at the end of the connection. */
  async hear(): Promise<Told | undefined> {
    for (;;) {
      const told = this.#event();
      if (told) return told;
      if (this.#over) return undefined;
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }

  /** The next of this type; those before it are left out. */
  async until(type: string): Promise<Told> {
    for (;;) {
      const told = await this.hear();
      if (!told) throw new Error(`the connection ended before ${type}`);
      if (told.type === type) return told;
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #event(): Told | undefined {
    const newline = this.#bytes.indexOf('\n');
    if (newline < 0) return undefined;
    const head = JSON.parse(this.#bytes.subarray(0, newline).toString()) as Record<string, unknown>;
    const data = newline + 1 + Number(head.data_length ?? 0);
    const end = data + Number(head.payload_length ?? 0);
    if (this.#bytes.length < end) return undefined;
    const block = this.#bytes.subarray(newline + 1, data).toString();
    const payload = Buffer.from(this.#bytes.subarray(data, end));
    this.#bytes = this.#bytes.subarray(end);
    const merged = { ...(head.data as object | undefined), ...(block && (JSON.parse(block) as object)) };
    return { type: String(head.type), data: merged, payload };
  }
}
