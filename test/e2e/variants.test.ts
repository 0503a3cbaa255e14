/** Every SKU of the tree runs as a process of its own, with exactly the plugins it lists, and ends in order. Costs processes: each SKU of the tree starts. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SkuManifest } from '@device-core/plugin-api';
import { connectApp } from '@device-core/plugin-api/app';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { type Answer, CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { noSpidev, SpidevLab } from '../fixtures/spidev.ts';
import { wallsHere } from '../fixtures/walls.ts';

const FOLDER = fileURLToPath(new URL('../../manifests/skus', import.meta.url));
const variants = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml') && !name.endsWith('.lock.yaml'))
  .map((name) => ({ file: `${FOLDER}/${name}`, sku: readSkuFamily(`${FOLDER}/${name}`).value }));

const walls = await wallsHere();

function demandsWalls({ plugins: { apps } }: SkuManifest): boolean {
  return apps !== undefined && !(typeof apps === 'object' && apps.config?.insecure === true);
}

/** What it complained of. That it starts and how far it is are no complaints; that a plugin took long is the fault of a machine that has other things to do. */
function troubles({ err }: CoreProcess): readonly string[] {
  return err
    .split('\n')
    .filter(
      (line) =>
        line !== '' && !/(blocked|kept) the event loop| starts: \d+ plugins$| are active, on the way: /.test(line),
    );
}

/** A board's own buses are not on this machine, and each is named. */
const isFaultHere = (line: string): boolean => !/^warning: host-\w+: .*: there is no such device node$/.test(line);

describe('the variants', () => {
  for (const { file, sku } of variants)
    test(`${sku.id} starts whole, is well and stops`, { skip: 'port-spidev' in sku.plugins && noSpidev }, async () => {
      using root = new TemporaryRoot();
      await using spidev = 'port-spidev' in sku.plugins ? await SpidevLab.open() : undefined;
      const which = sku.id === 'safe-mode' ? ['--safe-mode'] : ['--sku', file];
      await using core = await CoreProcess.startIn(spidev?.environment ?? {}, root.path, ...which, '--port', '0');
      const { body: health }: Answer = await core.get('/health');
      const { status, components } = health;
      const bad = Object.entries<ComponentHealth>(components).flatMap(([name, { status: its, code }]) =>
        its === 'okay' || its === 'waiting' ? [] : [`${name}: ${its} ${code}`],
      );
      // A SKU that demands walls around its apps starts without bubblewrap, too, and tells that no app will.
      const walled = walls === 'bubblewrap' || !demandsWalls(sku);
      assert.deepEqual(bad, walled ? [] : ['apps.walls: error SANDBOX_UNAVAILABLE']);
      assert.equal(status, walled ? 'ok' : 'degraded', JSON.stringify(health));
      const { body } = await core.get('/plugins');
      const ids = body.plugins.map(({ id }: { id: string }) => id);
      assert.deepEqual(ids.sort(), Object.keys(sku.plugins).sort());
      assert.deepEqual(
        body.plugins.filter(({ state }: { state: string }) => state !== 'active'),
        [],
      );
      assert.deepEqual(troubles(core).filter(isFaultHere), []);
      assert.equal(await core.stop(), 0);
      assert.deepEqual(troubles(core).filter(isFaultHere), []);
    });

  test('there are at least simulator, device, headless-io and safe-mode, and a family of four products', () => {
    const ids = variants.map(({ sku }) => sku.id);
    for (const id of ['simulator', 'device', 'headless-io', 'safe-mode']) assert.ok(ids.includes(id), id);
    for (const id of ['base', 'kiosk', 'kiosk-quiet', 'speaker', 'gateway']) assert.ok(ids.includes(id), id);
  });
});

describe('headless-io', () => {
  test('serves the bridge, events and functions over its front ends, and nothing else', async () => {
    using root = new TemporaryRoot();
    await using core = await CoreProcess.start(root.path, '--sku', `${FOLDER}/headless-io.yaml`, '--no-tcp');
    const rpcSocket = `${root.path}/run/apps/controller/rpc.sock`;
    const app = await connectApp({ appId: 'com.example.controller', rpcSocket });
    const read = () => app.call<{ rx: string }>('spi.transfer', { handle: 'flash', tx: 'nw==', rxLen: 4 });
    await app.provide({ name: 'flash.id', version: '1.0.0', returns: { id: 'string' } }, async () => ({
      id: (await read()).rx,
    }));
    const { body: answer } = await core.post('/functions/call', { name: 'flash.id' });
    assert.deepEqual(answer.result, { id: '/+9AFA==' });
    const toast = Promise.withResolvers<unknown>();
    await app.events.subscribe('ui.toast', ({ payload }) => toast.resolve(payload));
    const transfer = await core.post('/SPI_transfer_txrx', { handle: 'flash', tx: 'nw==', rxLen: 4 });
    assert.deepEqual(transfer.body, { ok: true, rx: '/+9AFA==' });
    assert.equal(
      (await core.post('/events/publish', { topic: 'ui.toast', payload: { text: 'x', level: 'info' } })).status,
      202,
    );
    assert.deepEqual(await toast.promise, { text: 'x', level: 'info' });
    app.close();
    for (const path of ['/config', '/apps', '/logs', '/plugins/installed'])
      assert.equal((await core.get(path)).status, 404, path);
  });
});
