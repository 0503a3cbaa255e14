import assert from 'node:assert/strict';
import { readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { implies } from '@device-core/plugin-api';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { leakCheck } from '@device-core/plugin-api/testing';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { line, startLogs } from './fixture.ts';

after(leakCheck());

const messages = ({ entries }: { entries: readonly { message: string }[] }) => entries.map(({ message }) => message);

describe('GET /logs', () => {
  it('answers with the newest lines, oldest of them first, and says when there are more', async () => {
    await using logs = await startLogs();
    logs.write('core.log', ...Array.from({ length: 500 }, (_, i) => line(i, `line ${i}`, { plugin: 'x', n: i })));
    const answer = await logs.read({ limit: 3 });
    assert.deepEqual(messages(answer), ['line 497', 'line 498', 'line 499']);
    assert.equal(answer.more, true);
    assert.deepEqual(answer.entries[2], {
      ts: 499,
      level: 'info',
      plugin: 'x',
      message: 'line 499',
      fields: { n: 499 },
    });
    assert.equal((await logs.read({ limit: 500 })).more, false);
  });

  it('selects by plugin, least level and time', async () => {
    await using logs = await startLogs();
    logs.write(
      'core.log',
      line(1, 'a', { plugin: 'x' }),
      line(2, 'b', { plugin: 'y', level: 40 }),
      line(3, 'c', { plugin: 'x', level: 50 }),
      line(4, 'd', { level: 60 }),
    );
    const CASES: readonly (readonly [object, readonly string[]])[] = [
      [{ plugin: 'x' }, ['a', 'c']],
      [{ level: 'warn' }, ['b', 'c', 'd']],
      [{ level: 'fatal' }, ['d']],
      [{ since: 3 }, ['c', 'd']],
      [{ plugin: 'x', level: 'error', since: 2 }, ['c']],
      [{ plugin: 'nobody' }, []],
    ];
    for (const [params, expected] of CASES) assert.deepEqual(messages(await logs.read(params)), expected);
  });

  it('goes on in the file that was put aside, and reads no more bytes than it may', async () => {
    await using logs = await startLogs({ scanBytes: 65_536 });
    logs.write('core.log', line(1, 'old'));
    renameSync(logs.core, `${logs.core}.1`);
    logs.write('core.log', line(2, 'new'));
    assert.deepEqual(messages(await logs.read()), ['old', 'new']);
    logs.write('core.log', ...Array.from({ length: 2000 }, (_, i) => line(i, `line ${i}`.padEnd(60))));
    const answer = await logs.read({ limit: 1000, plugin: 'nobody' });
    assert.deepEqual([answer.entries.length, answer.more], [0, true]);
  });

  it('goes on in files that are packed, from the newest on, and passes over one that is damaged', async () => {
    await using logs = await startLogs();
    const pack = (number: number, ...lines: readonly object[]) =>
      writeFileSync(
        logs.core.replace('.log', `.${number}.zst`),
        zstdCompressSync(Buffer.from(lines.map((one) => `${JSON.stringify(one)}\n`).join(''))),
      );
    logs.write('core.log', line(9, 'i'));
    logs.write('core.12.log', line(7, 'g'), line(8, 'h'));
    pack(11, line(5, 'e'), line(6, 'f'));
    pack(9, line(3, 'c'), line(4, 'd'));
    pack(2, line(2, 'b'));
    logs.write('core.log.1', line(1, 'a'));
    assert.deepEqual(messages(await logs.read()), [...'abcdefghi']);
    assert.deepEqual(messages(await logs.read({ limit: 4 })), [...'fghi']);
    const packed = readFileSync(logs.core.replace('.log', '.9.zst'));
    writeFileSync(logs.core.replace('.log', '.9.zst'), packed.subarray(0, 10));
    writeFileSync(logs.core.replace('.log', '.2.zst'), 'no zstd at all');
    assert.deepEqual(messages(await logs.read()), [...'aefghi']);
  });

  it('unpacks no more than the budget holds', async () => {
    await using logs = await startLogs({ scanBytes: 65_536 });
    const lines = Array.from({ length: 5_000 }, (_, i) => `${JSON.stringify(line(i, `line ${i}`.padEnd(60)))}\n`);
    logs.write('core.log', line(5_000, 'last'));
    writeFileSync(logs.core.replace('.log', '.1.zst'), zstdCompressSync(Buffer.from(lines.join(''))));
    const { entries, more } = await logs.read({ limit: 1_000 });
    assert.equal(more, true);
    const numbers = entries.slice(0, -1).map(({ ts }: { ts: number }) => ts);
    assert.ok(numbers.length > 400, `${numbers.length} lines`);
    assert.deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_, i) => 5_000 - numbers.length + i),
    );
  });

  it('selects by a text and by an expression', async () => {
    await using logs = await startLogs();
    logs.write(
      'core.log',
      line(1, 'a kettle', { plugin: 'tea' }),
      line(2, 'b', { pot: 'Kettle' }),
      line(3, 'c 250 ms'),
    );
    const CASES: readonly (readonly [string, readonly string[]])[] = [
      ['kettle', ['a kettle']],
      ['/kettle/i', ['a kettle', 'b']],
      ['/\\d+ ms$/', ['c 250 ms']],
      ['/^tea /', ['a kettle']],
      ['nothing', []],
    ];
    for (const [grep, expected] of CASES) assert.deepEqual(messages(await logs.read({ grep })), expected, grep);
    assert.equal(await codeOf(logs.read({ grep: '/(a/' })), 'PARAMS_INVALID');
  });

  it('finds what came after a clock was set back', async () => {
    await using logs = await startLogs();
    logs.write(
      'core.log',
      line(1_000, 'before'),
      line(2_000, 'ahead'),
      line(5, 'set back'),
      line(1_500, 'right again'),
    );
    assert.deepEqual(messages(await logs.read({ since: 1_000 })), ['before', 'ahead', 'right again']);
  });

  it('bounds an answer by its bytes', async () => {
    await using logs = await startLogs({ answerBytes: 4096 });
    logs.write('core.log', ...Array.from({ length: 50 }, (_, i) => line(i, 'x'.repeat(1000))));
    const answer = await logs.read();
    assert.deepEqual([answer.entries.length, answer.more], [3, true]);
  });

  it('reads lines longer than a block, text of more than one byte a character, and lines that were cut', async () => {
    await using logs = await startLogs();
    const long = 'ä'.repeat(100_000);
    logs.write('core.log', line(1, 'first'), line(2, long), line(3, 'last'), '{"level":30,"ti');
    const answer = await logs.read();
    assert.deepEqual(
      answer.entries.map(({ message }: { message: string }) => message.slice(0, 5)),
      ['first', 'äääää', 'last', '{"lev'],
    );
    assert.ok(answer.entries[1].message.length < 10_000);
  });

  it('is empty where nothing was written', async () => {
    await using logs = await startLogs();
    assert.deepEqual(await logs.read(), { entries: [], more: false });
    logs.write('core.log');
    truncateSync(logs.core);
    assert.deepEqual(await logs.read(), { entries: [], more: false });
  });

  it('reads the log of an app by its name or its id, and nothing beside', async () => {
    await using logs = await startLogs();
    logs.write(
      'apps/agenda.log',
      { level: 'warn', time: 5, msg: 'late' },
      'printed: Bearer abcdefghijkl',
      '{"odd": tr',
    );
    const byName = await logs.read({ app: 'agenda' });
    assert.deepEqual(byName.entries, [
      { ts: 5, level: 'warn', app: 'agenda', message: 'late' },
      { level: 'info', app: 'agenda', message: 'printed: Bearer [redacted]' },
      { level: 'info', app: 'agenda', message: '{"odd": tr' },
    ]);
    for (const wrong of ['../core', 'com.example.agenda', '/etc/passwd', ''])
      assert.equal(await codeOf(logs.read({ app: wrong })), 'APP_NOT_FOUND', wrong);
    const list = async () => [{ id: 'com.example.agenda', name: 'agenda' }] as never;
    await logs.host.appear(apps, { list } as unknown as Apps);
    assert.equal((await logs.read({ app: 'com.example.agenda' })).entries.length, 3);
  });

  it('is for holders of system.logs, and allows no change', async () => {
    await using logs = await startLogs();
    const changing = ['logs.setLevel', 'logs.dump'];
    for (const { name, capability = '' } of await logs.table.list()) {
      assert.equal(capability, changing.includes(name) ? 'system.log-levels' : 'system.logs', name);
      assert.equal(implies('system.logs', capability), !changing.includes(name), name);
    }
  });
});
