/** Bodies that take their time: a slow line brings a large file, and who sends next to nothing keeps no place. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck, type VirtualClock, virtualClock } from '@device-core/plugin-api/testing';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { type Front, startFront } from './front.ts';

after(leakCheck());

const LIMIT = 1_000_000;
const WINDOW_MS = 30_000;
const PIECE = 40_000;

const released: { go: () => void } = { go: () => assert.fail('nobody waits') };
const row = (operation: object) => operation as Operation<never, unknown>;
const ROWS = [
  row({
    name: 'test.upload',
    summary: 'upload',
    errors: [],
    rpc: false,
    params: { type: 'object', properties: { file: { type: 'string' } } },
    result: { type: 'object' },
    rest: { method: 'POST', path: '/uploads', raw: true, bodyLimit: LIMIT },
    run: async ({ file }: { file: string }) => ({ bytes: readFileSync(file).length }),
  }),
  row({
    name: 'test.set',
    summary: 'set',
    errors: [],
    params: { type: 'object', properties: { value: { type: 'string' } } },
    result: { type: 'object' },
    rest: { method: 'PUT', path: '/set', bodyLimit: LIMIT },
    run: async ({ value }: { value: string }) => ({ letters: value.length }),
  }),
  row({
    name: 'test.wait',
    summary: 'wait',
    errors: [],
    timeoutMs: 86_400_000,
    params: { type: 'object', properties: {} },
    result: { type: 'object' },
    rest: { method: 'GET', path: '/wait' },
    run: () =>
      new Promise<object>((resolve) => {
        released.go = () => resolve({});
      }),
  }),
];

let clock: VirtualClock;
let front: Front;
let clients: Client[];

beforeEach(async () => {
  clock = virtualClock({ turns: 3 });
  front = await startFront(ROWS, { tcp: false, maxConnections: 20 }, clock);
  clients = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await Promise.all([front[Symbol.asyncDispose](), clock.advance(2_000)]);
});

class Client {
  readonly socket: Socket;
  said = '';

  constructor() {
    this.socket = connect(front.socket);
    this.socket.setEncoding('utf8').on('data', (chunk) => {
      this.said += chunk;
    });
    this.socket.on('error', () => undefined); // a reset is an end, too
    clients.push(this);
  }

  head(line: string, length: number): this {
    const token = `authorization: Bearer ${front.operatorToken}\r\n`;
    const type = `content-type: application/${line.startsWith('PUT') ? 'json' : 'octet-stream'}\r\n`;
    this.socket.write(`${line} HTTP/1.1\r\nhost: localhost\r\n${token}${type}content-length: ${length}\r\n\r\n`);
    return this;
  }

  /** Resolves when the Core has them. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
    await turns(20);
  }

  end(): Promise<unknown> {
    return eventually(() => this.socket.destroyed, 'the end of the connection', { every: 5 });
  }

  answer(what: RegExp): Promise<unknown> {
    return eventually(() => what.test(this.said), `${what} in the answer`, { every: 5 });
  }
}

const uploads = (): readonly string[] => {
  const folder = join(front.host.device.paths.var, 'uploads');
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return []; // nobody has sent anything yet
  }
};
const received = (bytes: number) =>
  eventually(() => uploads().reduce((sum, file) => sum + statSync(file).size, 0) === bytes, `${bytes} bytes`, {
    every: 5,
  });
/** Until the rounds have looked at everybody once more. */
const look = () => clock.advance(1_001);

async function health(): Promise<string> {
  const told: string[] = [];
  const report = { add: (_: string, { message = '' }: { message?: string }) => void told.push(message) };
  await front.host.hook('health.collect').promise(report as unknown as HealthReport);
  return told.join();
}

