import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { LogFile } from '../../kernel/boot/log-file.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

const LIMITS = { fileBytes: 1_000, totalBytes: 5_000, days: 14, freeBytes: 0 };
const DAY = 86_400_000;
const START = Date.UTC(2026, 5, 1, 12);

function start(context: TestContext, limits: Partial<typeof LIMITS> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const time = { now: 0, date: START };
  const file = join(folder, 'core.log');
  const open = () => new LogFile(file, { ...LIMITS, ...limits }, { now: () => time.now, date: () => time.date });
  const later = (ms: number) => {
    time.now += ms;
    time.date += ms;
  };
  const names = () => readdirSync(folder).sort();
  return { folder, file, time, later, open, names, log: open() };
}

const line = (n: number, length = 90) => `${JSON.stringify({ n, msg: 'x'.repeat(length) })}\n`;

/** Every line of all files, the oldest first. */
function all(folder: string): number[] {
  const order = (name: string) => (name === 'core.log' ? Number.POSITIVE_INFINITY : Number(name.split('.')[1]));
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.part'))
    .sort((a, b) => order(a) - order(b))
    .map((name) => readFileSync(join(folder, name)))
    .map((bytes) => (bytes.readUInt32LE(0) === 0xfd2fb528 ? zstdDecompressSync(bytes) : bytes).toString())
    .flatMap((text) => text.split('\n').filter(Boolean))
    .map((text) => (JSON.parse(text) as { n: number }).n);
}

