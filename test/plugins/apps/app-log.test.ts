import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { hideOutput } from '../../../plugins/apps/shared/hide-output.ts';
import { GuestLog } from '../../../plugins/apps/supervisor-process/guest-log.ts';
import { TextScan } from '../../../plugins/state/secrets/scan/text-scan.ts';
import { eventually } from '../../fixtures/eventually.ts';

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
  {
    secrets = [],
    stream = 'stdout',
    hide,
    rate,
  }: {
    readonly rate?: number;
    readonly secrets?: readonly string[];
    readonly stream?: OutputStream;
    readonly hide?: (texts: readonly string[]) => Promise<readonly string[]>;
  } = {},
) {
  const file = join(folder, `${Math.random()}.log`);
  const log = new GuestLog({
    file,
    limit: 1 << 20,
    clock: virtualClock({ now: NOW }),
    onError: (thrown) => assert.fail(String(thrown)),
    ...(hide && { hide }),
  });
  for (const secret of secrets) log.conceal(secret);
  if (rate !== undefined) log.limit(rate);
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
  it('has none of the secrets that the device keeps, also of lines that are JSON, and writes none where secrets cannot be looked up', async () => {
    const scan = new TextScan();
    scan.add('app.x/token', 'correct "horse" battery');
    const hide = async (texts: readonly string[]) => texts.map((text) => scan.text(text));
    const json = JSON.stringify({
      level: 'error',
      msg: 'with correct "horse" battery',
      a: ['correct "horse" battery'],
    });
    const { text, lines } = await written(['it is correct "horse"', ` battery\n${json}\n`], { hide });
    assert.deepEqual(
      lines.map(({ level, msg, fields }) => [level, msg, fields]),
      [
        ['info', 'it is [secret app.x/token]', undefined],
        ['error', 'with [secret app.x/token]', { a: ['[secret app.x/token]'] }],
      ],
    );
    assert.ok(!text.includes('horse'));
    const fails = () => Promise.reject(new Error('gone'));
    const blind = await written(['one\n', 'two\n'], { hide: fails });
    assert.deepEqual(blind.tail, Array(2).fill('[withheld: 1 lines, secrets could not be looked for in them]'));
    assert.ok(!blind.text.includes('one'));
  });

  it('is withheld with a warning in the health while the scan for secrets fails', async () => {
    const failing = { hide: () => Promise.reject(new Error('gone')) };
    const host = {
      id: 'supervisor',
      when: (_: unknown, start: (...all: unknown[]) => void) => start(failing, { defer: () => undefined }),
    };
    const output = hideOutput(host as unknown as Parameters<typeof hideOutput>[0]);
    const codes = () => {
      const said: string[] = [];
      output.tell({ add: () => undefined, bridge: () => undefined, warn: (code) => void said.push(code) });
      return said;
    };
    assert.deepEqual(codes(), []);
    const { text } = await written(['one\n'], { hide: output.hide });
    assert.ok(!text.includes('one'));
    assert.deepEqual(codes(), ['OUTPUT_WITHHELD']);
  });

  it('has no secret that stands across a cut, between lines and in a line without an end', async () => {
    const scan = new TextScan();
    const secret = 'CNRY-7f3a9d81c2-CNRY-0123456789';
    scan.add('app.x/token', secret);
    const hide = async (texts: readonly string[]) => texts.map((text) => scan.text(text));
    for (const sign of ['.', '\n'])
      for (const size of [8_192, 32_768, 49_152, 65_536]) {
        const before = `${'.'.repeat(99)}${sign}`.repeat(size / 100 + 1).slice(0, size - 15);
        const pieces = [`${before}${secret.slice(0, 15)}`, `${secret.slice(15)}${'.'.repeat(70_000)}\n`];
        const { text } = await written(pieces, { hide });
        assert.ok(!text.includes(secret.slice(0, 12)) && !text.includes(secret.slice(-12)), `${sign} ${size}`);
        const whole = (await written([pieces.join('')], { hide })).text;
        assert.ok(!whole.includes(secret.slice(0, 12)) && !whole.includes(secret.slice(-12)), `${sign} ${size}`);
      }
  });

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
    [
      'a key in PEM over two reads',
      ['-----BEGIN PRIVATE KEY-----\nhunter2abc\n', 'hunter2def\n-----END PRIVATE KEY-----\nnext\n'],
    ],
    ['a block of YAML over two reads', ['password: |\n', '  hunter2abc\n  hunter2def\n', '  hunter2ghi']],
    ['a quote over two reads', ['token="first\n', 'hunter2abc\n', 'hunter2def"\n']],
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

  it('of lines without end takes what the budget of bytes allows, empty ones as well, and says in one line what it dropped', async () => {
    const flood = Array.from({ length: 40 }, () => 'x\n'.repeat(1_000));
    const { lines } = await written([...flood, 'last\n'], { rate: 16 });
    // 16 KiB a second, of 16 seconds at once, and each line counts as 64 bytes more.
    const kept = lines.filter(({ msg }) => msg === 'x').length;
    assert.ok(kept >= 3_000 && kept <= 5_000, `${kept} lines`);
    const told = lines.filter(({ msg }) => /were dropped here/.test(msg));
    assert.equal(told.length, 1);
    assert.match(told[0]!.msg, new RegExp(`^${40_001 - kept} lines `));
  });

  it('shows no key in the last words of what it dropped, wherever those begin', async () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'hunter2abc\n'.repeat(60)}-----END PRIVATE KEY-----\n`;
    for (const behind of [0, 3_700, 4_060]) {
      const flood = Array.from({ length: 40 }, () => 'x\n'.repeat(1_000));
      const dropped = `${'x\n'.repeat(9_000)}${key}${'y'.repeat(behind)}\n`;
      const { text, tail } = await written([...flood, dropped], { rate: 16 });
      assert.ok(!text.includes('hunter2') && !tail.join().includes('hunter2'), tail.join());
    }
  });

  it('is read on after a pause where it was dropped, and at once where it was not', async () => {
    let pulled = 0;
    const pauses: number[] = [];
    const log = new GuestLog({
      file: join(folder, 'paced.log'),
      limit: 1 << 20,
      clock: virtualClock({ now: NOW }),
      onError: (thrown) => assert.fail(String(thrown)),
      paced: async () => pauses.push(pulled),
    });
    log.limit(16);
    const flood = async function* () {
      for (; pulled < 10; ) {
        pulled++;
        yield 'x\n'.repeat(1_000);
      }
    };
    await log.follow(flood(), 'stdout', 'demo.1');
    // 16 KiB a second, of 16 seconds at once, let four pieces pass: each of their lines counts as 64 bytes more.
    assert.deepEqual(pauses, [5, 6, 7, 8, 9, 10]);
  });

  it('says what it dropped when nothing more comes, though the app runs on', async () => {
    const file = join(folder, 'silent.log');
    const clock = virtualClock({ now: NOW });
    const log = new GuestLog({ file, limit: 1 << 20, clock, onError: (thrown) => assert.fail(String(thrown)) });
    log.limit(16);
    const over = Promise.withResolvers<void>();
    const silent = Promise.withResolvers<void>();
    const followed = log.follow(
      (async function* () {
        yield* Array.from({ length: 40 }, () => 'x\n'.repeat(1_000));
        silent.resolve();
        await over.promise;
      })(),
      'stdout',
      'demo.1',
    );
    await silent.promise;
    const told = () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.includes('were dropped here'));
    await clock.advance(1_000);
    assert.equal(told().length, 0);
    await clock.advance(1_500);
    await eventually(() => told().length === 1, 'the line that says it');
    over.resolve();
    await followed;
    assert.equal(told().length, 1);
  });
});
