import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { openLog } from '../../kernel/boot/log.ts';
import { LogRing } from '../../kernel/boot/log-recorder.ts';

after(leakCheck());

function start(context: TestContext, level = 'info') {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'core.log');
  const { log, control } = openLog({ to: file, level, stderr: false });
  const written = () =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { log, control, written, messages: () => written().map(({ msg }) => msg) };
}

describe('levels of components', () => {
  test('hold for a component in all of its logs, and for no other, until they are disposed of', async (context) => {
    const { log, control, messages } = start(context);
    const spi = log.child({ plugin: 'spi' });
    const call = spi.child({ trace: '7' });
    log.child({ plugin: 'i2c' });
    const say = (text: string) => {
      for (const [name, one] of Object.entries({ spi, call, log })) one.debug({}, `${name} ${text}`);
    };
    say('1');
    const more = await control.setLevel('spi', 'debug');
    say('2');
    const less = await control.setLevel('spi', 'error');
    spi.warn({}, 'not this');
    spi.error({}, 'but this');
    more[Symbol.dispose]();
    spi.warn({}, 'nor this');
    less[Symbol.dispose]();
    less[Symbol.dispose]();
    say('3');
    spi.info({}, 'as before');
    assert.deepEqual(messages(), ['spi 2', 'call 2', 'but this', 'as before']);
    assert.deepEqual(await control.levels(), {
      level: 'info',
      components: { core: 'info', i2c: 'info', spi: 'info' },
    });
  });

  test('a log says whether it takes a level, by which plugins elsewhere know whether to send their lines', async (context) => {
    const { log, control } = start(context);
    const spi = log.child({ plugin: 'spi' });
    assert.deepEqual([spi.isLevelEnabled('debug'), log.isLevelEnabled('info')], [false, true]);
    using _more = await control.setLevel('spi', 'debug');
    assert.deepEqual([spi.isLevelEnabled('debug'), log.isLevelEnabled('debug')], [true, false]);
  });

  test('a Core that was told to log debug lines has them all', async (context) => {
    const { log, messages } = start(context, 'debug');
    log.child({ plugin: 'spi' }).debug({}, 'x');
    assert.deepEqual(messages(), ['x']);
  });
});

describe('the flight recorder', () => {
  const LIMITS = { lines: 5, bytes: 10_000, perSecond: 1_000 };

  test('keeps the last lines, also hidden ones at debug; without it they are not made', async (context) => {
    const { log, control, messages } = start(context);
    const spi = log.child({ plugin: 'spi' });
    let made = 0;
    const costly = {
      get value() {
        return ++made;
      },
    };
    spi.debug(costly, 'before');
    const recorder = await control.record(LIMITS);
    for (let n = 0; n < 4; n++) spi.debug(costly, `debug ${n}`);
    for (let n = 0; n < 3; n++) spi.info({ token: 'hunter2-hunter2' }, `info ${n}`);
    const { lines } = await recorder.read();
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).msg),
      ['debug 2', 'debug 3', 'info 0', 'info 1', 'info 2'],
    );
    assert.ok(!lines.join('').includes('hunter2'));
    recorder[Symbol.dispose]();
    spi.debug(costly, 'after');
    assert.equal(made, 4);
    assert.deepEqual(messages(), ['info 0', 'info 1', 'info 2']);
  });

  test('takes so many lines of one plugin in a second and counts the rest', async (context) => {
    const { log, control } = start(context);
    const recorder = await control.record({ lines: 1_000, bytes: 1 << 20, perSecond: 10 });
    const [noisy, quiet] = ['noisy', 'quiet'].map((plugin) => log.child({ plugin }));
    for (let n = 0; n < 500; n++) noisy!.debug({}, 'noise');
    quiet!.debug({}, 'quiet');
    const { lines, dropped } = await recorder.read();
    // It may take a moment, and a second begin meanwhile.
    assert.ok(lines.length <= 31 && lines.length + dropped === 501, `${lines.length} and ${dropped}`);
    assert.ok(lines.some((line) => line.includes('quiet')));
  });

  test('a ring holds the newest lines, within its count and its bytes', () => {
    const limits = fc.record({
      lines: fc.integer({ min: 1, max: 20 }),
      bytes: fc.integer({ min: 1, max: 200 }),
      perSecond: fc.constant(1),
    });
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 }), (limit, lengths) => {
        const ring = new LogRing(limit);
        const all = lengths.map((length, index) => `${index}:${'x'.repeat(length)}`);
        for (const line of all) ring.add(`${line}\n`);
        const kept = ring.read();
        assert.deepEqual(kept, all.slice(all.length - kept.length));
        assert.ok(kept.length <= limit.lines);
        const bytes = kept.reduce((sum, line) => sum + line.length + 1, 0);
        assert.ok(bytes <= limit.bytes || kept.length === 1);
        assert.ok(kept.length > 0 || all.length === 0);
      }),
    );
  });
});

