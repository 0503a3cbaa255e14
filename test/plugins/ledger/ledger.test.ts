/** The plugin: one list of what left, its operations and its health, at every level of isolation. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Departure, ledger } from '@device-core/plugin-api/inside/services/ledger';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { Departures } from '../../../plugins/state/ledger/departures.ts';
import { plugin } from '../../../plugins/state/ledger/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/state/ledger.yaml');
const TUNNEL: Departure = { part: 'egress', for: 'app.com.a', to: 'a.example:443', what: 'tunnel' };

async function start(config: object = {}) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, services: [[operations, table]] });
  return { host, table, book: host.service(ledger), folder: join(host.device.paths.var, 'ledger') };
}

describe('the ledger', () => {
  it('lists what left, newest first, by part and by sender, and sums it up', async () => {
    const { host, table, book } = await start();
    await using _host = host;
    const first = await book.write(TUNNEL);
    await book.write({ ...TUNNEL, for: 'app.com.b', bytes: 4 });
    await book.write({ part: 'voice', for: 'voice', to: 'cloud', what: 'audio', bytes: 640, details: { turn: 't' } });
    await book.count(first, 3);
    await book.count(first, 2);
    const all = await book.list({ limit: 10 });
    assert.deepEqual(all.map((one) => `${one.part} ${one.for} ${one.bytes}`).sort(), [
      'egress app.com.a 5',
      'egress app.com.b 4',
      'voice voice 640',
    ]);
    assert.equal((await book.list({ limit: 2 })).length, 2);
    const { departures } = (await table.run('ledger.list', { part: 'egress', for: 'app.com.a' })) as {
      departures: { id: string }[];
    };
    assert.deepEqual(
      departures.map(({ id }) => id),
      [first],
    );
    assert.deepEqual(await table.run('ledger.list', { part: 'nobody' }), { departures: [] });
    const { sums } = (await table.run('ledger.sums', {})) as { readonly sums: readonly object[] };
    assert.equal(sums.length, 3);
    assert.ok(
      sums.some((sum) => isDeepStrictEqual(sum, { for: 'app.com.a', to: 'a.example:443', count: 1, bytes: 5 })),
    );
  });

  it('writes what went since within the time that it was given, and at its end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dc-ledger-'));
    after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'egress.jsonl');
    const clock = virtualClock();
    const { scope, log, ...rest } = part(clock);
    const book = new Departures({ scope, log, folder, keep: 10, flushMs: 1_000, former: {} });
    const id = await book.write(TUNNEL);
    await book.count(id, 7);
    assert.ok(!readFileSync(file, 'utf8').includes(`"of":"${id}"`));
    await clock.advance(1_000);
    await eventually(() => readFileSync(file, 'utf8').includes(`{"of":"${id}","bytes":7}`), 'the bytes on the disk');
    await book.count(id, 2);
    await rest[Symbol.asyncDispose]();
    assert.ok(readFileSync(file, 'utf8').includes(`{"of":"${id}","bytes":9}`));
  });

  it('has an entry on the disk when it says so', async () => {
    const { host, book, folder } = await start();
    await using _host = host;
    const id = await book.write(TUNNEL);
    assert.ok(readFileSync(join(folder, 'egress.jsonl'), 'utf8').includes(id));
  });

  const refused: readonly (readonly [title: string, change: object])[] = [
    ['a part that is a path', { part: '../x' }],
    ['no receiver', { to: '' }],
    ['a sender without an end', { for: 'x'.repeat(2_000) }],
    ['bytes that are no count', { bytes: -1 }],
    ['details without an end', { details: { text: 'x'.repeat(3_000) } }],
  ];
  for (const [title, change] of refused)
    it(`refuses ${title}`, async () => {
      const { host, book } = await start();
      await using _host = host;
      await assert.rejects(book.write({ ...TUNNEL, ...change }), { code: 'PARAMS_INVALID' });
      assert.deepEqual(await book.list({ limit: 9 }), []);
    });

  it('refuses more parts than people think of', async () => {
    const { host, book } = await start();
    await using _host = host;
    for (let part = 0; part < 15; part++) await book.write({ ...TUNNEL, part: `part-${part}` });
    await assert.rejects(book.write({ ...TUNNEL, part: 'another' }), { code: 'PARAMS_INVALID' });
    await book.write({ ...TUNNEL, part: 'voice' });
  });

  it('says in the health and in the log that a file was damaged', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dc-ledger-'));
    after(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'egress.jsonl'));
    writeFileSync(join(folder, 'voice.jsonl'), 'garbage\n');
    await using rest = part();
    const { scope, log, logged } = rest;
    const book = new Departures({ scope, log, folder, keep: 10, flushMs: 1_000, former: {} });
    await book.load();
    const warned: string[] = [];
    await book.tell({
      add: () => assert.fail(),
      bridge: () => assert.fail(),
      warn: (code, message) => warned.push(`${code} ${message}`),
    });
    assert.match(warned.join(), /^STATE_CORRUPT .*egress\.jsonl.*it is a folder.*set aside/);
    assert.deepEqual(logged.map(({ message }) => message).sort(), [
      warned[0]!.slice('STATE_CORRUPT '.length),
      'lines of the ledger were broken, and left out',
    ]);
  });
});
