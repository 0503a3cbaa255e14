import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { createLog } from '../../kernel/boot/log.ts';
import { LOG_LIMITS, LogFile } from '../../kernel/boot/log-file.ts';

function withLog(use: (log: ReturnType<typeof createLog>, file: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  const file = join(folder, 'log/core.log');
  try {
    use(createLog({ to: file, level: 'info', stderr: false }), file);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('secrets are hidden at any depth, in lists, errors, causes and texts', () => {
  const secret = 'hunter2-hunter2';
  const places: object[] = [
    { token: secret },
    { a: { b: [{ password: secret }] } },
    { headers: { Authorization: `Bearer ${secret}`, 'set-cookie': secret } },
    { request: `GET / with Bearer ${secret}` },
    { err: Object.assign(new Error(`sent Bearer ${secret}`), { apiKey: secret }) },
    { err: new CoreError('INTERNAL', { what: 'x', details: { clientSecret: secret } }, { cause: { secret } }) },
    { other: new Error('x', { cause: new Error(`Bearer ${secret}`) }) },
    { key: Buffer.from(secret) },
    { private_key: { d: secret } },
  ];
  const written = withLog((log) => {
    for (const place of places) log.child({ plugin: 'x' }).error(place, `failed with Bearer ${secret}`);
  });
  assert.equal(written.trim().split('\n').length, places.length);
  assert.ok(!written.includes(secret), written);
  assert.ok(written.includes('"plugin":"x"'));
});

test('an error keeps its code, message, stack and cause', () => {
  const written = withLog((log) => {
    log.error({ err: new CoreError('BUSY', { what: 'x', limit: 3 }, { cause: new Error('why') }) }, 'told');
  });
  const { err, msg } = JSON.parse(written);
  assert.deepEqual([err.code, err.details.limit, err.cause.message, msg], ['BUSY', 3, 'why', 'told']);
  assert.match(err.stack, /log\.test/);
});

test('values that cannot be written as they are do no harm', () => {
  const circle: Record<string, unknown> = { big: 10n };
  circle.self = circle;
  const written = withLog((log) => log.info({ circle, fn: () => 1, nothing: undefined }, 'odd'));
  assert.match(written, /odd/);
});

test('the terminal shows a line that an app printed with time, level and app, all else by its plugin', (context) => {
  const shown: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  context.after(() => rmSync(folder, { recursive: true }));
  context.mock.method(process.stderr, 'write', (text: string) => shown.push(text) > 0);
  const log = createLog({ to: join(folder, 'core.log'), level: 'info', stderr: true }).child({ plugin: 'apps' });
  log.warn({ app: 'com.example.tea', from: 'stderr' }, '  the kettle is dry');
  log.error({ app: 'com.example.tea', from: 'stdout' }, 'burnt');
  log.info({ app: 'com.example.tea', from: 'stdout' }, 'quiet');
  log.warn({ app: 'com.example.tea', reason: 'why' }, 'an app cannot be used');
  assert.deepEqual(
    shown.map((line) => line.replace(/^\d\d:\d\d:\d\d /, 'TIME ')),
    [
      'TIME warn com.example.tea:   the kettle is dry\n',
      'TIME error com.example.tea: burnt\n',
      'warning: apps: an app cannot be used: why\n',
    ],
  );
});

test('a log that has grown large is put aside once at start', () => {
  withLog((log, file) => {
    log.info({}, 'old');
    writeFileSync(file, 'x'.repeat(6 << 20));
    createLog({ to: file, level: 'info', stderr: false }).info({}, 'new');
    assert.ok(statSync(file.replace('.log', '.1.log')).size > 5 << 20);
    assert.match(readFileSync(file, 'utf8'), /^\{.*new/);
  });
});

test('a log that grows large while the Core runs is put aside, and not a line is lost', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  try {
    const file = join(folder, 'core.log');
    const log = createLog({ to: file, level: 'info', stderr: false, limits: { fileBytes: 2_000 } });
    for (let i = 0; i < 30; i++) log.info({ i }, 'x'.repeat(60));
    const read = (path: string) =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).i);
    const first = file.replace('.log', '.1.log');
    const all = [first, file.replace('.log', '.2.log'), file].filter((one) => existsSync(one));
    assert.deepEqual(
      all.flatMap(read),
      Array.from({ length: 30 }, (_, i) => i),
    );
    for (const one of all) assert.ok(statSync(one).size <= 2_000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a log that cannot be written never throws, is told, and goes on when the disk takes lines again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  try {
    const file = join(folder, 'log/core.log');
    let now = 0;
    const log = new LogFile(file, LOG_LIMITS, { now: () => now });
    // A file in the place of the folder: the same for root, whom no mode stops.
    writeFileSync(join(folder, 'log'), '');
    for (let i = 0; i < 3; i++) log.write(`{"i":${i}}\n`);
    assert.equal(log.trouble?.lost, 3);
    assert.match(log.trouble.reason, /ENOTDIR|EEXIST/);
    rmSync(join(folder, 'log'));
    log.write('{"i":3}\n');
    assert.equal(log.trouble?.lost, 4, 'the disk is not asked again at once');
    now = 1_000;
    log.write('{"i":4}\n');
    assert.equal(log.trouble, undefined);
    const [lost, last] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([lost.lost, last.i], [4, 4]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the log is not for everybody, not even one that an older Core left so', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  try {
    const file = join(folder, 'core.log');
    writeFileSync(file, '', { mode: 0o666 });
    createLog({ to: file, level: 'info', stderr: false }).info({}, 'x');
    assert.equal(statSync(file).mode & 0o777, 0o640);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
