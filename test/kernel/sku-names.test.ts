/** Names in a SKU that stand for what its plugins offer, and a SKU with more than one mistake. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { resolveSku } from '../../kernel/boot/check.ts';

const folder = mkdtempSync(join(tmpdir(), 'dn-'));
after(() => rmSync(folder, { recursive: true }));

/** A plugin from outside of the tree that brings engines and names none. */
mkdirSync(join(folder, 'engine'));
writeFileSync(join(folder, 'engine/index.js'), 'throw new Error("plugin code was run");\n');
writeFileSync(
  join(folder, 'engine/plugin.yaml'),
  'id: engine\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: index.js\nrequires: { speech: ^1.0.0 }\n',
);

function check(lines: readonly string[]) {
  const file = join(folder, 'sku.yaml');
  const head = ['skuVersion: 1', 'id: test', 'title: Test', 'simulated: true', 'plugins:'];
  writeFileSync(file, [...head, ...lines, ''].join('\n'));
  return resolveSku(file).problems;
}

describe('names that a setting takes from other plugins', () => {
  const DISPLAY = '  display: { version: ^1.0.0, config: { renderers: NAMES } }';
  const SPEECH = '  speech: { version: ^1.0.0, config: { order: { stt: NAMES } } }';
  const ROWS: readonly (readonly [title: string, lines: readonly string[], found: RegExp | undefined])[] = [
    ['a renderer that is there', [DISPLAY.replace('NAMES', '[soft]'), '  render-soft: ^1.0.0'], undefined],
    [
      'a renderer that is not',
      [DISPLAY.replace('NAMES', '[soft, sfot]'), '  render-soft: ^1.0.0'],
      /display\.renderers names the renderer sfot, .*it has soft; did you mean soft\?$/,
    ],
    [
      'a renderer of a plugin that is switched off',
      [DISPLAY.replace('NAMES', '[soft]'), '  render-soft: { version: ^1.0.0, enabled: false }'],
      /names the renderer soft, .*it has none$/,
    ],
    ['renderers that are there by default alone', ['  display: ^1.0.0', '  render-soft: ^1.0.0'], undefined],
    ['an engine that is there', [SPEECH.replace('NAMES', '[stt-cloud]'), '  stt-cloud: ^1.0.0'], undefined],
    [
      'an engine of another kind',
      [SPEECH.replace('NAMES', '[flite]'), '  tts-flite: ^1.0.0'],
      /speech\.order\.stt names the stt flite, .*it has none$/,
    ],
    [
      'an engine of a plugin whose configuration names its own',
      [SPEECH.replace('NAMES', '[kitchen]'), '  wyoming: ^1.0.0'],
      undefined,
    ],
  ];
  for (const [title, lines, expected] of [
    ...ROWS,
    [
      'an engine that a foreign plugin may bring',
      [SPEECH.replace('NAMES', '[own]'), '  engine: { version: ^1.0.0, path: engine, isolation: inline }'],
      undefined,
    ] as const,
  ])
    test(title, () => {
      const told = check(lines).filter(({ message }) => message.includes(' names the '));
      assert.equal(told.length, expected ? 1 : 0, JSON.stringify(told));
      if (!expected) return;
      assert.match(told[0]!.message, expected);
      assert.equal(told[0]!.stops, 'nothing');
    });
});

test('a SKU of a family with many mistakes tells all of them', () => {
  const base = join(folder, 'family-base.yaml');
  const file = join(folder, 'family.yaml');
  const head = ['skuVersion: 1', 'id: family', 'title: Family', 'simulated: true'];
  writeFileSync(base, [...head, 'plugins:', '  speech: ^1.0.0', '  limits: ^1.0.0', ''].join('\n'));
  const own = [
    ...['skuVersion: 1', 'id: family', 'title: Family', 'extends: family-base.yaml', 'remove: [lmits]'],
    ...['grants: { com.example.a: [audio.captrue] }', 'plugins:', '  speech:', '    config:'],
    ...['      leastPauseMs: 1', '      mostPauseMs: often', '      order: { stt: [nobody] }', '  no-such: ^1.0.0', ''],
  ];
  writeFileSync(file, own.join('\n'));
  const found = resolveSku(file).problems.map(({ message }) => message);
  for (const pattern of [
    /lmits/,
    /audio\.captrue/,
    /leastPauseMs/,
    /mostPauseMs/,
    /names the stt nobody/,
    /no plugin no-such/,
  ])
    assert.equal(found.filter((message) => pattern.test(message)).length, 1, `${pattern}: ${found.join('\n')}`);
});

test('a key of grants is the id of an app, or *', () => {
  for (const [id, right] of [
    ...([
      ['com.example.a', true],
      ['"*"', true],
      ['"Not An Id"', false],
      ['a', false],
      ['"com..a"', false],
      ['"**"', false],
    ] as const),
  ]) {
    const file = join(folder, 'grants.yaml');
    const lines = [
      'skuVersion: 1',
      'id: test',
      'title: Test',
      `grants: { ${id}: [display.control] }`,
      'plugins: {}',
      '',
    ];
    writeFileSync(file, lines.join('\n'));
    const found = resolveSku(file).problems.filter(({ message }) => message.startsWith('grants.'));
    assert.equal(found.length > 0, !right, `${id}: ${JSON.stringify(found)}`);
    if (!right) assert.equal(found[0]!.line, 4);
  }
});
