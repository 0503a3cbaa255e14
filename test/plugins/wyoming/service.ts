/** An external Wyoming service whose manners the test sets. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Peer, type Style, type Told } from './wire.ts';

const BY = { attribution: { name: 'a test', url: '' }, installed: true, description: 'A test', version: '1' };

export const INFO = {
  asr: [{ ...BY, name: 'ear', models: [{ ...BY, name: 'tiny', languages: ['en', 'de_DE'] }] }],
  tts: [
    {
      ...BY,
      name: 'mouth',
      voices: [
        { ...BY, name: 'amy', languages: ['en_GB'] },
        { ...BY, name: 'thorsten', languages: ['de_DE'] },
        { ...BY, name: 'gone', languages: ['fr'], installed: false },
      ],
    },
  ],
  wake: [{ ...BY, name: 'bell', models: [{ ...BY, name: 'hey_jarvis_v0.1', phrase: 'Hey, Jarvis!', languages: [] }] }],
};

/** What is done with an event other than `describe`. */
export type Manner = (peer: Peer, told: Told) => void | Promise<void>;

export class Service implements AsyncDisposable {
  readonly heard: Told[] = [];
  readonly #server: Server;
  readonly #peers = new Set<Peer>();
  manner: Manner = () => undefined;
  info: object | undefined = INFO;
  style: Style = 'block';
  connections = 0;
  port = 0;
  path: string | undefined;

  constructor() {
    this.#server = createServer((socket) => {
      this.connections++;
      const peer = new Peer(socket);
      peer.style = this.style;
      this.#peers.add(peer);
      socket.once('close', () => this.#peers.delete(peer));
      void this.#serve(peer);
    });
  }

  static async start(at: { readonly port?: number; readonly path?: string } = {}): Promise<Service> {
    const service = new Service();
    await service.listen(at);
    return service;
  }

  async listen({ port = 0, path }: { readonly port?: number; readonly path?: string } = {}): Promise<void> {
    this.path = path;
    this.#server.listen(path === undefined ? { port, host: '127.0.0.1' } : { path });
    await once(this.#server, 'listening');
    if (path === undefined) this.port = (this.#server.address() as AddressInfo).port;
  }

  get uri(): string {
    return this.path === undefined ? `tcp://127.0.0.1:${this.port}` : `unix://${this.path}`;
  }

  heardOf(type: string): Told[] {
    return this.heard.filter((told) => told.type === type);
  }

  cut(): void {
    for (const { socket } of this.#peers) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const peer of this.#peers) peer[Symbol.dispose]();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(peer: Peer): Promise<void> {
    for (let told = await peer.hear(); told; told = await peer.hear()) {
      this.heard.push(told);
      if (told.type === 'describe' && this.info) peer.tell('info', this.info);
      else await this.manner(peer, told);
    }
  }
}
