/** Plugins are restarted and reconfigured while REST, RPC and events run: nothing that was acknowledged is lost, and no connection ends. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually, pace } from '../fixtures/eventually.ts';
import { type Message, RawClient } from '../plugins/rpc/fixture.ts';

after(leakCheck());

const TALKER = 'com.example.talker';
const LISTENER = 'com.example.listener';
const TICK = `app.${TALKER}.event.tick`;
/** Its own 100 ms are short for a machine that starts processes at the same time. */
const HANDLE = { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0, deadlineMs: 5_000 };
const RETRYABLE = new Set(['UNAVAILABLE', 'SERVICE_REVOKED']);
/** A transfer that was under way when its plugin ended may have been executed: that is for the caller to judge (decisions D4a). */
const UNKNOWN = new Set(['transfer TRANSFER_FAILED', 'rest spi TRANSFER_FAILED']);

/** An app on its socket that has many requests underway at a time. */
class Client {
  readonly #raw: RawClient;
  readonly #underway = new Map<number, (answer: Message) => void>();
  readonly #others: (message: Message) => void;
  #last = 0;
  closed = false;

  constructor(raw: RawClient, others: (message: Message, send: RawClient) => void = () => undefined) {
    this.#raw = raw;
    this.#others = (message) => others(message, raw);
    void this.#read();
  }

  request(method: string, params: object = {}): Promise<Message> {
    const id = ++this.#last;
    this.#raw.send({ jsonrpc: '2.0', id, method, params });
    return new Promise((resolve) => this.#underway.set(id, resolve));
  }

  end(): void {
    this.#raw.socket.destroy();
  }

  async #read(): Promise<void> {
    for (let message = await this.#raw.next(); message; message = await this.#raw.next()) {
      const settle = message.method === undefined ? this.#underway.get(message.id) : undefined;
      this.#underway.delete(message.id);
      if (settle) settle(message);
      else this.#others(message);
    }
    this.closed = true;
  }
}

/** What the loops of clients saw. */
class Tally {
  readonly acknowledged = new Map<string, number>();
  readonly refused = new Map<string, number>();

