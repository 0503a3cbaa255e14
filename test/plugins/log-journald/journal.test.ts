import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { openLog } from '../../../kernel/boot/log.ts';
import { journalEntry, messageId } from '../../../plugins/state/log-journald/entry.ts';
import { plugin } from '../../../plugins/state/log-journald/index.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { entryOf, listen, membersOf } from './receiver.ts';

after(leakCheck());

const MANIFEST = fileURLToPath(new URL('../../../manifests/plugins/state/log-journald.yaml', import.meta.url));

async function start(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'dj-'));
  const clock = new VirtualClock();
  const socket = join(folder, 'journal');
  const file = join(folder, 'core.log');
  const { log, control } = openLog({ to: file, level: 'info', stderr: false });
  const receiver = { now: listen(socket) };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { socket },
    clock,
    services: [[logControl, control]],
  });
  context.after(async () => {
    await host.stop();
    assert.deepEqual(host.leaks(), []);
    receiver.now[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });
  const written = () => {
    try {
      return readFileSync(file, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  const health = async () => {
    const warnings: string[] = [];
    const report: HealthReport = {
      add: () => undefined,
      bridge: () => undefined,
      warn: (code) => warnings.push(code),
    };
    await host.hook('health.collect').promise(report);
    return warnings;
  };
  return { log, host, clock, socket, receiver, written, health, control };
}

describe('the journal', () => {
  test('gets each line with its fields, and the file gets none', async (context) => {
    const { log, receiver, written, health } = await start(context);
    const spi = log.child({ plugin: 'spi' });
    spi.warn({ code: 'BUSY', trace: 'ab'.repeat(16), left: 3 }, 'the bus is busy');
    spi.debug({}, 'not wanted');
    log.error({ err: new Error('no such pin'), app: 'com.example.tea' }, 'failed');
    const [first, second, ...more] = receiver.now.take().map(entryOf);
    assert.deepEqual(more, []);
    const { CORE_TIME, ...members } = first!;
    assert.ok(Math.abs(Number(CORE_TIME) - Date.now()) < 60_000);
    assert.deepEqual(members, {
      MESSAGE: 'the bus is busy',
      PRIORITY: '4',
      SYSLOG_IDENTIFIER: 'device-core',
      CORE_PLUGIN: 'spi',
      CORE_TRACE: 'ab'.repeat(16),
      MESSAGE_ID: messageId('BUSY'),
      CORE_CODE: 'BUSY',
      CORE_FIELDS: '{"code":"BUSY","left":3}',
    });
    assert.deepEqual(
      [second!.MESSAGE, second!.PRIORITY, second!.CORE_APP, second!.CORE_PLUGIN],
      ['failed: no such pin', '3', 'com.example.tea', undefined],
    );
    assert.match(messageId('BUSY'), /^[0-9a-f]{32}$/);
    assert.deepEqual([written(), await health()], [[], []]);
  });

  test('a text forges no member and no entry with any content', async (context) => {
    const { log, receiver } = await start(context);
    const forged = 'dry\nPRIORITY=0\n_UID=0\nMESSAGE\n\u0005\u0000\u0000\u0000\u0000\u0000\u0000\u0000x\n\n';
    log.child({ plugin: forged }).warn({ app: forged, code: forged, [forged]: '\ud800' }, forged);
    const [entry] = receiver.now.take().map(entryOf);
    assert.deepEqual([entry!.MESSAGE, entry!.PRIORITY, entry!._UID], [forged, '4', undefined]);
    assert.equal(entry!.CORE_PLUGIN, forged);
  });

  test('every line becomes an entry that can be read and that fits into a datagram', () => {
    const text = fc.string({ unit: ANY_CHARACTER, maxLength: 200 });
    fc.assert(
      fc.property(fc.oneof(text, fc.json()), text, fc.integer({ min: 0, max: 100 }), (line, msg, level) => {
        for (const one of [line, JSON.stringify({ msg, plugin: msg, err: { message: line } })]) {
          const datagram = journalEntry(one, level, 'x');
          const names = membersOf(datagram).map(([name]) => name);
          assert.equal(new Set(names).size, names.length);
          assert.ok(datagram.length < 64 << 10);
        }
      }),
    );
    const big = JSON.stringify({ msg: 'ä'.repeat(1 << 20), plugin: 'p'.repeat(1 << 20), more: 'x'.repeat(1 << 20) });
    const entry = journalEntry(big, 30, 'x');
    assert.ok(entry.length < 64 << 10, `${entry.length} bytes`);
    assert.equal(entryOf(entry).CORE_CUT, String(Buffer.byteLength(big)));
  });

  test('a sleeping journal delays no line: lines without room are lost, counted and reported', async (context) => {
    const { log, receiver, written, health } = await start(context);
    const began = performance.now();
    for (let n = 0; n < 2_000; n++) log.info({ n, more: 'x'.repeat(1_000) }, 'flood');
    assert.ok(performance.now() - began < 5_000);
    const taken = receiver.now.take().length;
    assert.ok(taken > 0 && taken < 2_000, `${taken} of 2000`);
    assert.deepEqual(await health(), ['JOURNAL_FULL']);
    log.info({}, 'awake');
    const entries = receiver.now.take().map(entryOf);
    assert.deepEqual(
      entries.map(({ MESSAGE }) => MESSAGE),
      [`${2_000 - taken} lines of the log were lost: the journal had no room`, 'awake'],
    );
    assert.deepEqual([await health(), written()], [[], []]);
  });

  test('while there is none the file takes the lines, until it comes back', async (context) => {
    const { log, receiver, written, health, socket, clock } = await start(context);
    log.info({}, 'one');
    receiver.now[Symbol.dispose]();
    log.info({}, 'two');
    log.info({}, 'three');
    assert.deepEqual(
      written().map((line) => JSON.parse(line).msg),
      ['two', 'three'],
    );
    assert.deepEqual(await health(), ['JOURNAL_GONE']);
    receiver.now = listen(socket);
    await clock.advance(1_000);
    log.info({}, 'four');
    assert.deepEqual(
      receiver.now.take().map((datagram) => entryOf(datagram).MESSAGE),
      ['four'],
    );
    assert.deepEqual([written().length, await health()], [2, []]);
  });

  test('when the plugin stops the file takes the lines again', async (context) => {
    const { log, host, receiver, written, control } = await start(context);
    await host.stop();
    log.info({}, 'after');
    assert.deepEqual([receiver.now.take().length, written().length, control.target], [0, 1, undefined]);
  });

  test('a line that only the flight recorder takes is not sent', async (context) => {
    const { log, receiver, control } = await start(context);
    using _recorder = await control.record({ lines: 10, bytes: 10_000, perSecond: 10 });
    log.debug({}, 'for the recorder');
    assert.deepEqual(receiver.now.take(), []);
    assert.equal(control.ring!.read().length, 1);
  });
});
