import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import type { SpawnedCore } from '../fixtures/spawned-core.ts';
import { RawClient } from '../plugins/rpc/fixture.ts';
import { FLASH, SPI } from './endpoints.ts';

/** Well below the time after which the Core closes a connection that nobody used, by right. */
const USED_MS = 30_000;

/** Clients with nothing to do with all this: one REST connection kept alive, and one session with a subscription. */
export class Bystanders {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #core: SpawnedCore;
  readonly #token: string;
  readonly #session: RawClient;
  #ports = new Set<number>();
  #events = 0;
  #used = performance.now();

  private constructor(core: SpawnedCore, token: string, session: RawClient) {
    this.#core = core;
    this.#token = token;
    this.#session = session;
    this.#agent.on('free', (socket) => this.#ports.add(socket.localPort));
  }

  static async start(core: SpawnedCore): Promise<Bystanders> {
    const session = await RawClient.connect(core.rpc('flash-reader'));
    await session.ready();
    const { result } = await session.request('events.subscribe', { filters: [`app.${FLASH}.event.*`] });
    assert.equal(result.filters.length, 1);
    return new Bystanders(core, core.token('flash-reader'), session);
  }

  /** The same connection answers, and every event came, in order. */
  async check(): Promise<void> {
    if (performance.now() - this.#used > USED_MS) this.#ports.clear();
    const body = { topic: `app.${FLASH}.event.tick`, payload: { count: ++this.#events } };
    const published = await this.#core.ask('/events/publish', { body, token: this.#token, agent: this.#agent });
    assert.equal(published.status, 202, published.text);
    const event = await this.#session.next();
    assert.deepEqual([event?.method, event?.params.payload.count], ['event', this.#events]);
    const transfer = await this.#core.ask('/SPI_transfer_txrx', { body: SPI, token: this.#token, agent: this.#agent });
    assert.equal(transfer.text, '{"ok":true,"rx":"/+9AFA=="}');
    await new Promise((resolve) => setImmediate(resolve));
    this.#used = performance.now();
    assert.equal(this.#ports.size, 1, 'one connection all the time');
  }

  stop(): void {
    this.#agent.destroy();
    this.#session.socket.destroy();
  }
}
