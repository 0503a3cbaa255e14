/** One app that asks without end beside everybody else. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import { FrameReader } from '../../../plugins/interface/rpc/frame-reader.ts';
import { type Message, operation, startRpc } from './fixture.ts';

after(leakCheck());

const SESSIONS = 3;
const REQUESTS = 1_600;
/** A share of each session, read as it came, and one of the session whose turn it was. */
const MOST_AT_ONCE = (SESSIONS + 1) * 32;

/** Counts how many requests run between two turns of the event loop. */
function counting() {
  const seen = { most: 0, all: 0, flood: 0 };
  let now = 0;
  const count = operation('flood.count', async ({ me }: { readonly me?: boolean }) => {
    if (now === 0)
      setImmediate(() => {
        now = 0;
      });
    seen.most = Math.max(seen.most, ++now);
    seen.all++;
    if (!me) seen.flood++;
    return { n: seen.flood };
  });
  return { seen, operations: [count] };
}

const one = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'flood.count', params: {} });
const ids = Array.from({ length: REQUESTS }, (_, id) => id + 1);
const batches = Array.from(
  { length: REQUESTS / 32 },
  (_, n) =>
    `[${ids
      .slice(n * 32, (n + 1) * 32)
      .map(one)
      .join()}]\n`,
);
/** Up to 800 in a line. */
const rows = [ids.slice(0, REQUESTS / 2), ids.slice(REQUESTS / 2)].map((half) => `${half.map(one).join('')}\n`);

/** It counts turns of the event loop in which the plugin runs, and that is this one only inline. */
const skip = process.env[ISOLATION_VARIABLE] ? 'another thread has another event loop' : false;

describe('fairness of app sockets', { skip }, () => {
  const floods: readonly (readonly [what: string, bytes: string])[] = [
    ['lines', ids.map((id) => `${one(id)}\n`).join('')],
    ['values without a newline', ids.map(one).join('')],
    ['values in one line', rows.join('')],
    ['batches', batches.join('')],
  ];
  for (const [what, bytes] of floods)
    it(`reads a flood of ${what} by small shares, and answers all of it`, async () => {
      const { seen, operations } = counting();
      await using core = await startRpc({ operations });
      const clients = await Promise.all(Array.from({ length: SESSIONS }, () => core.client()));
      await Promise.all(clients.map((client) => client.ready()));
      for (const client of clients) client.write(bytes);
      for (const client of clients) {
        const answered: number[] = [];
        while (answered.length < REQUESTS)
          for (const { id, result } of [await client.next()].flat() as Message[]) {
            assert.equal(typeof result.n, 'number');
            answered.push(id);
          }
        assert.deepEqual(
          answered.toSorted((a, b) => a - b),
          ids,
        );
      }
      assert.ok(seen.most <= MOST_AT_ONCE, `${seen.most} requests ran between two turns of the event loop`);
    });

  it('serves who asks once before the thousands of requests of other sessions', async () => {
    const { operations } = counting();
    await using core = await startRpc({ operations });
    const floods = await Promise.all(Array.from({ length: SESSIONS }, () => core.client()));
    await Promise.all(floods.map((client) => client.ready()));
    const innocent = await core.client();
    await innocent.ready();
    for (const client of floods) client.write(ids.map((id) => `${one(id)}\n`).join(''));
    await floods[0]!.next();
    const { result } = await innocent.request('flood.count', { me: true });
    assert.ok(
      result.n < (SESSIONS * REQUESTS) / 2,
      `${result.n} of ${SESSIONS * REQUESTS} requests of the flood came first`,
    );
  });

  it('answers all that an app asked before it closed its side', async () => {
    const { seen, operations } = counting();
    await using core = await startRpc({ operations });
    const client = await core.client();
    await client.ready();
    client.socket.end(
      ids
        .slice(0, 1_000)
        .map((id) => `${one(id)}\n`)
        .join(''),
    );
    const answered: number[] = [];
    for (let answer = await client.next(); answer; answer = await client.next()) answered.push(answer.id);
    assert.deepEqual(answered, ids.slice(0, 1_000));
    assert.equal(seen.all, 1_000);
  });

  it('reads rubbish by small shares, too', async () => {
    await using core = await startRpc();
    const client = await core.client();
    await client.ready();
    client.write('?\n'.repeat(2_000));
    for (let n = 0; n < 2_000; n++) assert.equal((await client.next()).error.code, -32700);
  });
});

it('a line with several values waits where the reader is paused', () => {
  const read: unknown[] = [];
  const told: string[] = [];
  const reader: FrameReader = new FrameReader(
    {
      message: (value, attachment) => {
        read.push(attachment ? [value, attachment.toString()] : value);
        reader.pause();
      },
      malformed: (error) => told.push(error.code),
      fatal: (error) => assert.fail(error),
    },
    { lineBytes: 1_000, attachmentBytes: 1_000 },
  );
  const last = [{ d: 4, bytes: 3 }, 'xyz'];
  const expected = [{ a: 1 }, { b: 2 }, { c: 3 }, last, { e: 5 }];
  reader.push(Buffer.from('{"a":1}{"b":2} {"c":3}{"d":4,"bytes":3}\nxyz{"e":5}{"f":6} ?\n{"g":7}{"h":8}\n'));
  for (let n = 1; n <= expected.length; n++) {
    assert.deepEqual(read, expected.slice(0, n));
    reader.resume();
  }
  assert.deepEqual([read.at(-1), told], [{ f: 6 }, []]);
  reader.resume();
  assert.deepEqual([read.at(-1), told], [{ g: 7 }, ['REQUEST_INVALID']]);
  reader.end();
  assert.deepEqual(read.at(-1), { h: 8 });
});
