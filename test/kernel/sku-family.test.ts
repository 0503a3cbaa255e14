/** SKUs that extend others: what comes out, where each value came from, and every complaint at its file and line. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { flatSkuText, readSkuFamily, skuFamily, skuFiles } from '@device-core/plugin-api/inside/sku-family';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { resolveSku } from '../../kernel/boot/check.ts';
import { runs } from '../fixtures/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'fam-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, ...lines: string[]): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** A plugin outside the tree, in a folder of its own below `where`. */
function plugin(where: string, ...lines: string[]): void {
  const id = basename(where);
  const head = [`id: ${id}`, 'version: 1.0.0', 'summary: for a test', 'api: ^1.0.0', 'main: index.js'];
  write(`${where}/plugin.yaml`, ...head, ...lines);
  write(`${where}/index.js`, 'throw new Error("plugin code was run");');
}

const NUMBERS =
  'config: { type: object, additionalProperties: false, properties: { n: { type: integer }, m: { type: object }, list: { type: array } } }';
plugin('lib/a', 'provides: { a: 1.0.0 }', NUMBERS);
plugin('lib/b', 'requires: { a: ^1.0.0 }', NUMBERS);
plugin('c', NUMBERS);

/** The head of a file, lines 1 to 3. */
const head = (id: string) => ['skuVersion: 1', `id: ${id}`, `title: ${id}`];
const line = (path: string, more = '') =>
  `  ${basename(path)}: { version: ^1.0.0, path: ${path}, isolation: inline${more} }`;

const BASE = write(
  'lib/base.yaml',
  ...head('base'), // 3
  'service: shop',
  'simulated: true',
  'safeMode: [a, b]', // 6
  'x-notes: { a: 1, b: 2 }',
  'grants: { com.example.one: [events.publish], com.example.two: [events.publish] }',
  'plugins:',
  line('a', ', essential: true, config: { n: 1, m: { x: 1, y: [1, 2] }, list: [1, 2] }'), // 10
  line('b'),
);
const MIDDLE = write(
  'middle.yaml',
  ...head('middle'), // 3
  'extends: lib/base.yaml',
  'remove: [b]', // 5
  'x-notes: { c: 3 }',
  'grants: { com.example.two: [] }',
  'plugins:',
  '  a:', // 9
  '    config:',
  '      m: { y: [3], z: 5 }',
  line('c', ', config: { n: 2 }'), // 12
);
const TOP = write(
  'top.yaml',
  ...head('top'),
  'extends: middle.yaml',
  'plugins:',
  '  a: { essential: false, enabled: false, config: { list: [] } }', // 6
  '  c: "1.0.0"',
);

const spot = (family: { at(path: YamlPath): { file: string; line: number } }, path: YamlPath) => {
  const { file, line: number } = family.at(path);
  return `${basename(file)}:${number}`;
};

test('lines are merged by plugin and member, lists are replaced, x- members belong to the nearest file', () => {
  const { problems, sku, source, plugins } = resolveSku(TOP);
  assert.deepEqual(problems, []);
  assert.deepEqual(sku, {
    skuVersion: 1,
    id: 'top',
    title: 'top',
    service: 'shop',
    simulated: true,
    safeMode: ['a'],
    'x-notes': { c: 3 },
    grants: { 'com.example.one': ['events.publish'], 'com.example.two': [] },
    plugins: {
      a: {
        version: '^1.0.0',
        path: 'lib/a',
        isolation: 'inline',
        essential: false,
        enabled: false,
        config: { n: 1, m: { x: 1, y: [3], z: 5 }, list: [] },
      },
      c: { version: '1.0.0', path: 'c', isolation: 'inline', config: { n: 2 } },
    },
  });
  assert.deepEqual(
    plugins.map(({ id, main }) => [id, main]),
    [
      ['a', join(folder, 'lib/a/index.js')],
      ['c', join(folder, 'c/index.js')],
    ],
  );
  assert.deepEqual(source?.files, [TOP, MIDDLE, BASE]);
  assert.deepEqual(
    [...source.removed].map(([id, at]) => `${id} ${basename(at().file)}:${at().line}`),
    ['b middle.yaml:5'],
  );
});

test('a plugin that is essential in a base and switched off here is reported with the line that switches it off', () => {
  const off = write('off.yaml', ...head('off'), 'extends: lib/base.yaml', 'plugins:', '  a:', '    enabled: false');
  const { problems } = resolveSku(off);
  const told = problems.filter(({ plugin }) => plugin === 'a');
  assert.deepEqual(
    told.map(({ file, line, code, stops }) => `${basename(file)}:${line} ${code} ${stops}`),
    ['off.yaml:7 SKU_INVALID nothing'],
  );
});

