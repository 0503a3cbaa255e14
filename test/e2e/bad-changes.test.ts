/** Every way to get a SKU wrong, by every way to change it while the device runs: refused with its line, and nothing was touched. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually, pace } from '../fixtures/eventually.ts';

const SKU = `skuVersion: 1
id: test
title: Test device
simulated: true
grants: { com.example.a: [audio.playback] }
plugins:
  operations: { version: ^1.0.0, essential: true }
  identity: { version: ^1.0.0, essential: true }
  system: { version: ^1.0.0, essential: true }
  http: { version: ^1.0.0, essential: true, config: { tcp: false } }
  composer: { version: ^1.0.0, config: { quietMs: 50 } }
  gives: { version: ^1.0.0, path: gives, isolation: inline }
  takes: { version: ^1.0.0, path: takes, isolation: inline }
`;
const without = (line: string) => SKU.replace(new RegExp(`  ${line}:.*\n`), '');

/** What is wrong, and what is said about which line. */
const BAD: readonly (readonly [what: string, text: string, code: string, said: RegExp])[] = [
  ['no line for the essential identity', without('identity'), 'SKU_INVALID', /sku\.yaml:9: plugin http: service ident/],
  [
    'no line for an essential plugin that nobody requires',
    without('system'),
    'SKU_INVALID',
    /:6: plugin system is ess/,
  ],
  [
    'an essential plugin that is disabled',
    SKU.replace('system: {', 'system: { enabled: false,'),
    'SKU_INVALID',
    /:9: /,
  ],
  ['a plugin whose service is needed is gone', without('gives'), 'SKU_INVALID', /:12: plugin takes: service gift/],
  ['it is disabled', SKU.replace('gives: {', 'gives: { enabled: false,'), 'SKU_INVALID', /:13: plugin takes: serv/],
  ['a new plugin without its service', `${SKU}  bme280: ^1.0.0\n`, 'SKU_INVALID', /:14: plugin bme280: .*"i2c: \^1/],
  ['an unknown capability', SKU.replace('audio.playback', 'audio.playbak'), 'SKU_INVALID', /:5: .*audio\.playback\?/],
  ['a typo in an id', `${SKU}  evnts: ^1.0.0\n`, 'SKU_INVALID', /:14: .*did you mean events\?/],
  ['a version that is not there', `${SKU}  events: ^7.0.0\n`, 'SKU_INVALID', /:14: plugin events is 1/],
  ['a configuration that does not fit', SKU.replace('quietMs: 50', 'quietMs: x'), 'SKU_INVALID', /:11: .*quietMs must/],
  ['broken YAML', SKU.replace('title: ', '"title: '), 'SKU_INVALID', /sku\.yaml:\d+: /],
  ['it is open without being simulated', SKU.replace('simulated: true', 'auth: open'), 'SKU_INVALID', /:4: auth: open/],
];

function writePlugin(root: string, id: string, lines: string): void {
  mkdirSync(join(root, id));
  const text = `id: ${id}\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: index.js\n${lines}`;
  writeFileSync(join(root, id, 'plugin.yaml'), text);
  const setup =
    id === 'gives' ? `(host) { host.provide({ kind: 'service', id: 'gift', version: '1.0.0' }, {}); }` : '() {}';
  writeFileSync(join(root, id, 'index.js'), `export const plugin = { kind: 'plugin', requires: {}, setup${setup} };\n`);
}

test('a change that check would refuse is refused by check, apply and the watched file alike, before a plugin is stopped', async (t) => {
  using root = new TemporaryRoot();
  const file = join(root.path, 'sku.yaml');
  writePlugin(root.path, 'gives', 'provides: { gift: 1.0.0 }\n');
  writePlugin(root.path, 'takes', 'requires: { gift: ^1.0.0 }\n');
  writeFileSync(file, SKU);
  await using core = await CoreProcess.start(root.path, '--sku', file);
  const plugins = async () => {
    const { body } = await core.get('/plugins');
    return body.plugins.map(({ id, state, generation }: PluginStatus) => `${id} ${state} ${generation}`);
  };
  const warnings = async () =>
    ((await core.get('/health')).body.warnings ?? []).filter(({ code }: { code: string }) => code !== 'AUTH_OPEN');
  // The watchers look around before they see an edit; nothing tells when they have done so.
  await pace(500);
  const before = await plugins();
  assert.deepEqual(
    before,
    before.map((one: string) => one.replace(/ \w+ \d+$/, ' active 1')),
  );

  for (const [what, text, code, said] of BAD) {
    await t.test(what, async () => {
      writeFileSync(file, text);
      for (const check of [true, false]) {
        // Refused before there is a change of it.
        const { body } = await core.post('/plugins/apply', { check });
        assert.equal(body.code, code, `check ${check}: ${JSON.stringify(body)}`);
        const lines = body.details.problems.map(
          (one: { file: string; line: number; message: string }) => `${one.file}:${one.line}: ${one.message}`,
        );
        assert.match(lines.join('\n'), said, `check ${check}`);
      }
      const told = await eventually(async () => (await warnings())[0], 'the warning', { ms: 20_000 });
      assert.equal(told.code, code);
      assert.match(told.message, said);
      assert.match(core.err, said, 'the terminal says so');
      assert.match(readFileSync(join(root.path, 'var/log/core.log'), 'utf8'), said, 'the log says so');
      assert.deepEqual(await plugins(), before);
      writeFileSync(file, SKU);
      await eventually(async () => (await warnings()).length === 0, 'the file is mended', { ms: 20_000 });
      assert.deepEqual(await plugins(), before);
    });
  }
  assert.equal(await core.stop(), 0);
});
