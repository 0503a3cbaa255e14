import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { openLog } from '../../kernel/boot/log.ts';
import { HookRegistry } from '../../kernel/hooks.ts';

function start(context: TestContext, stderr = false) {
  const folder = mkdtempSync(join(tmpdir(), 'dl-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'core.log');
  const hooks = new HookRegistry();
  const { log, scan } = openLog({ to: file, level: 'info', stderr });
  scan.use(hooks.caller('log.line'));
  return { hooks, log: log.child({ plugin: 'tea' }), lines: () => readFileSync(file, 'utf8').trim().split('\n') };
}

test('each finished line passes the taps of log.line before it is written, from the moment on that there is a tap', (context) => {
  const { hooks, log, lines } = start(context);
  log.info({}, 'the kettle 1');
  const leave = hooks.tap('log.line', 'secrets', (line: string) => line.replaceAll('kettle', '[secret k]'), 0);
  log.warn({ deep: { of: ['the kettle'] } }, 'the kettle 2');
  leave();
  log.info({}, 'the kettle 3');
  const written = lines().map((line) => JSON.parse(line));
  assert.deepEqual(
    written.map(({ msg }) => msg),
    ['the kettle 1', 'the [secret k] 2', 'the kettle 3'],
  );
  assert.deepEqual(written[1].deep, { of: ['the [secret k]'] });
});

test('a tap that throws loses no line, and the other taps still look at it', (context) => {
  const throwers: (() => never)[] = [
    () => {
      throw new Error('broken');
    },
    () => {
      throw new CoreError('BUSY', { what: 'x', limit: 1 });
    },
  ];
  for (const thrower of throwers) {
    const { hooks, log, lines } = start(context);
    hooks.tap('log.line', 'first', thrower, -1);
    hooks.tap('log.line', 'secrets', (line: string) => line.replaceAll('kettle', '[secret k]'), 0);
    hooks.tap('log.line', 'zlast', thrower, 1);
    log.error({}, 'the kettle is dry');
    assert.equal(JSON.parse(lines()[0]!).msg, 'the [secret k] is dry');
  }
});

test('an answer that is no text is no line: it is withheld, and reported', (context) => {
  const { hooks, log, lines } = start(context);
  hooks.tap('log.line', 'odd', () => 7, 0);
  log.error({ a: 1 }, 'the kettle is dry');
  const { level, plugin, msg } = JSON.parse(lines()[0]!);
  assert.deepEqual([level, plugin, msg], [50, 'tea', 'a line is withheld: a tap of log.line answered with no text']);
});

test('a tap that logs does not go round for ever', (context) => {
  const { hooks, log, lines } = start(context);
  hooks.tap('log.line', 'chatty', () => void log.info({}, 'I looked at a line'), 0);
  log.info({}, 'the kettle');
  const written = lines().map((line) => JSON.parse(line).msg);
  assert.ok(written.length < 5, `${written.length} lines`);
  assert.equal(written.at(-1), 'the kettle');
});

test('the readable line on stderr is one line for any text of an app or a plugin', (context) => {
  const shown: string[] = [];
  context.mock.method(process.stderr, 'write', (text: string) => shown.push(text) > 0);
  const { log } = start(context, true);
  log.warn({}, 'dry\n12:00:00 error core: all is lost\r\u001b[2J\u0007\u2028\u202e\u200b\u2062\ufeff');
  log.error({ app: 'com.example.tea', from: 'stderr' }, 'x\u001b[31m\u009b1mred');
  log.error({ err: new Error('first\nsecond') }, 'failed');
  assert.equal(shown.length, 3);
  for (const line of shown) assert.match(line, /^\P{Cc}+\n$/u);
  assert.match(
    shown[0]!,
    /dry\\x0a12:00:00 error core: all is lost\\x0d\\x1b\[2J\\x07\\u2028\\u202e\\u200b\\u2062\\ufeff\n$/,
  );
});