test('each value knows the file and line that it came from', () => {
  const { source } = resolveSku(TOP);
  for (const [path, where] of [
    [['id'], 'top.yaml:2'],
    [['service'], 'base.yaml:4'],
    [['safeMode', 0], 'base.yaml:6'],
    [['x-notes', 'c'], 'middle.yaml:6'],
    [['grants', 'com.example.one', 0], 'base.yaml:8'],
    [['grants', 'com.example.two'], 'middle.yaml:7'],
    [['plugins', 'a'], 'base.yaml:10'],
    [['plugins', 'a', 'version'], 'base.yaml:10'],
    [['plugins', 'a', 'enabled'], 'top.yaml:6'],
    [['plugins', 'a', 'config', 'n'], 'base.yaml:10'],
    [['plugins', 'a', 'config', 'm', 'x'], 'base.yaml:10'],
    [['plugins', 'a', 'config', 'm', 'y'], 'middle.yaml:11'],
    [['plugins', 'a', 'config', 'm', 'y', 0], 'middle.yaml:11'],
    [['plugins', 'a', 'config', 'list'], 'top.yaml:6'],
    [['plugins', 'a', 'config', 'none'], 'top.yaml:6'],
    [['plugins', 'c'], 'middle.yaml:12'],
    [['plugins', 'c', 'version'], 'top.yaml:7'],
    [['plugins', 'none'], 'top.yaml:5'],
    [[], 'top.yaml:1'],
  ] as const)
    assert.equal(spot(source!, path), where, path.join('.'));
});

