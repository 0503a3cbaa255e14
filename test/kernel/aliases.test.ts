/** Lines of a SKU with another name of a plugin of the tree. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { manifestInTree, treeAliases, treeManifests } from '@device-core/plugin-api/inside/tree';
import { resolveSku } from '../../kernel/boot/check.ts';
import { reportOf } from '../../kernel/boot/report.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'da-'));
after(() => rmSync(folder, { recursive: true }));

function resolved(lines: readonly string[], head: readonly string[] = ['skuVersion: 1', 'id: test', 'title: Test']) {
  const file = join(folder, `${lines.length}-${head.length}.yaml`);
  writeFileSync(file, [...head, 'plugins:', '  operations: ^1.0.0', ...lines, ''].join('\n'));
  return resolveSku(file, [], join(folder, 'state'));
}

describe('a line with an alias', () => {
  const FILE = { in: 'file', until: 'exit', alone: false };
  for (const [line, id, config, given] of [
    ['secrets-file: ^1.0.0', 'secrets-file', FILE, {}],
    ['secrets-keyring: ^1.0.0', 'secrets-keyring', { ...FILE, in: 'keyring' }, {}],
    [
      'secrets-keyring: { version: ^1.0.0, config: { until: reboot, alone: true } }',
      'secrets-keyring',
      { in: 'keyring', until: 'reboot', alone: true },
      { until: 'reboot', alone: true },
    ],
    ['secrets: { version: ^1.0.0, config: { in: keyring } }', 'secrets', { ...FILE, in: 'keyring' }, { in: 'keyring' }],
    ['secrets: ^1.0.0', 'secrets', FILE, {}],
  ] as const)
    test(`keeps its id and brings its settings: ${line}`, () => {
      const found = resolved([`  ${line}`]);
      assert.deepEqual(found.problems, []);
      const entry = found.plugins.find((one) => one.id === id)!;
      assert.deepEqual({ ...entry.config }, config);
      assert.equal(entry.manifest.id, id, 'the health and the settings of the device go by this name');
      assert.deepEqual(found.settings?.find((one) => one.id === id)?.given, given);
      const report = reportOf(found).resolved as { readonly plugins: readonly { id: string; file: string }[] };
      const { file } = report.plugins.find((one) => one.id === id)!;
      assert.equal(file, join(ROOT, 'manifests/plugins/state/secrets.yaml'));
    });

  test('is refused beside another line of the same plugin', () => {
    const { problems } = resolved(['  secrets-file: ^1.0.0', '  secrets-keyring: ^1.0.0']);
    assert.ok(problems.some(({ code, stops }) => code === 'SERVICE_ALREADY_PROVIDED' && stops === 'core'));
  });

  test('is removed by the name that the base gave it, and a plugin that misses its service is told of that', () => {
    const base = ['skuVersion: 1', 'id: base', 'title: Base', 'plugins:', '  secrets-file: ^1.0.0', ''];
    writeFileSync(join(folder, 'base.yaml'), base.join('\n'));
    const head = ['skuVersion: 1', 'id: own', 'title: Own', 'extends: base.yaml', 'remove: [secrets-file]'];
    const kept = resolved(['  secrets-keyring: ^1.0.0'], head);
    assert.deepEqual(kept.problems, []);
    assert.deepEqual(
      kept.plugins.map(({ id }) => id),
      ['operations', 'secrets-keyring'],
    );
    writeFileSync(
      join(folder, 'plugin.yaml'),
      'id: keeper\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: plugin.yaml\nrequires: { secrets: ^1.0.0 }\n',
    );
    const { problems } = resolved([`  keeper: { version: ^1.0.0, path: ${folder}, isolation: inline }`], head);
    assert.ok(
      problems.some(({ message }) => /plugin secrets-file provides it, and .*:5 removes it/.test(message)),
      problems.map(({ message }) => message).join('\n'),
    );
  });
});

test('aliases name plugins of the tree and are no plugins themselves', () => {
  const manifests = treeManifests(ROOT);
  const aliases = treeAliases(ROOT);
  assert.ok(aliases.size > 0);
  for (const [alias, { plugin }] of aliases) {
    assert.ok(!manifests.has(alias), alias);
    assert.equal(manifestInTree(ROOT, alias), manifests.get(plugin));
  }
  assert.equal(manifestInTree(ROOT, 'ghost'), undefined);
  assert.equal(treeAliases(folder).size, 0, 'a checkout without the file has none');
});
