/** The runner: every test file has one lane, the lanes fit into the time that CI has, and a change finds its suites. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, test } from 'node:test';
import { suitesOf } from './changed.ts';
import { filesOf, LANES, ROOT } from './lanes.ts';
import { closing, sum } from './pass.ts';

const lane = (name: string) => LANES.find((one) => one.name === name)!;

describe('the lanes', () => {
  test('take at most 50 minutes together', () => {
    const minutes = LANES.filter(({ apart }) => !apart).reduce((all, one) => all + one.minutes, 0);
    assert.ok(minutes <= 50, String(minutes));
  });

  test('hold every test file once', () => {
    const held = LANES.flatMap((one) =>
      filesOf(one, 'whole').filter((file) => one.name !== 'soak' || file.startsWith('test/soak/')),
    ).sort();
    assert.deepEqual(
      held,
      globSync('test/**/*.test.ts', { cwd: ROOT })
        .filter((file) => !file.includes('node_modules'))
        .sort(),
    );
  });

  test('npm test and test:rest leave nothing out', () => {
    for (const one of LANES.filter(({ name }) => name !== 'soak')) {
      const both = new Set([...filesOf(one, 'short'), ...filesOf(one, 'rest')]);
      assert.deepEqual([...both].sort(), [...filesOf(one, 'whole')].sort(), one.name);
    }
  });

  test('a file with a random test is run again with its full count', () => {
    const soak = filesOf(lane('soak'), 'rest');
    assert.ok(soak.includes('test/kernel/event-queue.test.ts'), soak.join(' '));
    assert.ok(!soak.includes('test/kernel/hooks.test.ts'));
    assert.ok(filesOf(lane('levels'), 'rest').includes('test/isolation/levels.test.ts'));
  });
});

const TOUCHED: readonly [what: string, changed: string, has: readonly string[], hasNot: readonly string[]][] = [
  [
    'the code of a plugin',
    'plugins/hardware/bme280/index.ts',
    ['test/plugins/bme280/bme280.test.ts', 'test/architecture/walls.test.ts'],
    ['test/plugins/rpc/framing.test.ts', 'test/kernel/hooks.test.ts'],
  ],
  [
    'the manifest of a plugin',
    'manifests/plugins/hardware/bme280.yaml',
    ['test/plugins/bme280/bme280.test.ts'],
    ['test/plugins/rpc/framing.test.ts'],
  ],
  [
    'a file of the kernel',
    'kernel/bus/event-queue.ts',
    ['test/kernel/event-queue.test.ts', 'test/kernel/event-bus.test.ts'],
    ['test/plugins/cbp/codec.test.ts'],
  ],
  [
    'a contract',
    'test/contracts/bridge-port.ts',
    ['test/plugins/port-sim/port.test.ts', 'test/plugins/port-spidev/port.test.ts'],
    ['test/plugins/rpc/framing.test.ts'],
  ],
  ['a page', 'docs/guides/voice.md', [], ['test/kernel/event-queue.test.ts']],
];

describe('a change finds its suites', () => {
  for (const [what, changed, has, hasNot] of TOUCHED)
    test(what, () => {
      const suites = suitesOf([changed]);
      for (const file of has) assert.ok(suites.includes(file), `${file} is not among ${suites.join(' ')}`);
      for (const file of hasNot) assert.ok(!suites.includes(file), file);
    });
});

test('the closing lines are those of node’s runner, of all files together', () => {
  const one = { tests: 3, suites: 1, passed: 2, failed: 1, cancelled: 0, skipped: 0, todo: 0 };
  const lines = closing(sum([one, one]), 5).split('\n');
  assert.deepEqual(lines.slice(0, 4), ['ℹ tests 6', 'ℹ suites 2', 'ℹ pass 4', 'ℹ fail 2']);
});
