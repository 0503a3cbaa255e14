/** A transcription service on loopback: the form endpoint and the realtime WebSocket, with the faults that a test asks for. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export interface Seen {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly traceparent?: string | undefined;
  /** Of the form, as text. */
  readonly body: string;
}

export type Fault = 'refuse' | 'hang' | 'bad-json' | 'no-text' | 'huge' | 'redirect' | 'drop' | undefined;

export class Stub implements AsyncDisposable {
  readonly seen: Seen[] = [];
  /** Messages of clients on the WebSocket. */
  readonly told: Record<string, unknown>[] = [];
  text = 'What is next?';
  latencyMs = 300;
  fault: Fault;
  /** Latin-1, instead of an answer to a form or to the handshake of a WebSocket. */
  raw: string | undefined;
  /** Frames instead of the first word on a WebSocket. */
  frames: Uint8Array | undefined;
  base = '';
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #sockets = new Set<Duplex>();
  readonly #timers: NodeJS.Timeout[] = [];

  static async start(): Promise<Stub> {
    const stub = new Stub();
    stub.#server.on('connection', (socket) => {
      stub.#sockets.add(socket);
      socket.once('close', () => stub.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    stub.#server.on('upgrade', (request, socket) => stub.#upgrade(request, socket));
    await new Promise<void>((resolve) => stub.#server.listen(0, '127.0.0.1', resolve));
    stub.base = `http://127.0.0.1:${(stub.#server.address() as AddressInfo).port}/v1`;
    return stub;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization, traceparent } = request.headers as Record<string, string | undefined>;
    const body = (await buffer(request)).toString('latin1');
    this.seen.push({ url: request.url ?? '', authorization, traceparent, body });
    await new Promise<void>((resolve) => this.#later(resolve));
    if (this.raw !== undefined) return void request.socket.end(this.raw, 'latin1');
    const json = (status: number, text: string) => response.writeHead(status).end(text);
    switch (this.fault) {
      case 'refuse':
        json(401, JSON.stringify({ error: { message: `wrong key ${authorization}` } }));
        break;
      case 'hang':
        break;
      case 'bad-json':
        json(200, '<html>');
        break;
      case 'no-text':
        json(200, '{"words":[]}');
        break;
      case 'huge':
        json(200, JSON.stringify({ text: 'x'.repeat(2_000_000) }));
        break;
      case 'redirect':
        response.writeHead(307, { location: `${this.base}/elsewhere` }).end();
        break;
      case 'drop':
        request.socket.destroy();
        break;
      default:
        json(200, JSON.stringify({ text: this.text }));
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex): void {
    const { authorization, traceparent } = request.headers as Record<string, string | undefined>;
    this.seen.push({ url: request.url ?? '', authorization, traceparent, body: '' });
    if (this.raw !== undefined) return void socket.end(this.raw, 'latin1');
    if (this.fault === 'refuse') {
      socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
      return;
    }
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    let rest = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      for (let frame = readFrame(rest); frame; frame = readFrame(rest)) {
        rest = rest.subarray(frame.length);
        if (frame.opcode === 8) socket.end(Buffer.from([0x88, 0]));
        if (frame.opcode === 1) this.#hear(JSON.parse(frame.text) as Record<string, unknown>, socket);
      }
    });
  }

  #hear(message: Record<string, unknown>, socket: Duplex): void {
    this.told.push(message);
    if (this.frames) return void socket.end(this.frames);
    const say = (one: object) => socket.write(textFrame(JSON.stringify(one)));
    const event = 'conversation.item.input_audio_transcription';
    if (message.type === 'input_audio_buffer.append' && this.told.length === 4)
      say({ type: `${event}.delta`, delta: 'What is' });
    if (message.type !== 'input_audio_buffer.commit') return;
    this.#later(() => {
      if (this.fault === 'hang') return;
      if (this.fault === 'drop') socket.destroy();
      else if (this.fault === 'bad-json') socket.write(textFrame('<html>'));
      else if (this.fault === 'no-text') say({ type: `${event}.completed` });
      else if (this.fault === 'huge') say({ type: 'error', error: { message: 'too much' } });
      else say({ type: `${event}.completed`, transcript: this.text });
    });
  }

  #later(fn: () => void): void {
    this.#timers.push(setTimeout(fn, this.latencyMs));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The first frame of a client, which is masked; undefined while it is not all there. */
function readFrame(bytes: Buffer): { opcode: number; text: string; length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head + 4) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const length = head + 4 + size;
  if (bytes.length < length) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const text = Buffer.from(bytes.subarray(head + 4, length).map((byte, index) => byte ^ mask[index % 4]!)).toString();
  return { opcode: bytes[0]! & 0x0f, text, length };
}

function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? [0x81, payload.length] : [0x81, 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from(head), payload]);
}