describe('a fault is reported with its file and line', () => {
  /** The complaints about a file that extends the base; its own lines begin with 5. */
  const complaints = (...lines: string[]) => {
    const file = write('wrong.yaml', ...head('wrong'), 'extends: lib/base.yaml', ...lines);
    return resolveSku(file).problems.map((one) => `${basename(one.file)}:${one.line} ${one.code} ${one.message}`);
  };
  const cases: readonly [what: string, lines: readonly string[], complaint: RegExp][] = [
    [
      'an override of nothing',
      ['plugins:', '  voice: { config: {} }'],
      /^wrong\.yaml:6 SKU_INVALID no base has a plugin voice that could be changed; a line with a version adds/,
    ],
    [
      'a removal of nothing, with the plugin that was meant',
      ['remove:', '  - b', '  - aa'],
      /^wrong\.yaml:7 SKU_INVALID removes plugin aa, which no base has; did you mean a\?$/,
    ],
    [
      'the removal of an essential plugin, with the line that says so',
      ['remove: [a]'],
      /^wrong\.yaml:5 SKU_INVALID removes plugin a, which is essential \(base\.yaml:10\); list another a here/,
    ],
    ['a member that is not known', ['plugin: {}'], /^wrong\.yaml:5 SKU_INVALID plugin is not known here$/],
    [
      'a member of a line that is not known',
      ['plugins:', '  a: { essentail: true }'],
      /^wrong\.yaml:6 SKU_INVALID plugins\.a\.essentail is not known here$/,
    ],
    [
      'a value of the base file that its plugin does not take is told there, that of an override here',
      ['plugins:', '  a: { config: { n: x } }'],
      /^wrong\.yaml:6 SKU_INVALID configuration a\.n must be integer$/,
    ],
    [
      'a version that the plugin is not of',
      ['plugins:', '  b: ^2.0.0'],
      /^wrong\.yaml:6 SKU_INVALID plugin b is 1\.0\.0, the SKU asks for \^2\.0\.0$/,
    ],
    ['a syntax error', ['plugins: ['], /^wrong\.yaml:\d SKU_INVALID/],
    ['the same removal twice', ['remove: [b, b]'], /^wrong\.yaml:5 SKU_INVALID remove must NOT have duplicate items/],
  ];
  for (const [what, lines, complaint] of cases)
    test(what, () => {
      const [first = '', ...others] = complaints(...lines);
      assert.match(first, complaint);
      assert.deepEqual(others, []);
    });

  test('a plugin that misses a removed one names the file that removed it', () => {
    const away = write('away.yaml', ...head('away'), 'extends: lib/base.yaml', 'plugins:', '  a: { essential: false }');
    const file = write('gone.yaml', ...head('gone'), `extends: ${basename(away)}`, 'remove: [a]');
    const [problem, ...others] = resolveSku(file).problems;
    assert.deepEqual(others, []);
    assert.equal(basename(problem!.file), 'base.yaml');
    assert.equal(problem!.line, 11);
    // Of the tree the plugin that provides it is known by its manifest, and so is who took it away.
    const one = write('one.yaml', ...head('one'), 'plugins: { operations: ^1.0.0, functions: ^1.0.0, events: ^1.0.0 }');
    const two = write('two.yaml', ...head('two'), `extends: ${basename(one)}`, 'remove: [operations]');
    const told = resolveSku(two).problems.filter(({ message }) => message.includes('operations'));
    assert.notDeepEqual(told, []);
    for (const { message } of told)
      assert.match(message, /plugin operations provides it, and .*two\.yaml:5 removes it/);
  });

  test('a removed plugin may be listed anew, without what the base said of it', () => {
    const file = write(
      'anew.yaml',
      ...[...head('anew'), 'extends: lib/base.yaml', 'remove: [a]', 'plugins:'],
      '  a: { version: ^1.0.0, path: lib/a, isolation: inline }',
    );
    const { problems, sku, source } = resolveSku(file);
    assert.deepEqual(problems, []);
    assert.deepEqual(sku?.plugins.a, { version: '^1.0.0', path: 'lib/a', isolation: 'inline' });
    assert.equal(spot(source!, ['plugins', 'a']), 'anew.yaml:7');
    assert.deepEqual([...source!.removed.keys()], []);
  });

  test('a base that is not there, and one that cannot be used', () => {
    const none = write('none.yaml', ...head('none'), 'extends: gone.yml');
    const broken = write('broken.yaml', ...head('broken'), 'plugins: { a: {} }');
    const over = write('over.yaml', ...head('over'), 'extends: broken.yaml');
    const told = (file: string) =>
      resolveSku(file).problems.map((one) => `${basename(one.file)}:${one.line} ${one.message}`);
    assert.deepEqual(told(none), ['none.yaml:4 extends names no file: gone.yml is not there']);
    const nul = write('nul.yaml', ...head('nul'), 'extends: "a\\0b.yaml"');
    assert.deepEqual(told(nul), ['nul.yaml:4 extends names no file: a\\u0000b.yaml is not there']);
    const long = write('long.yaml', ...head('long'), `extends: ${'x'.repeat(70_000)}`);
    assert.deepEqual(told(long), [`long.yaml:4 extends names no file: ${'x'.repeat(200)} is not there`]);
    assert.deepEqual(told(over), ["broken.yaml:4 plugins.a must have required property 'version'"]);
    assert.deepEqual(told(broken), told(over));
  });

  test('a circle, and a file that extends itself', () => {
    const one = write('circle/one.yaml', ...head('one'), 'extends: two.yaml');
    const two = write('circle/two.yaml', ...head('two'), '', 'extends: one.yaml');
    const self = write('circle/self.yaml', ...head('self'), 'extends: ../circle/self.yaml');
    for (const [file, at, message] of [
      [one, 'two.yaml:5', 'extends is a circle: one.yaml -> two.yaml -> one.yaml'],
      [two, 'one.yaml:4', 'extends is a circle: two.yaml -> one.yaml -> two.yaml'],
      [self, 'self.yaml:4', 'extends is a circle: self.yaml -> self.yaml'],
    ] as const) {
      const { problems, sku, plugins } = resolveSku(file);
      assert.deepEqual(
        problems.map((one) => [`${basename(one.file)}:${one.line}`, one.message, one.stops]),
        [[at, message, 'core']],
      );
      assert.equal(sku, undefined);
      assert.deepEqual(plugins, []);
      assert.ok(skuFiles(file).length <= 2);
    }
  });

  test('a family of fifty is a mistake, one of sixteen is none', () => {
    write('deep/0.yaml', ...head('deep'), 'plugins: {}');
    for (let depth = 1; depth < 50; depth++) write(`deep/${depth}.yaml`, ...head('deep'), `extends: ${depth - 1}.yaml`);
    assert.deepEqual(resolveSku(join(folder, 'deep/15.yaml')).problems, []);
    const [problem, ...others] = resolveSku(join(folder, 'deep/49.yaml')).problems;
    assert.deepEqual(others, []);
    assert.match(`${problem?.file}:${problem?.line} ${problem?.message}`, /34\.yaml:4 extends makes a family of more/);
    assert.equal(skuFiles(join(folder, 'deep/49.yaml')).length, 16);
  });

  test('remove without extends', () => {
    const file = write('alone.yaml', ...head('alone'), 'remove: [a]', 'plugins: {}');
    assert.match(resolveSku(file).problems[0]?.message ?? '', /must have property extends when property remove is/);
  });
});