  take(what: string, code: string | undefined): void {
    const counts = code === undefined ? this.acknowledged : this.refused;
    const key = code === undefined ? what : `${what} ${code}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}

async function connect(core: Core, id: string, name: string, capabilities: readonly string[]): Promise<RawClient> {
  await core.service(grants).set({ kind: 'app', id }, capabilities);
  const { path } = await core.service(appSockets).open({ id, name });
  const client = await RawClient.connect(path);
  await client.ready();
  return client;
}

/** As the operator on one connection that is kept; `code` is absent for a success. */
function rest(core: Core, agent: Agent, sockets: Set<unknown>) {
  const token = readFileSync(join(core.paths.run, 'operator.token'), 'utf8').trim();
  return (method: string, path: string, body?: object) =>
    new Promise<string | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const target = { socketPath: join(core.paths.run, 'core.sock'), agent, method, path, headers };
      const sent = request(target, (response) => {
        sockets.add(response.socket);
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          const { ok, error } = JSON.parse(text);
          resolve(ok ? undefined : String(error).split(':')[0]);
        });
      });
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
}

/** Where events and functions run, and how often everything is swapped. */
const CASES = [
  ['inline', 4],
  ['process', 2],
] as const;

for (const [level, rounds] of CASES)
  test(`a swap under load (${level}) loses no acknowledged work, ends no connection, and answers at worst with a code to try again on, or to ask about`, async () => {
    await using core = await startCore({
      plugins: {
        operations: '^1.0.0',
        identity: '^1.0.0',
        system: '^1.0.0',
        http: '^1.0.0',
        limits: { version: '^1.0.0', config: { generous: true } },
        rpc: '^1.0.0',
        events: { version: '^1.0.0', isolation: level },
        functions: { version: '^1.0.0', isolation: level },
        'port-sim': { version: '^1.0.0', config: { board: 'demo' } },
        endpoints: '^1.0.0',
        cbp: '^1.0.0',
        spi: { version: '^1.0.0', isolation: level, config: { handles: [HANDLE] } },
      },
    });
    const delivered = new Set<number>();
    const talker = new Client(
      await connect(core, TALKER, 'talker', [`functions.call:${LISTENER}`, 'bridges.spi:flash']),
    );
    const listener = new Client(
      await connect(core, LISTENER, 'listener', [`events.read:${TALKER}`]),
      (message, raw) => {
        if (message.method === 'echo') raw.send({ jsonrpc: '2.0', id: message.id, result: message.params });
        else if (message.params?.topic === TICK) delivered.add(message.params.payload.n);
      },
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const connections = new Set<unknown>();
    const ask = rest(core, agent, connections);
    const seen = new Tally();
    const published: number[] = [];
    assert.equal((await listener.request('events.subscribe', { filter: `app.${TALKER}.event.**` })).error, undefined);
    const functions = [{ name: 'echo', version: '1.0.0', idempotent: true, inputs: { n: 'int' } }];
    assert.equal((await listener.request('functions.register', { app: LISTENER, functions })).error, undefined);

    let running = true;
    const loop = async (act: (n: number) => Promise<void>) => {
      for (let n = 0; running; n++) {
        await act(n);
        await pace(1);
      }
    };
    const loops = [
      loop(async (n) => {
        const { error } = await talker.request('events.publish', { topic: TICK, payload: { n } });
        if (!error) published.push(n);
        seen.take('publish', error?.data.code);
      }),
      loop(async (n) => {
        const { error, result } = await talker.request('functions.call', { name: 'echo', inputs: { n } });
        if (!error) assert.deepEqual(result, { result: { n } });
        seen.take('call', error?.data.code);
      }),
      loop(async () => {
        const { error } = await talker.request('spi.transfer', { handle: 'flash', tx: 'nw==', rxLen: 3 });
        if (error?.data.code === 'TRANSFER_FAILED') assert.equal(error.data.details.executed, 'unknown');
        seen.take('transfer', error?.data.code);
      }),
      loop(async () =>
        seen.take('rest spi', await ask('POST', '/SPI_transfer_txrx', { handle: 'flash', tx: 'nw==', rxLen: 3 })),
      ),
      loop(async () => seen.take('rest functions', await ask('GET', '/functions'))),
    ];
    const unaffected = loop(async () => seen.take('ping', (await talker.request('system.ping')).error?.data.code));

    const sku = parse(readFileSync(core.skuFile, 'utf8'));
    for (let round = 0; round < rounds; round++) {
      for (const id of ['spi', 'events', 'functions', 'limits']) {
        assert.equal((await core.kernel.restart(id)).state, 'active');
        await pace(20);
      }
      sku.plugins.spi.config.handles = [HANDLE, { ...HANDLE, name: `other-${round}`, cs: 1 }];
      writeFileSync(core.skuFile, stringify(sku));
      assert.deepEqual((await core.kernel.apply()).affected, ['spi']);
      await pace(20);
    }
    const WORK = ['publish', 'call', 'transfer', 'rest spi', 'rest functions', 'ping'];
    const enough = () => WORK.every((what) => (seen.acknowledged.get(what) ?? 0) > 20);
    await eventually(enough, 'enough work', { ms: 30_000 });
    running = false;
    await Promise.all([...loops, unaffected]);
    await eventually(() => published.every((n) => delivered.has(n)), 'all events');

    assert.deepEqual(
      published.filter((n) => !delivered.has(n)),
      [],
      'every event that was acknowledged came',
    );
    assert.ok(enough(), JSON.stringify([...seen.acknowledged]));
    const codes = [...seen.refused.keys()];
    assert.deepEqual(
      codes.filter((key) => !UNKNOWN.has(key) && !RETRYABLE.has(key.split(' ').at(-1)!)),
      [],
    );
    assert.ok(!codes.some((key) => key.startsWith('ping')), 'who is not concerned notices nothing');
    assert.deepEqual([talker.closed, listener.closed, connections.size], [false, false, 1]);
    agent.destroy();
    talker.end();
    listener.end();
  });
