/** Which renderer paints: the first of the list that is well, whatever happens to the others while the device runs. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { SkuManifest } from '@device-core/plugin-api';
import { type PluginManager, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { display } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { NO_PICTURES } from '../fixtures/pictures.ts';
import { decodePng } from '../fixtures/png.ts';

const ROOT = join(import.meta.dirname, '../..');
const PLUGINS = {
  operations: '^1.0.0',
  system: '^1.0.0',
  display: '^1.0.0',
  'render-skia': '^1.0.0',
  'render-soft': '^1.0.0',
  'panel-headless': '^1.0.0',
} as const;
const SCENE = {
  scene: 1,
  background: '#204060',
  nodes: [{ kind: 'rect', x: 100, y: 100, w: 200, h: 200, fill: '#ffcc00' }],
} as const;

async function ask<T>(core: Core, name: string): Promise<T> {
  const caller = { kind: 'operator', id: 'operator' } as const;
  const call = { caller, signal: new AbortController().signal, deadline: Date.now() + 30_000 };
  return (await core.service(operations).invoke(name, {}, call)) as T;
}

const paints = (core: Core, renderer: string) =>
  eventually(async () => (await core.service(display).state()).renderer === renderer, `${renderer} paints`, {
    ms: 60_000,
  });

/** The scene is on the glass. */
const seen = (core: Core) =>
  eventually(async () => {
    const { png } = await ask<{ readonly png: string }>(core, 'panel.picture');
    const { rgba } = decodePng(Buffer.from(png, 'base64'));
    const at = (x: number, y: number) => [...rgba.subarray((y * 720 + x) * 4, (y * 720 + x) * 4 + 3)].join();
    return at(200, 200) === '255,204,0' && at(400, 400) === '32,64,96';
  }, 'the scene on the glass');

interface Health {
  readonly status: string;
  readonly components: Readonly<Record<string, { readonly status: string; readonly message?: string }>>;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

describe('renderers', () => {
  test('without the addon the Core starts, the soft renderer paints, and /health says so', async () => {
    const hidden = { version: '^1.0.0', config: { library: '@napi-rs/canvas-that-is-not-there' } };
    await using core = await startCore({ plugins: { ...PLUGINS, 'render-skia': hidden } });
    await paints(core, 'soft');
    await core.service(display).put({ id: 'home', layer: 'home', scene: SCENE });
    await seen(core);
    const health = await ask<Health>(core, 'system.health');
    assert.equal(health.components.display?.message, 'soft paints on headless');
    assert.equal(health.components['render-soft']?.status ?? 'okay', 'okay');
    const told = (health.warnings ?? []).map(({ code }) => code);
    assert.ok(told.includes('RENDERER_MISSING') && told.includes('RENDERER_SECOND'), JSON.stringify(health.warnings));
  });

  test('a line of the SKU swaps it while the device runs, and the screen stays', { skip: NO_PICTURES }, async () => {
    await using core = await startCore({ plugins: PLUGINS });
    await paints(core, 'skia');
    await core.service(display).put({ id: 'home', layer: 'home', scene: SCENE });
    await seen(core);
    const sku = parse(readFileSync(core.skuFile, 'utf8')) as SkuManifest;
    const manager: PluginManager = core.service(pluginManager);
    const apply = async (plugins: SkuManifest['plugins']) => {
      writeFileSync(core.skuFile, stringify({ ...sku, plugins }));
      await manager.apply();
    };
    const { 'render-skia': skia, ...without } = sku.plugins;
    await apply(without);
    await paints(core, 'soft');
    await seen(core);
    await apply({ ...without, 'render-skia': skia! });
    await paints(core, 'skia');
    await seen(core);
    // It paints in a worker: nothing of the addon is loaded in the Core's own thread by that.
    const loaded = Object.keys(createRequire(import.meta.url).cache).filter((file) =>
      /@napi-rs\/canvas.*\.(node|js)$/.test(file),
    );
    assert.deepEqual(loaded, []);
  });
});

test('the lock has the addon for 64 bits of x64 and arm64 with glibc, and for nothing else', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly name?: string; readonly version: string }>>;
  };
  const builds = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/@napi-rs/canvas-'));
  assert.equal(builds.length, 11, 'each that the wrapper names is in the lock, or npm ci fails');
  const { version } = packages['node_modules/@napi-rs/canvas']!;
  const real = builds.filter(([, { name }]) => name === undefined);
  assert.deepEqual(real.map(([path, one]) => [path.split('canvas-')[1], one.version]).sort(), [
    ['linux-arm64-gnu', version],
    ['linux-x64-gnu', version],
  ]);
  for (const [path, { name }] of builds) assert.ok(name === undefined || name === 'uqr', path);
});

test('no SKU runs the addon in the thread of the Core', () => {
  const manifest = parse(readFileSync(join(ROOT, 'manifests/plugins/display/render-skia.yaml'), 'utf8'));
  assert.equal(manifest.isolation, 'worker');
  for (const name of ['device', 'headless-io', 'safe-mode', 'simulator']) {
    const { plugins } = parse(readFileSync(join(ROOT, `manifests/skus/${name}.yaml`), 'utf8')) as SkuManifest;
    const line = plugins['render-skia'];
    assert.ok(typeof line !== 'object' || line.isolation === undefined || line.isolation === 'worker', name);
    if (name === 'safe-mode') assert.equal(line, undefined, 'safe mode needs no addon');
  }
});
