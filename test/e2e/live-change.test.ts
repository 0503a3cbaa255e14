/** Files are edited while the Core runs, and it follows, or says why it does not. */
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
plugins:
  operations: { version: ^1.0.0, essential: true }
  identity: { version: ^1.0.0, essential: true }
  system: { version: ^1.0.0, essential: true }
  http: { version: ^1.0.0, essential: true, config: { tcp: false } }
  composer: { version: ^1.0.0, config: { quietMs: 50 } }
  changes: ^1.0.0
  dev-reload: { version: ^1.0.0, config: { quietMs: 50 } }
  spi:
    version: ^1.0.0
    config: { handles: [] }
`;
const HANDLE = '{ name: flash, endpoint: spi0, cs: 0, speed: 8000000, mode: 0 }';

async function start(root: string, text = SKU) {
  const file = join(root, 'sku.yaml');
  writeFileSync(file, text);
  const core = await CoreProcess.start(root, '--sku', file);
  const plugins = async (): Promise<Record<string, PluginStatus>> => {
    const { body } = await core.get('/plugins');
    return Object.fromEntries(body.plugins.map((one: PluginStatus) => [one.id, one]));
  };
  const until = <T>(what: string, ask: () => Promise<T | undefined | false>) =>
    eventually(ask, what, { ms: 20_000, every: 20 }).catch((error) => {
      throw new Error(`${core.out}\n${core.err}`, { cause: error });
    });
  const warning = (code: string) =>
    until(code, async () => {
      const { warnings = [] } = (await core.get('/health')).body;
      return warnings.find((one: { code: string }) => one.code === code)?.message as string | undefined;
    });
  // The watchers look around before they see an edit; nothing tells when they have done so.
  await pace(500);
  const write = (change: string) => writeFileSync(file, change);
  return { core, plugins, until, warning, write, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

test('an edited SKU is applied: changed plugins alone restart, mistakes are told with file and line, failures are undone', async () => {
  using root = new TemporaryRoot();
  await using device = await start(root.path);
  const { core, plugins, until, warning, write } = device;
  const before = await plugins();

  write(SKU.replace('handles: []', `handles: [${HANDLE}]`));
  await until('the handle', async () => (await core.get('/spi/handles')).body.handles?.length === 1);
  const after = await plugins();
  assert.deepEqual([before.spi?.generation, after.spi?.generation], [1, 2]);
  for (const id of ['http', 'system', 'operations', 'composer']) assert.equal(after[id]?.generation, 1, id);

  write(SKU.replace('handles: []', 'handles: 5'));
  assert.match(await warning('SKU_INVALID'), /^sku\.yaml:15: configuration spi\.handles must be array$/);
  assert.equal((await core.get('/spi/handles')).body.handles.length, 1, 'the former set runs on');
  assert.equal((await core.post('/plugins/apply', { check: true })).body.code, 'SKU_INVALID');

  write(SKU.replace('handles: []', `handles: [${HANDLE}, ${HANDLE}]`));
  const twice = /^sku\.yaml:15: configuration spi\.handles\.1\.name is "flash", and so is that of item 0$/;
  await until('the duplicate', async () => twice.test(await warning('SKU_INVALID')));

  // Whether there is such a board is not of the schema's business: the plugin itself refuses it at its start.
  const absent = '  port-sim: { version: ^1.0.0, config: { board: nowhere } }\n';
  write(SKU.replace('handles: []', `handles: [${HANDLE}]`) + absent);
  assert.match(await warning('CHANGE_UNDONE'), /plugin port-sim: .*nowhere.*; the former plugins run again/);
  await until('the former set', async () => (await plugins()).spi?.state === 'active');
  assert.equal((await core.get('/spi/handles')).body.handles.length, 1);

  write(SKU.replace(/ {2}spi:[\s\S]*$/, '  limits: ^1.0.0\n'));
  await until('limits', async () => (await plugins()).limits?.state === 'active');
  assert.equal((await plugins()).spi, undefined);
  const { body } = await core.get('/health');
  assert.deepEqual([body.status, body.warnings], ['ok', undefined]);
  assert.match(body.components.composer.message, /^last change: added limits; removed spi/);
  assert.equal(await core.stop(), 0);
});

test('devicectl may ask for the change without a watcher, also of plugins that carry the answer', async () => {
  using root = new TemporaryRoot();
  await using device = await start(root.path, SKU.replace(/ {2}composer.*\n/, ''));
  const { core, plugins, until, write } = device;
  write(SKU.replace(/ {2}composer.*\n/, '').replace('title: Test device', 'title: Another'));
  const check = await core.post('/plugins/apply', { check: true });
  assert.deepEqual([check.status, check.body.difference.device], [200, true]);
  const { status, body } = await core.post('/plugins/apply');
  assert.equal(status, 202, JSON.stringify(body));
  await until('the restart of http', async () => {
    const { http } = await plugins().catch(() => ({}) as Awaited<ReturnType<typeof plugins>>);
    return http?.generation === 2 && http.state === 'active';
  });
  assert.equal((await core.get('/version')).body.sku.title, 'Another');
  // The keeper of changes was restarted by the very change.
  const over = await until('the end of the change', async () => {
    const answer = await core.get(`/changes/${body.change}`);
    return answer.status === 200 && answer.body.state !== 'doing' && answer.body;
  });
  assert.deepEqual(
    [over.state, over.result?.difference.device, over.by],
    ['done', true, 'operator'],
    JSON.stringify(over),
  );
});

const PLUGIN = (answer: string) => `
import { definePlugin } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
export const plugin = definePlugin({
  requires: { operations },
  setup(host, services) {
    host.scope.use('demo.say', services.operations.add({
      name: 'demo.say', summary: 'say', params: { type: 'object' }, result: { type: 'object' },
      rest: { method: 'GET', path: '/demo' }, errors: [],
      run: async () => ({ said: '${answer}' }),
    }));
  },
});
`;

for (const level of ['worker', 'process'] as const) {
  test(`the code of a plugin in a ${level} is saved, and the new code runs; broken code is told and mended by the next save`, async () => {
    using root = new TemporaryRoot();
    const folder = join(root.path, 'demo');
    mkdirSync(folder);
    const module = join(folder, 'index.ts');
    writeFileSync(module, PLUGIN('one'));
    const manifest =
      'id: demo\nversion: 1.0.0\nsummary: says something\napi: ^1.0.0\nmain: index.ts\nrequires: { operations: ^1.0.0 }\n';
    writeFileSync(join(folder, 'plugin.yaml'), manifest);
    const line = `  demo: { version: ^1.0.0, path: ./demo, isolation: ${level} }\n`;
    await using device = await start(root.path, SKU + line);
    const { core, plugins, until } = device;
    const says = async () => (await core.get('/demo')).body.said;
    assert.equal(await says(), 'one');

    writeFileSync(module, PLUGIN('two'));
    await until('the new code', async () => (await says()) === 'two');
    writeFileSync(module, readFileSync(module, 'utf8').replace('definePlugin({', 'definePlugin({ ('));
    const failed = await until('the failure', async () => {
      const { demo } = await plugins();
      return demo?.nextStartAt !== undefined && demo;
    });
    assert.equal(failed.state, 'failed');
    const answer = await core.get('/demo');
    assert.deepEqual([answer.status, answer.body.code], [503, 'UNAVAILABLE']);
    writeFileSync(module, PLUGIN('three'));
    await until('the mended code', async () => (await says()) === 'three');
    // A collection is shared for a moment.
    await eventually(async () => (await core.get('/health')).body.status === 'ok', 'its health');
  });
}