test('safe mode keeps what a family lists', () => {
  const safe = join(import.meta.dirname, '../../manifests/skus/safe-mode.yaml');
  const { plugins, problems } = resolveSku(safe, [], undefined, undefined, TOP);
  assert.deepEqual(problems, []);
  assert.deepEqual(plugins.find(({ id }) => id === 'a')?.main, join(folder, 'lib/a/index.js'));
});

test('the flat text of a family is the family, and says no place of this machine', () => {
  const family = readSkuFamily(TOP);
  const text = flatSkuText(family);
  assert.ok(!text.includes(folder), text);
  const flat = write('flat.yaml', text);
  const strip = (file: string) => {
    const { sku, plugins, problems } = resolveSku(file);
    return { plugins, problems, sku: { ...sku, plugins: undefined } };
  };
  assert.deepEqual(strip(flat), strip(TOP));
  assert.throws(
    () => readSkuFamily(join(folder, 'circle/one.yaml')),
    (error) => error instanceof CoreError && error.code === 'SKU_INVALID' && /two\.yaml:5/.test(error.message),
  );
});

test('random families: the nearest file that sets a value has it, and is the one that is named', () => {
  const leaf = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 2 }));
  const config = fc.dictionary(
    fc.constantFrom('a', 'b'),
    fc.oneof(leaf, fc.dictionary(fc.constantFrom('x', 'y'), leaf)),
  );
  const layer = fc.record({
    plugins: fc.dictionary(fc.constantFrom('p', 'q', 'r'), fc.record({ version: fc.constant('1.0.0'), config })),
    grants: fc.dictionary(fc.constantFrom('g', 'h'), fc.array(fc.constantFrom('i', 'j'), { maxLength: 2 })),
  });
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  /** The value of the nearest layer; maps are of all layers down to one that has something else. */
  const wanted = (layers: readonly unknown[]): unknown => {
    const given = layers.filter((one) => one !== undefined);
    const [first] = given;
    if (!isMap(first)) return first;
    const end = given.findIndex((one) => !isMap(one));
    const maps = (end < 0 ? given : given.slice(0, end)) as Record<string, unknown>[];
    const keys = [...new Set(maps.toReversed().flatMap((one) => Object.keys(one)))];
    return Object.fromEntries(
      keys.map((key) => [key, wanted(maps.map((one) => (Object.hasOwn(one, key) ? one[key] : undefined)))]),
    );
  };
  fc.assert(
    fc.property(fc.array(layer, { minLength: 2, maxLength: 5 }), (layers) => {
      const files = layers.map((one, index) => ({
        skuVersion: 1,
        id: `f${index}`,
        title: `f${index}`,
        ...(index < layers.length - 1 && { extends: `${index + 1}` }),
        ...one,
      }));
      files.forEach((value, index) => {
        write(`random/${index}`, stringify(value));
      });
      const family = readSkuFamily(join(folder, 'random/0'));
      assert.deepEqual(family.value.plugins, wanted(layers.map(({ plugins }) => plugins)));
      assert.deepEqual(family.value.grants, wanted(layers.map(({ grants }) => grants)));
      const walk = (value: unknown, path: readonly string[]): void => {
        if (isMap(value) && path.length < 5) for (const [key, one] of Object.entries(value)) walk(one, [...path, key]);
        if (isMap(value)) return;
        const { file } = family.at(path);
        const inFile = path.reduce<unknown>(
          (at, key) => (isMap(at) ? at[key] : undefined),
          files[Number(basename(file))],
        );
        assert.deepEqual(inFile, value, `${path.join('.')} of ${basename(file)}`);
        const nearer = files.slice(0, Number(basename(file)));
        for (const one of nearer)
          assert.equal(
            path.reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), one),
            undefined,
          );
      };
      walk({ plugins: family.value.plugins, grants: family.value.grants }, []);
    }),
    { numRuns: runs(500) },
  );
});

test('a family is read through what its reader gives: a file that was refused makes no family', () => {
  const told: string[] = [];
  const family = skuFamily(
    TOP,
    (file) => (file === TOP ? { file, value: { extends: 'middle.yaml' }, at: () => ({ file, line: 1 }) } : undefined),
    (_place, _path, message) => told.push(message),
  );
  assert.equal(family, undefined);
  assert.deepEqual(told, []);
});
