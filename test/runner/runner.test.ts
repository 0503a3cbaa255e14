/** The runner: every test file has one lane, the lanes fit into the time that CI has, and a change finds its suites. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { describe, test } from 'node:test';
import { suitesOf } from './changed.ts';
import { filesOf, LANES, MOST_MINUTES, ROOT } from './lanes.ts';
import { closing, sum } from './pass.ts';

const lane = (name: string) => LANES.find((one) => one.name === name)!;

describe('the lanes', () => {
  test('take at most 50 minutes together', () => {
    const minutes = LANES.filter(({ apart }) => !apart).reduce((all, one) => all + one.minutes, 0);
    assert.ok(minutes <= MOST_MINUTES, String(minutes));
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

describe('the command line of', () => {
  const call = (...words: readonly string[]) => spawnSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' });

  for (const [program, has] of [
    ['test/run.ts', /--changed BASE[\s\S]*--top N/],
    ['test/bench/run.ts', /voice\s+14-15,17,28-30[\s\S]*--quick/],
  ] as const) {
    test(`${program} has a help`, () => {
      const { status, stdout, stderr } = call(program, '--help');
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /^usage: /);
      assert.match(stdout, has);
    });

    test(`${program} refuses what it does not know in one line`, () => {
      for (const words of [['--fast'], ['nowhere.nothing']]) {
        const { status, stdout, stderr } = call(program, ...words);
        assert.deepEqual([status, stdout], [2, ''], `${words.join(' ')}: ${stderr}`);
        assert.match(stderr, new RegExp(`^${program}: [^\\n]+; --help lists what there is\\n$`), words.join(' '));
      }
    });
  }
});

test('the closing lines are those of node’s runner, of all files together', () => {
  const one = { tests: 3, suites: 1, passed: 2, failed: 1, cancelled: 0, skipped: 0, todo: 0 };
  const lines = closing(sum([one, one]), 5).split('\n');
  assert.deepEqual(lines.slice(0, 4), ['ℹ tests 6', 'ℹ suites 2', 'ℹ pass 4', 'ℹ fail 2']);
});
