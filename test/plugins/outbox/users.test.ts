/** A plugin that uses the outbox from wherever it runs; and many destinations, names and puts. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { outbox, type QueueState } from '@device-core/plugin-api/inside/services/outbox';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, LEVELS, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { Outboxes } from '../../../plugins/state/outbox/outboxes.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { plugin } from '../../fixtures/plugins/courier/index.ts';
import { FULL } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';
import { BookKeeper, DESTINATION, message, Receiver, start, temporaryFolder } from './fixture.ts';

after(leakCheck());

const MANIFEST = join(import.meta.dirname, '../../fixtures/plugins/courier/plugin.yaml');
const USUAL = { bytes: 1_000_000, messages: 1_000, ageMs: 86_400_000, batch: 50 };

for (const isolation of LEVELS)
  describe(`a plugin that runs ${isolation}`, () => {
    it('puts, sends, is told to give up, and closes its queue with its end', async () => {
      using folder = temporaryFolder();
      await using rest = part();
      const { scope, log } = rest;
      const outboxes = new Outboxes({ scope, log, folder: folder.path, usual: USUAL, sendMs: 60_000, most: 4 });
      const [, ledger] = new BookKeeper().service;
      outboxes.useLedger(ledger as never, scope);
      const table = new TestOperations();
      const view = outboxes.view({ plugin: 'courier' });
      {
        await using host = await createTestHost(plugin, {
          manifest: MANIFEST,
          isolation,
          services: [
            [operations, table],
            [outbox, view],
          ],
        });
        assert.equal(host.isolation, isolation);
        const state = async () => (await table.run('courier.state', {})) as { seen: string[]; queue: QueueState };
        const next = (what: string) => table.run('courier.next', { next: what });
        const { ids } = (await table.run('courier.put', { bodies: ['a', 'b'] })) as { ids: string[] };
        assert.equal(ids.length, 2);
        await eventually(async () => (await state()).queue.sent === 2, 'both taken');
        for (const [what, reason] of [
          ['throws', /fell over/],
          ['rubbish', /no outcome/],
        ] as const) {
          await next(what);
          await table.run('courier.put', { bodies: [what] });
          await eventually(async () => reason.test((await state()).queue.trouble?.reason ?? ''), what);
          await table.run('courier.clear', {});
        }
        await next('hangs');
        await table.run('courier.put', { bodies: ['hanging'] });
        await eventually(async () => (await state()).seen.includes('hanging'), 'a call of send');
        assert.deepEqual(await table.run('courier.clear', {}), { cleared: 1 });
        await eventually(async () => (await state()).seen.includes('given up'), 'the signal on the other side');
        assert.equal((await state()).queue.waiting, 0);
        assert.equal(outboxes.states().length, 1);
      }
      await eventually(() => outboxes.states().length === 0, 'a closed queue');
    });
  });

describe('destinations', () => {
  const refused: readonly (readonly [title: string, change: object])[] = [
    ['a path as its name', { id: '../ledger' }],
    ['two dots as its name', { id: '..' }],
    ['a name with a slash', { id: 'a/b' }],
    ['a name with a zero byte', { id: 'a\0b' }],
    ['a name without end', { id: 'a'.repeat(10_000) }],
    ['no name', { id: '' }],
    ['a part that is a path', { part: '../x' }],
    ['no receiver', { to: '' }],
    ['another durability', { durability: 'eternal' }],
    ['no message at a time', { batch: 0 }],
    ['half a message', { limits: { messages: 1.5 } }],
    ['all of the disk', { limits: { bytes: Number.MAX_SAFE_INTEGER } }],
    ['an age without end', { limits: { ageMs: Number.POSITIVE_INFINITY } }],
  ];
  it('with these are refused, and leave nothing', async () => {
    const { host, service } = await start();
    await using _host = host;
    for (const [title, change] of refused)
      await assert.rejects(
        service.open({ ...DESTINATION, ...change } as never, new Receiver().send),
        { code: 'PARAMS_INVALID' },
        title,
      );
    await assert.rejects(service.open(DESTINATION, undefined as never), { code: 'PARAMS_INVALID' });
    assert.deepEqual(await service.list(), []);
  });

  it('belong to one plugin each, and there is an end of them', async () => {
    const { host, as, folder } = await start({ config: { destinations: 3 } });
    await using _host = host;
    const open = (plugin: string, id: string) => as(plugin).open({ ...DESTINATION, id }, new Receiver().send);
    const one = await open('one', 'a');
    await assert.rejects(open('two', 'a'), { code: 'PARAMS_INVALID', message: /plugin one has destination a/ });
    await open('two', 'b');
    const third = await open('two', 'c');
    await assert.rejects(open('two', 'd'), { code: 'PARAMS_INVALID', message: /there are 3 destinations already/ });
    await third[Symbol.asyncDispose]();
    await assert.rejects(open('two', 'd'), { code: 'PARAMS_INVALID' }, 'what it kept is still there');
    await one[Symbol.asyncDispose]();
    await assert.rejects(
      open('two', 'a'),
      { code: 'PARAMS_INVALID', message: /plugin one has destination a/ },
      'what waits in it is not for others, open or not',
    );
    await open('one', 'a');
    await open('two', 'c');
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.sqlite')),
      ['a.sqlite', 'b.sqlite', 'c.sqlite'],
    );
  });

  it('keep waiting messages from a receiver that is named later, and their owner over a clear()', async () => {
    const { host, as } = await start();
    await using _host = host;
    const away = new Receiver();
    away.away = true;
    const former = await as('one').open(DESTINATION, away.send);
    await former.clear();
    await former.put(message('for the former'));
    await former[Symbol.asyncDispose]();
    await assert.rejects(as('two').open(DESTINATION, away.send), { code: 'PARAMS_INVALID' });
    const receiver = new Receiver();
    const queue = await as('one').open({ ...DESTINATION, to: 'other.example:443' }, receiver.send);
    assert.equal((await queue.state()).lost, 1);
    await queue.put(message('for the other'));
    await eventually(async () => (await queue.state()).sent === 1, 'what is for it');
    assert.deepEqual(receiver.bodies, ['for the other']);
  });

  it('end with their plugin, whether or not it closes them', async () => {
    const { host, as } = await start();
    await using _host = host;
    await as('one').open(DESTINATION, new Receiver().send);
    host.publish('plugin.state', { plugin: 'one', state: 'stopped' });
    await eventually(async () => (await as('two').list()).length === 0, 'a closed queue');
  });
});

describe('messages', () => {
  const refused: readonly (readonly [title: string, change: object])[] = [
    ['another priority', { priority: 'urgent' }],
    ['a priority of every object', { priority: 'toString' }],
    ['no kind', { what: '' }],
    ['the kind of receipts', { what: 'loss' }],
    ['a body that is no text', { body: { a: 1 } }],
    ['a body of more than 1 MiB', { body: 'x'.repeat(1024 * 1024 + 1) }],
    ['a key without end', { key: 'x'.repeat(1_000) }],
  ];
  it('with these are refused', async () => {
    const { host, service } = await start();
    await using _host = host;
    const queue = await service.open(DESTINATION, new Receiver().send);
    for (const [title, change] of refused)
      await assert.rejects(queue.put(message('a', change)), { code: 'PARAMS_INVALID' }, title);
    await assert.rejects(queue.putAll(Array.from({ length: 1_001 }, () => message('a'))), { code: 'PARAMS_INVALID' });
    assert.deepEqual(await queue.putAll([]), []);
    assert.equal((await queue.state()).waiting, 0);
  });

  it('come out as they went in, with any text', async () => {
    const { host, service } = await start();
    await using _host = host;
    const receiver = new Receiver();
    const queue = await service.open(DESTINATION, receiver.send);
    const texts = ['', '\0', '"}\n', "'; DROP TABLE message; --", '\u{1f600} \u202e', 'x'.repeat(1_000_000)];
    await queue.putAll(texts.map((text) => message(text)));
    await eventually(async () => (await queue.state()).waiting === 0, 'all taken');
    assert.deepEqual(receiver.bodies, texts);
  });

  it('of one plugin that never stops are bounded, and the event loop is for others in between', async () => {
    const { host, service } = await start({ config: { messages: 5_000 } });
    await using _host = host;
    const receiver = new Receiver();
    receiver.away = true;
    const queue = await service.open(DESTINATION, receiver.send);
    let turnsOfOthers = 0;
    let watching = true;
    const watch = (): void => {
      turnsOfOthers += 1;
      if (watching) setImmediate(watch);
    };
    const codes = new Map<string, number>();
    const note = (code: string) => void codes.set(code, (codes.get(code) ?? 0) + 1);
    const count = FULL ? 100_000 : 25_000;
    const puts = Array.from({ length: count }, (_, index) =>
      queue.put(message(`${index}`)).then(
        () => note('kept'),
        (error) => note(error.code),
      ),
    );
    watch();
    await Promise.all(puts);
    watching = false;
    assert.equal(
      [...codes.values()].reduce((sum, one) => sum + one),
      count,
    );
    assert.deepEqual([...codes.keys()].sort(), ['OUTBOX_FULL', 'kept']);
    const { waiting, lost } = await queue.state();
    assert.equal(waiting, 5_001, 'with the receipt');
    assert.equal(lost, codes.get('kept')! - 5_000);
    // At most 256 messages are written in one turn.
    const kept = codes.get('kept')!;
    assert.ok(turnsOfOthers >= kept / 256, `${turnsOfOthers} turns for ${kept} messages`);
  });
});
