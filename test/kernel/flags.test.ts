/** Feature flags in manifests and in the SKU: what is wrong with one is told with file and line, and no code of the plugin is run. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { flagFault, flagNameFault } from '@device-core/plugin-api/flag-declaration';
import { leakCheck } from '@device-core/plugin-api/testing';
import { resolveSku } from '../../kernel/boot/check.ts';

const folder = mkdtempSync(join(tmpdir(), 'df-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

const FLAG = '{ type: boolean, default: false, description: d }';

/** By plugin, the lines of its flags; the first stands at line 7 of its manifest. In the SKU it stands at line 11. */
function resolve(plugins: Readonly<Record<string, readonly string[]>>, sku: readonly string[] = []) {
  for (const [id, lines] of Object.entries(plugins)) {
    mkdirSync(join(folder, id), { recursive: true });
    writeFileSync(join(folder, id, 'index.js'), 'throw new Error("plugin code was run");\n');
    const head = [`id: ${id}`, 'version: 1.0.0', 'summary: for a test', 'api: ^1.0.0', 'main: index.js', 'flags:'];
    writeFileSync(join(folder, id, 'plugin.yaml'), [...head, ...lines.map((line) => `  ${line}`), ''].join('\n'));
  }
  const lines = [
    ...['skuVersion: 1', 'id: test', 'title: Test', 'simulated: true', 'plugins:', '  config: ^1.0.0'],
    ...['  operations: ^1.0.0', '  flags:', '    version: ^1.0.0', '    config:', '      flags:'],
    ...(sku.length > 0 ? sku : ['{}']).map((line) => `        ${line}`),
    ...Object.keys(plugins).map((id) => `  ${id}: { version: ^1.0.0, path: ${id}, isolation: inline }`),
  ];
  writeFileSync(join(folder, 'sku.yaml'), [...lines, ''].join('\n'));
  return resolveSku(join(folder, 'sku.yaml'), []);
}

const told = (resolved: ReturnType<typeof resolve>) =>
  resolved.problems.map(({ file, line, code, message, stops }) =>
    `${file}:${line} ${stops} ${code} ${message}`.replaceAll(`${folder}/`, ''),
  );

describe('a flag in a manifest', () => {
  test('is in the settings of its plugin', () => {
    const resolved = resolve({ lamp: [`short: ${FLAG}`] }, [`long: ${FLAG}`]);
    assert.deepEqual(told(resolved), []);
    assert.deepEqual(resolved.settings?.find(({ id }) => id === 'lamp')?.flags, {
      short: { type: 'boolean', default: false, description: 'd' },
    });
  });

  for (const [title, line, says] of [
    ['without a description', 'short: { type: boolean, default: false }', /description/],
    ['of a type that there is not', 'short: { type: object, default: 1, description: d }', /must be one of boolean/],
    [
      'with a default of another type',
      'short: { type: boolean, default: 1, description: d }',
      /default must be boolean/,
    ],
    ['with half a default', 'n: { type: integer, default: 0.5, description: d }', /default must be integer/],
    ['with a default that is not listed', 's: { type: string, default: c, enum: [a], description: d }', /one of a/],
    ['with a default beyond its bounds', 'n: { type: number, default: 9, maximum: 5, description: d }', /must be <= 5/],
    [
      'with bounds that cross',
      'n: { type: number, default: 1, minimum: 2, maximum: 1, description: d }',
      /below the min/,
    ],
    ['with bounds of a text', 's: { type: string, default: a, minimum: 2, description: d }', /is not for a string/],
    ['with a member that is not known', `short: { secret: true, ${FLAG.slice(2)}`, /secret is not known/],
    ['named with two dots', `'..': ${FLAG}`, /its name is a letter/],
    ['named with a slash', `'a/b': ${FLAG}`, /its name is a letter/],
    ['named with a dot', `a.b: ${FLAG}`, /its name is a letter/],
    ['named with a control', `"a\\u0007": ${FLAG}`, /its name is a letter/],
    ['with a name of 65 letters', `${'x'.repeat(65)}: ${FLAG}`, /at most 64/],
  ] as const)
    test(`${title} is refused, with its line`, () => {
      const [found = '', ...others] = told(resolve({ lamp: [line] }));
      assert.match(found, /^lamp\/plugin\.yaml:7 plugin MANIFEST_INVALID/);
      assert.match(found, says);
      assert.equal(others.filter((one) => !one.includes(':7 ')).length, 0);
    });

  test('that another plugin declares as well is refused, and both places are named', () => {
    const found = told(resolve({ lamp: [`a: ${FLAG}`, `short: ${FLAG}`], lantern: [`short: ${FLAG}`] }));
    assert.equal(found.length, 1);
    assert.match(
      found[0]!,
      /^lantern\/plugin\.yaml:7 plugin MANIFEST_INVALID plugin lantern declares flag short, and so does plugin lamp \(.*lamp\/plugin\.yaml:8\)$/,
    );
  });

  test('that the SKU declares as well is refused, and both places are named', () => {
    const found = told(resolve({ lamp: [`short: ${FLAG}`] }, [`short: ${FLAG}`]));
    assert.equal(found.length, 1);
    assert.match(found[0]!, /^lamp\/plugin\.yaml:7 .* so does the SKU \(.*sku\.yaml:12\)$/);
  });

  test('in a SKU is checked as one of a manifest, with its line', () => {
    const found = told(resolve({}, ['n: { type: integer, default: 9, maximum: 5, description: d }']));
    assert.equal(found.length, 1);
    assert.match(found[0]!, /sku\.yaml:12 plugin SKU_INVALID flag n: default must be <= 5$/);
  });

  test('64 times is taken, and 65 times is refused', () => {
    const flags = (count: number) => Array.from({ length: count }, (_, index) => `f${index}: ${FLAG}`);
    assert.deepEqual(told(resolve({ lamp: flags(64) })), []);
    assert.match(told(resolve({ lamp: flags(65) }))[0]!, /flags must NOT have more than 64/);
  });
});

describe('ten thousand bad names', () => {
  test('are told one by one, and quickly', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `${['..', '/', '\u0000', ' '][index % 4]}${index}`);
    const declared = { type: 'boolean', default: true, description: 'd' } as const;
    assert.ok(names.every((name) => flagNameFault(name) !== undefined && flagFault(name, declared) !== undefined));
  });
});
