/** Pages of plugins as data: what is wrong with one is told at load, with file and line, and no code of the plugin is run. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { resolveSku } from '../../kernel/boot/check.ts';

const folder = mkdtempSync(join(tmpdir(), 'dp-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

const HEAD = ['id: paged', 'version: 1.0.0', 'summary: for a test', 'api: ^1.0.0', 'main: index.js'];

/** Problems as `line code message`. The page begins at line 6. */
function problems(...lines: readonly string[]): readonly string[] {
  mkdirSync(join(folder, 'paged'), { recursive: true });
  writeFileSync(join(folder, 'paged/index.js'), 'throw new Error("plugin code was run");\n');
  writeFileSync(join(folder, 'paged/plugin.yaml'), [...HEAD, ...lines, ''].join('\n'));
  const sku = ['skuVersion: 1', 'id: test', 'title: Test', 'simulated: true', 'plugins:'];
  const line = '  paged: { version: ^1.0.0, path: paged, isolation: inline }';
  writeFileSync(join(folder, 'sku.yaml'), [...sku, line, ''].join('\n'));
  return resolveSku(join(folder, 'sku.yaml'), []).problems.map((one) => `${one.line} ${one.code} ${one.message}`);
}

const page = (...panel: readonly string[]) => [
  ...['pages:', '  - id: one', '    title: One', '    panels:', '      - title: Panel'],
  ...panel.map((line) => `        ${line}`),
];
const SOURCE = 'from: { operation: sensors.list, everyMs: 1000 }';
const VALUES = 'values: [{ at: /values/a, label: A }]';

describe('a page of a plugin as data', () => {
  test('may show values, charts and tables, say texts in languages, and have buttons and a form', () => {
    const table = "table: { rows: /rows, columns: [{ at: '', label: { en: A, de: B } }] }";
    const buttons = 'buttons: [{ label: Do, operation: voice.say, params: { text: hello } }]';
    const form = 'form: { label: Ask, operation: voice.ask }';
    const chart = 'chart: [{ at: /a, label: A, unit: °C, digits: 2 }]';
    assert.deepEqual(problems(...page(SOURCE, VALUES, chart, table, 'text: { en: hello }', buttons, form)), []);
    assert.deepEqual(problems(...page('from: { event: system.presence }', VALUES)), []);
  });

  for (const [title, panel, line, says] of [
    ['script', ['script: alert(1)', 'text: t'], 11, /script/],
    ['styles', ['style: { color: red }', 'text: t'], 11, /style/],
    ['a link elsewhere', ['href: https://example.com', 'text: t'], 11, /href/],
    ['HTML', ['html: <b>t</b>', 'text: t'], 11, /html/],
    ['nothing at all', [], 10, /panel is empty/],
    ['values from nowhere', [VALUES], 10, /says not from what/],
    ['a source of which nothing is shown', [SOURCE, 'text: t'], 10, /shows nothing of it/],
    ['two sources at once', ['from: { operation: a.b, event: a.b }', VALUES], 11, /from/],
    ['a source that asks ten times a second', ['from: { operation: a.b, everyMs: 100 }', VALUES], 11, /everyMs/],
    ['an operation that is no name', ['from: { operation: ../config }', VALUES], 11, /operation/],
    ['a topic that is none', ["from: { event: 'a..b' }", VALUES], 10, /a\.\.b/],
    ['a pointer that is none', [SOURCE, 'values: [{ at: values.a, label: A }]'], 12, /at/],
    ['a button without an operation', ['buttons: [{ label: Do }]'], 11, /operation/],
    ['a button with an address', ['buttons: [{ label: Do, operation: a.b, href: /x }]'], 11, /href/],
    ['a text of 10,000 letters', [`text: ${'x'.repeat(10_000)}`], 11, /text/],
  ] as const)
    test(`with ${title} is refused, with its line`, () => {
      const found = problems(...page(...panel));
      assert.ok(
        found.some((one) => one.startsWith(`${line} MANIFEST_INVALID`) && says.test(one)),
        found.join('\n') || 'nothing was found',
      );
    });

  test('twice under one name is refused', () => {
    const one = page('text: t');
    assert.match(problems(...one, ...one.slice(1)).join('\n'), /the page one is declared twice/);
  });
});
