import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type PluginManager, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { checkScene, type Scene, type ScenePatch } from '@device-core/plugin-api/scene';
import { type Display, display, type PluginSurface } from '@device-core/plugin-api/services/display';
import { createTestHost, given, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/splash/index.ts';
import { splashScene } from '../../../plugins/display/splash/scene.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/display/splash.yaml');

async function start(states: Readonly<Record<string, string>>) {
  const clock = virtualClock();
  const put: PluginSurface[] = [];
  const widths: number[] = [];
  const removed: string[] = [];
  const screen: Partial<Display> = {
    put: async (surface) => put.push(surface),
    patch: async (_surface: string, { set }: ScenePatch) => widths.push(Number(set![0]!.w)),
    remove: async (id) => void removed.push(id),
  };
  const list = async () => Object.entries(states).map(([id, state]) => ({ id, state }));
  const host = await createTestHost(plugin, {
    manifest,
    clock,
    services: [given(display, screen as Display), given(pluginManager, { list } as unknown as PluginManager)],
  });
  const state = (id: string, now: string) => host.publish('plugin.state', { plugin: id, state: now });
  return { host, clock, put, widths, removed, state, [Symbol.asyncDispose]: () => host.stop() };
}

const STARTING = { a: 'starting', b: 'waiting', c: 'starting', d: 'active' };

describe('splash', () => {
  it('shows the name of the device, in the layer that home covers', async () => {
    await using target = await start(STARTING);
    assert.deepEqual(
      target.put.map(({ id, layer }) => [id, layer]),
      [['splash', 'home']],
    );
    const scene = checkScene(target.put[0]!.scene, 'splash');
    assert.ok(JSON.stringify(scene).includes('Test device'));
  });

  it('its bar grows with what has started, a few steps in all', async () => {
    await using target = await start(STARTING);
    target.state('a', 'active');
    target.state('b', 'failed');
    target.state('c', 'starting');
    await target.clock.advance(1_000);
    target.state('c', 'active');
    target.state('c', 'active');
    await target.clock.advance(1_000);
    assert.deepEqual(target.widths, [240, 320]);
  });

  it('goes once the device has started, and leaves no timer', async () => {
    await using target = await start(STARTING);
    await target.host.hook('kernel.ready').promise();
    assert.deepEqual(target.removed, []);
    await target.clock.advance(2_000);
    assert.deepEqual(target.removed, ['splash']);
    target.state('a', 'active');
    await target.clock.advance(60_000);
    assert.deepEqual([target.widths, target.clock.pending], [[], 0]);
  });

  it('does not wait for a plugin that never comes up', async () => {
    await using target = await start(STARTING);
    await target.clock.advance(30_000);
    assert.deepEqual([target.removed, target.clock.pending], [['splash'], 0]);
  });

  it('is not shown by a device that runs', async () => {
    await using target = await start({ a: 'active', b: 'failed', c: 'stopped' });
    assert.deepEqual([target.put, target.clock.pending], [[], 0]);
  });

  it('shows any name, braces and all, within the panel', () => {
    for (const name of ['{time}', 'A'.repeat(300), '', '{{'])
      assert.doesNotThrow(() => checkScene(splashScene(name, 0.5) as Scene, 'splash'), name);
  });
});
