import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { GuestLog } from '../../../plugins/apps/supervisor-process/guest-log.ts';

type OutputStream = 'stdout' | 'stderr';

const folder = mkdtempSync(join(tmpdir(), 'al-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

const NOW = 1_700_000_000_000;

interface Printed {
  readonly level: string;
  readonly time: number;
  readonly msg: string;
  readonly fields?: object;
}

async function written(
  pieces: readonly string[],
  { secrets = [], stream = 'stdout' }: { readonly secrets?: readonly string[]; readonly stream?: OutputStream } = {},
) {
  const file = join(folder, `${Math.random()}.log`);
  const log = new GuestLog({
    file,
    limit: 1 << 20,
    clock: virtualClock({ now: NOW }),
    onError: (thrown) => assert.fail(String(thrown)),
  });
  for (const secret of secrets) log.conceal(secret);
  await log.follow(
    (async function* () {
      yield* pieces;
    })(),
    stream,
    'demo.1',
  );
  const text = readFileSync(file, 'utf8');
  const lines: readonly Printed[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { text, lines, tail: (await log.lines(80)).map((line) => line.text) };
}

describe('the log of an app', () => {
  it('holds what it printed line by line, with time and level, in pieces as they come', async () => {
    const { lines, tail } = await written(['one\ntw', 'o\n\nthree']);
    const line = { level: 'info', time: NOW };
    assert.deepEqual(lines, [
      { ...line, msg: 'one' },
      { ...line, msg: 'two' },
      { ...line, msg: 'three' },
    ]);
    assert.deepEqual(tail, ['one', 'two', 'three']);
  });

  const LINES: readonly (readonly [what: string, stream: OutputStream, line: string, entry: object])[] = [
    ['stderr is a warning', 'stderr', 'it smells', { level: 'warn', msg: 'it smells' }],
    ['a level of its own', 'stdout', '{"level":"error","msg":"burnt"}', { level: 'error', msg: 'burnt' }],
    ['a number of pino', 'stderr', '{"level":30,"msg":"fine","time":1}', { level: 'info', msg: 'fine' }],
    [
      'what else it says',
      'stdout',
      '{"level":"WARNING","message":"hot","oven":1,"ts":"now"}',
      { level: 'warn', msg: 'hot', fields: { oven: 1 } },
    ],
    ['JSON without a level', 'stdout', '{"msg":"x"}', { level: 'info', msg: '{"msg":"x"}' }],
    [
      'a level that is none',
      'stdout',
      '{"level":"loud","msg":"x"}',
      { level: 'info', msg: '{"level":"loud","msg":"x"}' },
    ],
    ['JSON that is none', 'stderr', '{"level":"info"', { level: 'warn', msg: '{"level":"info"' }],
  ];
  for (const [what, stream, line, entry] of LINES)
    it(`keeps ${what}`, async () => {
      const { lines } = await written([`${line}\n`], { stream });
      assert.deepEqual(lines, [{ time: NOW, ...entry }]);
    });

  const SECRETS: readonly (readonly [string, readonly string[]])[] = [
    ['a password', ['connecting with password=hunter2-hunter2\n']],
    ['a password in two pieces', ['connecting with pass', 'word=hunter2', '-hunter2\n']],
    ['a password in an address', ['mqtt://me:hunter2-hunter2@host/\n']],
    ['a password in JSON', ['{"password":"hunter2-hunter2"}\n']],
    ['a password in a line with a level', ['{"level":"info","msg":"in","password":"hunter2-hunter2"}\n']],
    ['the token of the launch', ['my token: hunter2-hunter2\n', 'x hunter2-', 'hunter2 y']],
  ];
  for (const [what, pieces] of SECRETS)
    it(`never shows ${what}`, async () => {
      const { text, tail } = await written(pieces, { secrets: ['hunter2-hunter2'] });
      assert.ok(!text.includes('hunter2'), text);
      assert.ok(!tail.join().includes('hunter2'), tail.join());
      assert.match(text, /\[redacted\]/);
    });

  it('writes a line without an end in pieces, and loses nothing of it', async () => {
    const { lines } = await written(Array.from({ length: 30 }, () => 'x'.repeat(1_000)));
    assert.equal(lines.map(({ msg }) => msg).join('').length, 30_000);
  });
});
