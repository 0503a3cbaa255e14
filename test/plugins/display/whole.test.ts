/** A whole Core with its real renderers: what is on the glass survives whoever paints it. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type Display, display } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { OPERATOR } from '@device-core/plugin-api/testing';
import { startCore } from '../../fixtures/core.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { decodePng } from '../../fixtures/png.ts';
import { FarViewer } from './far-viewer.ts';

/** Small: each look at the glass makes a PNG of it. */
const PANEL = { version: '^1.0.0', config: { width: 360, height: 360 } };
const PICTURES = { ms: 30_000, every: 100 };

const SKU = {
  operations: '^1.0.0',
  limits: '^1.0.0',
  'panel-sim': PANEL,
  display: '^1.0.0',
  'render-skia': '^1.0.0',
  'render-soft': '^1.0.0',
};

function addonMissing(): string | false {
  try {
    createRequire(import.meta.url)('@napi-rs/canvas');
    return false;
  } catch {
    return 'the addon @napi-rs/canvas is not installed here';
  }
}

const skip = addonMissing();
test('a renderer that goes in the middle leaves the picture to the next one, and takes it back', { skip }, async () => {
  await using core = await startCore({ plugins: SKU });
  const table = core.service(operations);
  const call = () => ({ caller: OPERATOR, signal: new AbortController().signal, deadline: Number.POSITIVE_INFINITY });
  const run = async (name: string, params: object) =>
    (await table.invoke(name, params, call())) as Record<string, string>;
  const state = () => core.service<Display>(display).state();
  const painted = (by: string) =>
    eventually(async () => (await state()).renderer === by, `${by} paints`, { ms: 30_000 });
  const glass = async () => (await run('panel.picture', {})).png!;
  await painted('skia');
  const dark = await glass();
  await run('display.card', { card: 1, template: 'text', title: 'Tea', value: '3 min', body: 'Green' });
  const before = await eventually(
    async () => {
      const now = await glass();
      return now !== dark && now;
    },
    'the card is on the glass',
    PICTURES,
  );
  const manager = core.service(pluginManager);
  await manager.disable('render-skia');
  await painted('soft');
  const soft = await eventually(
    async () => {
      const now = await glass();
      return now !== before && now;
    },
    'the soft renderer has painted it',
    PICTURES,
  );
  assert.deepEqual((await run('display.describe', {})).text, ['Tea', '3 min', 'Green']);
  await manager.enable('render-skia');
  await painted('skia');
  await eventually(async () => (await glass()) !== soft, 'Skia has painted it again', PICTURES);
  assert.deepEqual((await run('display.describe', {})).text, ['Tea', '3 min', 'Green']);
});

for (const driver of ['panel-sim', 'panel-headless'])
  test(`a remote watcher of ${driver} sees its glass to the bit, with any renderer`, { skip }, async () => {
    const { 'panel-sim': _, ...screen } = SKU;
    await using core = await startCore({ plugins: { ...screen, [driver]: PANEL } });
    const table = core.service(operations);
    const call = () => ({ caller: OPERATOR, signal: new AbortController().signal, deadline: Number.POSITIVE_INFINITY });
    const run = async (name: string, params: object) =>
      (await table.invoke(name, params, call())) as Record<string, string>;
    const painted = (by: string) =>
      eventually(async () => (await run('display.state', {})).renderer === by, `${by} paints`, { ms: 30_000 });
    await painted('skia');
    const viewer = new FarViewer(1_000);
    const params = { encoding: 'deflate' };
    const { done } = await table.openStream('display.frames', params, viewer, { ...call(), signal: viewer.signal });
    const equals = (what: string) =>
      eventually(
        async () => {
          const { rgba } = decodePng(Buffer.from((await run('panel.picture', {})).png!, 'base64'));
          return viewer.glass !== undefined && Buffer.compare(viewer.glass.rgba(), rgba) === 0;
        },
        what,
        PICTURES,
      );
    await run('display.card', { card: 1, template: 'text', title: 'Tea', value: '3 min' });
    await equals('the card');
    const manager = core.service(pluginManager);
    await manager.disable('render-skia');
    await painted('soft');
    await run('display.card', { card: 1, template: 'progress', title: 'Tea', progress: 0.5 });
    await equals('another card, by the soft renderer');
    await manager.restart(driver);
    await painted('soft');
    await run('display.card', { card: 1, template: 'text', title: 'Coffee', value: '4 min' });
    await equals('the picture on a panel that began anew');
    viewer.end();
    await done.catch(() => undefined);
  });