describe('lines that do harm', () => {
  test('a line that is too long is cut, and keeps what it is about', (context) => {
    const { log, written } = start(context);
    const big = 'x'.repeat(1 << 20);
    log.child({ plugin: 'spi' }).error({ err: new Error(big), code: 'BUSY', list: Array(90).fill(big) }, big);
    log.info({}, 'next');
    const [first, next] = written();
    assert.ok(JSON.stringify(first).length < 20_000);
    assert.deepEqual([first.level, first.plugin, first.code, first.clipped > 1 << 20], [50, 'spi', 'BUSY', true]);
    assert.equal(next.msg, 'next');
  });

  test('unreadable values are replaced by a note: getters and proxies that throw, and values that are no text', (context) => {
    const { log, messages } = start(context);
    const thrower = () => {
      throw new Error('mine');
    };
    const values: readonly unknown[] = [
      Object.defineProperty({}, 'a', { enumerable: true, get: thrower }),
      new Proxy({}, { ownKeys: thrower }),
      new Proxy({}, { get: thrower, getPrototypeOf: thrower, ownKeys: thrower }),
      { toJSON: thrower },
      { deep: { date: new Date(Number.NaN), big: 10n, sign: Symbol('x'), fn: thrower } },
      { text: '\ud800 \udfff \u0000 \u001b[31m' },
    ];
    for (const value of values) {
      log.error(value as object, 'kept');
      log.error({}, value as string);
    }
    assert.equal(messages().length, 2 * values.length);
    assert.equal(messages().filter((msg) => msg === 'kept').length, values.length, String(messages()));
  });

  test('a line stays one line with any text', (context) => {
    const { log, messages } = start(context);
    const forged = 'dry\n{"level":60,"msg":"forged"}\r\n\u2028\u001b[2J';
    log.warn({ [forged]: forged }, forged);
    assert.deepEqual(messages(), [forged]);
  });

  test('no field of a line replaces its level, its time or its plugin', (context) => {
    const { log, written } = start(context);
    log.child({ plugin: 'spi' }).warn({ level: 10, time: 1, plugin: 'other', more: 1 }, 'x');
    log.info({ plugin: 'spi', state: 'active' }, 'the Core may say of whom it speaks');
    const [first, second] = written();
    assert.deepEqual([first.level, first.plugin, first.plugin_, first.level_], [40, 'spi', 'other', 10]);
    assert.ok(first.time > 1_000_000);
    assert.equal(second.plugin, 'spi');
  });

  test('of a plugin that never stops logging the surplus is dropped, counted and told; the Core goes on', (context) => {
    const { log, written } = start(context);
    const noisy = log.child({ plugin: 'noisy' });
    for (let n = 0; n < 30_000; n++) noisy.info({ n }, 'noise');
    log.info({}, 'core');
    const lines = written();
    const kept = lines.filter(({ msg }) => msg === 'noise').length;
    const told = lines.filter(({ dropped }) => dropped > 0).reduce((sum, { dropped }) => sum + dropped, 0);
    assert.ok(kept >= 10_000 && kept < 29_000, `${kept} lines`);
    assert.equal(lines.at(-1).msg, 'core');
    assert.ok(told <= 30_000 - kept);
  });
});
