/** Costs processes: each case is a whole `devicectl plugin check`. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { devicectlProcess as devicectl } from './run-devicectl.ts';
import { checked, INLINE, remarks, SamplePlugins } from './sample-plugins.ts';

let samples: SamplePlugins;
before(async () => {
  samples = await SamplePlugins.create();
});
after(() => samples[Symbol.asyncDispose]());

describe('a manifest that is wrong is told with its line, and nothing is run', () => {
  const cases: readonly (readonly [title: string, lines: readonly string[], line: number, remark: RegExp])[] = [
    ['text that is no YAML', ['provides: { a: 1.0.0'], 7, /flow|indentation/i],
    ['a member that does not exist', ['provide: { a: 1.0.0 }'], 6, /^provide is not known here$/],
    ['a level that does not exist', ['isolation: thread'], 6, /must be one of inline, worker, process/],
    ['a hook that does not exist', ['taps: [health.colect]'], 6, /there is no hook health.colect/],
    ['a hook of another plugin', ['hooks:', '  - health.collect'], 7, /hook health.collect is owned by system/],
    ['a range that is none', ['requires:', '  spi: newest'], 7, /newest is not a semver range/],
    [
      'a capability that does not exist',
      ['capabilities: [network.inbound]'],
      6,
      /there is no capability network.inbound/,
    ],
    [
      'a configuration schema with a typing error',
      ['config: { type: object, propertys: {} }'],
      6,
      /does not compile.*propertys/,
    ],
  ];
  for (const [title, lines, line, remark] of cases)
    test(title, async () => {
      const { code, rows } = await checked(await samples.write(lines));
      assert.equal(code, 1);
      assert.deepEqual([...new Set(rows.map(({ check, outcome }) => `${check} ${outcome}`))], ['manifest FAIL']);
      assert.match(rows[0]?.remark ?? '', remark);
      assert.equal(rows[0]?.line, line);
    });

  test('a module that is not there', async () => {
    const home = await samples.write([]);
    await rm(join(home, 'index.ts'));
    const { rows } = await checked(home);
    assert.deepEqual(
      rows.map(({ remark, line }) => [remark, line]),
      [['./index.ts does not exist', 5]],
    );
  });
});

describe('code that is wrong', () => {
  test('a type error, a failing test and a disagreement with the manifest are told', async () => {
    const code = `import { definePlugin } from '@device-core/plugin-api';
import { spi } from '@device-core/plugin-api/services/spi';
const count: number = 'one';
export const plugin = definePlugin({ requires: { spi }, setup: () => void count });
`;
    const failing = `import assert from 'node:assert/strict';
import { test } from 'node:test';
test('one is two', () => assert.equal(1, 2));
`;
    const { code: exit, rows } = await checked(
      await samples.write(['requires: { bridge: ^1.0.0 }', INLINE], code, { 'sample.test.ts': failing }),
    );
    assert.equal(exit, 1);
    assert.match(remarks(rows, 'types').join(), /\nindex.ts\(3,7\): error TS2322/);
    assert.deepEqual(remarks(rows, 'manifest and code'), [
      'plugin sample requires spi, its manifest does not',
      'the manifest of sample requires bridge, the plugin does not',
    ]);
    assert.match(remarks(rows, 'tests inline').join(), /^they fail\nnot ok: one is two\n {2}Expected values/);
  });

  const cases: readonly (readonly [title: string, setup: string, remark: RegExp])[] = [
    ['a start that fails', "throw new Error('there is no board')", /^there is no board \(index\.ts:2\)$/],
    ['a timer outside of the scope', 'setInterval(() => undefined, 1_000)', /^the suite leaves behind 2 Timeout$/],
    ['an error after the start', "host.scope.interval('poll', 10, () => { throw new Error('x'); })", /failed in poll/],
    ['an end of the process', 'process.exit(7)', /^it ended the process \(exit code 7\)/],
  ];
  for (const [title, setup, remark] of cases)
    test(title, async () => {
      const code = `import { definePlugin } from '@device-core/plugin-api';
export const plugin = definePlugin({ setup(host) { void host; ${setup}; } });
`;
      const { code: exit, rows } = await checked(await samples.write([INLINE], code));
      assert.equal(exit, 1);
      assert.match(remarks(rows, 'start-stop-start inline').join(), remark);
    });

  test('a module without a plugin', async () => {
    const { rows } = await checked(await samples.write([INLINE], 'export const plugins = {};\n'));
    assert.deepEqual(remarks(rows, 'start-stop-start inline'), ['it exports no `plugin` with setup()']);
  });
});

describe('the command', () => {
  test('prints a table as it goes and ends with a sum', async () => {
    const { stdout, code } = await devicectl(['plugin', 'check', await samples.write([INLINE])]);
    assert.match(stdout, /^PASS {2}manifest {18}\S*plugin.yaml sample 1.0.0$/m);
    assert.match(stdout, /^SKIP {2}isolation worker {10}it is a test$/m);
    assert.match(stdout, /^passed: 0 failures, 1 warnings$/m);
    assert.equal(code, 0);
  });

  test('checks a plugin of a checkout, whose parts lie apart', async () => {
    const testing = "import { test } from 'node:test';\ntest('nothing', () => undefined);\n";
    const { code, rows } = await checked(await samples.writeInTree(testing));
    assert.equal(code, 0);
    assert.deepEqual(remarks(rows, 'tests inline'), ['1 passed']);
  });

  test('a folder without a plugin is refused', async () => {
    const { stderr, code } = await devicectl(['plugin', 'check', samples.folder]);
    assert.match(stderr, /USAGE: there is no plugin.yaml in /);
    assert.equal(code, 2);
  });
});