describe('a file on a slow line', () => {
  test('is taken, though it comes for ten times the limit of a request', async () => {
    const client = new Client().head('POST /uploads', 12 * PIECE);
    for (let sent = 1; sent < 12; sent += 1) {
      await client.send(Buffer.alloc(PIECE));
      await received(sent * PIECE);
      await clock.advance(WINDOW_MS - 2_500);
    }
    await client.send(Buffer.alloc(PIECE));
    await client.answer(/^HTTP\/1\.1 200 .*"bytes":480000/s);
    await eventually(() => uploads().length === 0, 'a folder without the file');
  });

  test('is taken from a device that is too busy to read it for as long as the limit', async () => {
    const client = new Client().head('POST /uploads', 2);
    await client.send('a');
    await received(1);
    await look();
    clock.starve(2 * WINDOW_MS);
    await look();
    await client.send('b');
    await client.answer(/^HTTP\/1\.1 200 /);
  });

  test('is taken as JSON, too', async () => {
    const value = 'x'.repeat(3 * PIECE);
    const body = JSON.stringify({ value });
    const client = new Client().head('PUT /set', body.length);
    for (let at = 0; at < body.length; at += PIECE) {
      await client.send(body.slice(at, at + PIECE));
      if (at + PIECE < body.length) await clock.advance(WINDOW_MS - 2_500);
    }
    await client.answer(/^HTTP\/1\.1 200 .*"letters":120000/s);
  });

  test('waits for its turn behind another request as long as that takes', async () => {
    const client = new Client();
    client.socket.write(
      `GET /wait HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${front.operatorToken}\r\n\r\n`,
    );
    client.head('POST /uploads', 6);
    await client.send('abc');
    for (let minutes = 0; minutes < 10; minutes += 1) await clock.advance(60_000);
    assert.equal(client.said, '');
    released.go();
    await client.answer(/^HTTP\/1\.1 200 /);
    await client.send('def');
    await client.answer(/"bytes":6/);
  });
});

describe('a client that keeps a place', () => {
  const REFUSED =
    /^HTTP\/1\.1 408 .*"error":"REQUEST_TIMEOUT: cannot wait any longer for the request: (\d+) bytes came in 30000 ms; a body goes on by 32768 bytes in that time, or is whole \(http\.requestTimeoutMs, http\.requestProgressBytes\)"/s;

  test('and stalls is told so, and nothing of its file is left', async () => {
    const client = new Client().head('POST /uploads', 3 * PIECE);
    await client.send(Buffer.alloc(PIECE));
    await received(PIECE);
    await look();
    await clock.advance(WINDOW_MS - 2_000);
    assert.equal(client.said, '');
    await look();
    await look();
    await client.end();
    assert.equal(REFUSED.exec(client.said)?.[1], '0', client.said);
    await eventually(() => uploads().length === 0, 'a folder without the file');
    assert.match(await health(), /, 1 cut because their request did not go on/);
  });

  test('and drips is told so, too', async () => {
    const client = new Client().head('POST /uploads', PIECE);
    await client.send('x');
    for (let second = 1; second <= 31; second += 1) {
      await received(second);
      await look();
      await client.send('x');
    }
    await look();
    await client.end();
    assert.ok(Number(REFUSED.exec(client.said)?.[1]) >= 29, client.said);
  });

  test('and drips bytes that were not asked for has its answer, and no time beyond the limit', async () => {
    const client = new Client().head('POST /nothing', LIMIT);
    await client.answer(/^HTTP\/1\.1 404 /);
    for (let second = 0; second < 33 && !client.socket.destroyed; second += 1) {
      await client.send(Buffer.alloc(PIECE / 4));
      await look();
      await turns(20);
    }
    await client.end();
    assert.doesNotMatch(client.said, / 408 /);
  });

  test('and sends more than it may is told so in the middle of it, and nothing of its file is left', async () => {
    const client = new Client();
    const head = `authorization: Bearer ${front.operatorToken}\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked`;
    client.socket.write(`POST /uploads HTTP/1.1\r\nhost: localhost\r\n${head}\r\n\r\n`);
    const chunk = `${PIECE.toString(16)}\r\n${'x'.repeat(PIECE)}\r\n`;
    for (let sent = 0; sent <= 2 * LIMIT; sent += PIECE) await client.send(chunk);
    await client.answer(/^HTTP\/1\.1 413 .*BODY_TOO_LARGE: cannot accept more than 1000000 bytes/s);
    await client.send('0\r\n\r\n');
    await client.end();
    assert.deepEqual(uploads(), []);
  });

  test('is one of four: others are told that they come too early, and when to come again', async () => {
    const slow = Array.from({ length: 4 }, () => new Client().head('POST /uploads', 2));
    for (const client of slow) await client.send('x');
    await received(4);
    const fifth = new Client().head('POST /uploads', 2);
    await fifth.answer(/^HTTP\/1\.1 429 .*retry-after: 1.*BUSY: cannot start an upload: 4 are in flight already/s);
    const stays = [...slow];
    const done = stays.shift()!;
    await done.send('y');
    await done.answer(/^HTTP\/1\.1 200 /);
    const sixth = new Client().head('POST /uploads', 2);
    await sixth.send('xy');
    await sixth.answer(/^HTTP\/1\.1 200 /);
    // Those that stall give their places back.
    await look();
    await clock.advance(WINDOW_MS);
    await look();
    for (const client of stays) {
      await client.end();
      assert.match(client.said, /^HTTP\/1\.1 408 /);
    }
    await eventually(() => uploads().length === 0, 'an empty folder');
  });
});