describe('the files of the log', () => {
  test('a target that is no file of a disk keeps its mode and its place, and delays no line', (context) => {
    const { log, later, file, folder, names } = start(context);
    execFileSync('mkfifo', ['-m', '666', file]);
    chmodSync(file, 0o666);
    log.write(line(0));
    assert.match(log.trouble?.reason ?? '', /ENXIO/, 'nobody reads the pipe');
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    context.after(() => closeSync(reader));
    for (let n = 1; n <= 25; n++) {
      later(DAY / 10);
      log.write(line(n));
    }
    assert.deepEqual([names(), log.trouble], [['core.log'], undefined]);
    assert.equal(statSync(file).mode & 0o777, 0o666, folder);
    const buffer = Buffer.alloc(1 << 16);
    const lines = buffer.toString('utf8', 0, readSync(reader, buffer)).split('\n').filter(Boolean);
    assert.equal(lines.length, 26, 'the line of what was lost, and all the others');
  });

  test('a file that was put aside is packed, and no line is lost', async (context) => {
    const { log, later, folder, names } = start(context);
    for (let n = 0; n < 25; n++) log.write(line(n));
    assert.deepEqual(names(), ['core.1.log', 'core.2.log', 'core.log']);
    later(DAY / 100);
    log.write(line(25));
    await eventually(() => names().join(' ') === 'core.1.zst core.2.zst core.log', 'both are packed');
    assert.deepEqual(
      all(folder),
      Array.from({ length: 26 }, (_, n) => n),
    );
    for (const name of names()) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o640, name);
  });

  test('all files together stay within the total, packed or not, in a loop that never lets go', (context) => {
    const { log, folder, names } = start(context);
    for (let n = 0; n < 2_000; n++) {
      log.write(line(n));
      if (n % 100 > 0) continue;
      const bytes = names().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
      assert.ok(bytes <= LIMITS.totalBytes, `${bytes} bytes after ${n} lines`);
    }
    const kept = all(folder);
    assert.deepEqual(
      kept,
      Array.from({ length: kept.length }, (_, n) => 2_000 - kept.length + n),
      'the newest ones',
    );
  });

  test('each day has a file of its own, and a clock that is set back begins none', (context) => {
    const { log, time, names } = start(context);
    log.write(line(1));
    time.now += 2_000;
    time.date += DAY;
    log.write(line(2));
    assert.deepEqual(names(), ['core.1.log', 'core.log']);
    for (const days of [-3, 0, -400, 0]) {
      time.now += 2_000;
      time.date = START + DAY + days * DAY;
      log.write(line(3));
    }
    assert.deepEqual(names(), ['core.1.log', 'core.log']);
  });

  test('files beyond the age go; not the newest, and none from before the clock was set', (context) => {
    const { folder, file, open, names } = start(context);
    const ages = { 'core.1.log': 20, 'core.2.zst': 15, 'core.3.zst': 13, 'core.log.1': 40, 'core.4.log': 900 };
    for (const [name, days] of Object.entries(ages)) {
      writeFileSync(join(folder, name), 'x');
      utimesSync(join(folder, name), new Date(START), new Date(START - days * DAY));
    }
    writeFileSync(join(folder, 'core.0.log'), 'x');
    utimesSync(join(folder, 'core.0.log'), new Date(0), new Date(5_000));
    for (const other of ['corex.1.log', 'core.one.log', 'other.log']) writeFileSync(join(folder, other), 'x');
    open().write(line(1));
    assert.deepEqual(
      names().filter((name) => name !== 'core.log'),
      ['core.0.log', 'core.3.zst', 'core.4.log', 'core.one.log', 'corex.1.log', 'other.log'],
    );
    assert.ok(statSync(file).size > 0);
  });

  test('on a disk with too little room old files go, the oldest first, and it is told', (context) => {
    const { log, folder, names, later } = start(context, { freeBytes: Number.MAX_SAFE_INTEGER });
    for (const n of [1, 2, 3]) writeFileSync(join(folder, `core.${n}.zst`), 'x');
    log.write(line(1));
    assert.deepEqual(names(), ['core.log']);
    assert.equal(log.shortage?.removed, 3);
    log.limit(LIMITS);
    later(2_000);
    log.write(line(2));
    log.limit(LIMITS);
    later(2_000);
    log.write(line(3));
    assert.equal(log.shortage, undefined);
  });

  test('a file that was moved or removed is begun anew within a second', (context) => {
    const { log, file, folder, later } = start(context);
    log.write(line(1));
    renameSync(file, join(folder, 'elsewhere'));
    later(1_000);
    log.write(line(2));
    rmSync(file);
    later(1_000);
    log.write(line(3));
    assert.equal(readFileSync(file, 'utf8'), line(3));
    rmSync(folder, { recursive: true });
    later(1_000);
    log.write(line(4));
    assert.equal(readFileSync(file, 'utf8'), line(4));
  });

  test('two Cores on one folder lose no line to each other', async (context) => {
    const { log, open, later, folder } = start(context, { totalBytes: 1 << 20 });
    const other = open();
    for (let n = 0; n < 200; n += 2) {
      log.write(line(n));
      other.write(line(n + 1));
      later(100);
    }
    later(100_000);
    log.write(line(200));
    other.write(line(201));
    await eventually(() => !readdirSync(folder).some((name) => /\d\.log$/.test(name)), 'all are packed');
    assert.deepEqual(
      all(folder).sort((a, b) => a - b),
      Array.from({ length: 202 }, (_, n) => n),
    );
  });

  test('a half packed file of a Core that was killed goes, and is packed again', async (context) => {
    const { folder, open, names, later } = start(context);
    writeFileSync(join(folder, 'core.1.log'), line(1));
    writeFileSync(join(folder, 'core.1.77.zst.part'), 'half');
    for (const name of ['core.1.log', 'core.1.77.zst.part'])
      utimesSync(join(folder, name), new Date(START), new Date(START - DAY));
    later(10_000);
    open().write(line(2));
    await eventually(() => names().join(' ') === 'core.1.zst core.log', 'it is packed');
    assert.deepEqual(all(folder), [1, 2]);
  });

  test('a folder in the place of the next file, or of the log, throws nothing', (context) => {
    const { log, folder, file, later } = start(context);
    mkdirSync(join(folder, 'core.1.log'));
    for (let n = 0; n < 15; n++) log.write(line(n));
    rmSync(file, { force: true });
    mkdirSync(file);
    later(5_000);
    log.write(line(20));
    assert.match(log.trouble?.reason ?? '', /EISDIR|EEXIST/);
    rmSync(file, { recursive: true });
    rmSync(join(folder, 'core.1.log'), { recursive: true });
    later(5_000);
    log.write(line(21));
    assert.equal(log.trouble, undefined);
  });

  test('a change of the folder or the clock never throws, and the newest line is written', () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant('write' as const), length: fc.integer({ min: 0, max: 3_000 }) }),
      fc.record({ kind: fc.constant('clock' as const), days: fc.integer({ min: -4_000, max: 4_000 }) }),
      fc.record({ kind: fc.constant('remove' as const) }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const folder = mkdtempSync(join(tmpdir(), 'dl-'));
        try {
          const time = { now: 0, date: START };
          const file = join(folder, 'core.log');
          const log = new LogFile(file, LIMITS, { now: () => time.now, date: () => time.date });
          for (const one of acts) {
            time.now += 1_500;
            if (one.kind === 'write') log.write(line(0, one.length));
            else if (one.kind === 'clock') time.date = START + one.days * DAY;
            else rmSync(folder, { recursive: true, force: true });
          }
          time.now += 1_500;
          log.write(line(7, 10));
          assert.ok(readFileSync(file, 'utf8').endsWith(line(7, 10)));
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: 60 },
    );
  });
});
