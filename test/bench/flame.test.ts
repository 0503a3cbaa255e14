/** The picture of a CPU profile: what is counted, on whose behalf, and that the same profile gives the same bytes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CpuProfile, type Flame, flameOf, flameSvg, milliseconds, shares } from './flame.ts';

const ROOT = '/checkout';
type Node = CpuProfile['nodes'][number];

const node = (
  id: number,
  functionName: string,
  url: string,
  children: readonly number[] = [],
  lineNumber = 0,
): Node => ({
  id,
  children,
  callFrame: { functionName, url, lineNumber },
});
const NODES: readonly Node[] = [
  node(1, '(root)', '', [2, 3, 4, 8, 11]),
  node(2, '(idle)', ''),
  node(3, '(garbage collector)', ''),
  node(4, 'ticks', 'node:internal/tasks', [5]),
  node(5, 'load', `file://${ROOT}/kernel/load.ts`, [6, 12], 9),
  node(6, 'setup', `file://${ROOT}/plugins/voice/intent/index.ts`, [7], 4),
  node(7, 'test', 'node:internal/regexp', [10]),
  node(8, '', `file://${ROOT}/node_modules/ajv/dist/ajv.js`, [9]),
  node(9, 'compile', `file://${ROOT}/node_modules/ajv/dist/compile.js`),
  node(10, 'exec', 'node:internal/regexp'),
  node(11, '(program)', ''),
  node(12, 'a < "b" & c', `file://${ROOT}/plugin-api/contract/scope.ts`),
];

/** One sample a millisecond, from 0. */
const profileOf = (...samples: number[]): CpuProfile => ({
  nodes: NODES,
  startTime: 0,
  samples,
  timeDeltas: samples.map(() => 1_000),
});
const whole = { from: 0, to: 1e9, cpu: 6_000 };
const level = ({ children }: Flame) => [...children.values()].map(({ name, total }) => [name, total]);

describe('a flame', () => {
  test('shares out the CPU time by samples, without those that wait', () => {
    const all = flameOf(profileOf(2, 3, 2, 2, 6, 9), ROOT, whole);
    assert.equal(all.total, 6_000);
    assert.deepEqual(level(all), [
      ['garbage collector', 2_000],
      ['intent', 2_000],
      ['ajv', 2_000],
    ]);
  });

  test('counts a sample once, however long the thread had no processor', () => {
    const starved = { ...profileOf(3, 6), timeDeltas: [1_000, 400_000] };
    assert.deepEqual(level(flameOf(starved, ROOT, whole)), [
      ['garbage collector', 3_000],
      ['intent', 3_000],
    ]);
  });

  test('takes the samples of its window only', () => {
    const all = flameOf(profileOf(3, 3, 6, 6, 3), ROOT, { from: 2_500, to: 4_000, cpu: 2_000 });
    assert.deepEqual(level(all), [['intent', 2_000]]);
  });

  test('stands under the plugin for which it was, with where it is', () => {
    const all = flameOf(profileOf(6), ROOT, whole);
    const [owner] = [...all.children.values()];
    const [setup] = [...owner!.children.values()];
    assert.deepEqual([owner!.place, owner!.origin], ['plugin', 'plugins']);
    assert.deepEqual([setup!.name, setup!.place], ['setup', 'plugins/voice/intent/index.ts:5']);
  });

  test('shows what Node or a package calls in itself as one box', () => {
    const all = flameOf(profileOf(10, 9), ROOT, whole);
    const names = (one: Flame): string[] => [one.name, ...[...one.children.values()].flatMap(names)];
    assert.deepEqual(names(all), ['all', 'intent', 'setup', 'test', 'ajv', 'module or closure']);
  });

  test('tells whose code it was itself', () => {
    const found = shares(flameOf(profileOf(3, 10, 6, 9, 12, 5), ROOT, whole));
    assert.deepEqual(found, {
      kernel: 1_000,
      'plugin-api': 1_000,
      plugins: 1_000,
      packages: 1_000,
      Node: 1_000,
      collector: 1_000,
    });
  });

  test('of nothing is empty', () => {
    const all = flameOf(profileOf(2), ROOT, whole);
    assert.equal(all.total, 0);
    assert.match(flameSvg(all, 'nothing', ''), /<\/svg>\n$/);
  });
});

describe('the picture', () => {
  const svg = () => flameSvg(flameOf(profileOf(12, 12, 3, 6, 9, 9), ROOT, whole), 'A <start>', 'told & dated');

  test('is the same for the same profile in any order of its samples', () => {
    const shuffled = flameOf(profileOf(9, 6, 12, 3, 9, 12), ROOT, whole);
    assert.equal(svg(), svg());
    assert.equal(flameSvg(shuffled, 'A <start>', 'told & dated'), svg());
  });

  test('is well formed with any name', () => {
    const text = svg();
    assert.ok(text.includes('<title>A &lt;start&gt;</title>'));
    assert.ok(text.includes('a &lt; &quot;b&quot; &amp; c'));
    const opened = text.match(/<(svg|g|title|style|text)\b/g)!.length;
    assert.equal(opened, text.match(/<\/(svg|g|title|style|text)>/g)!.length);
  });

  test('puts the widest first, each as wide as its share', () => {
    const widths = [
      ...svg().matchAll(
        /<title>(kernel|ajv|intent|garbage collector)[:( ][^>]*<\/title><rect x="([\d.]+)" y="92" width="([\d.]+)"/g,
      ),
    ];
    assert.deepEqual(
      widths.map(([, name, x, width]) => [name, x, width]),
      [
        ['ajv', '10', '386.7'],
        ['kernel', '396.7', '386.7'],
        ['garbage collector', '783.3', '193.3'],
        ['intent', '976.7', '193.3'],
      ],
    );
  });

  test('has colours for light and dark', () => {
    const [light, dark] = svg().split('@media (prefers-color-scheme: dark)');
    for (const part of [light!, dark!])
      for (const name of ['.back', '.kernel', '.Node']) assert.ok(part.includes(name));
  });
});

test('times are told in seconds or milliseconds', () => {
  assert.deepEqual([1_500_000, 25_400, 1_240].map(milliseconds), ['1.50 s', '25 ms', '1.2 ms']);
});
