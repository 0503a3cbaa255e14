/** Surfaces of plugins: each sees its own alone, in the layers that are its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TYPE } from '@device-core/plugin-api/scene';
import type { PluginSurface } from '@device-core/plugin-api/services/display';
import { pace } from '../../fixtures/eventually.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';
import { boot, scene } from './fixture.ts';

test('a layer has an owner, and a plugin from outside of the tree has none', async () => {
  await using bench = await boot();
  const tell = async (plugin: string, layer: PluginSurface['layer'], outside = false) => {
    try {
      await bench.as(plugin, outside).put({ id: layer, layer, scene: scene(layer) });
      return 'shown';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const layers = ['home', 'voice', 'banner', 'toast', 'prompt', 'system'] as const;
  const told: Record<string, string[]> = {};
  for (const [plugin, outside] of [
    ['home', false],
    ['notify', false],
    ['system-view', false],
    ['system-view', true],
  ] as const)
    told[`${plugin}${outside ? ' from outside' : ''}`] = await Promise.all(
      layers.map((one) => tell(plugin, one, outside)),
    );
  const no = 'PARAMS_INVALID';
  assert.deepEqual(told, {
    home: ['shown', 'shown', no, no, no, no],
    notify: ['shown', 'shown', 'shown', 'shown', no, no],
    'system-view': ['shown', 'shown', no, no, 'shown', 'shown'],
    'system-view from outside': ['shown', 'shown', no, no, no, no],
  });
  await assert.rejects(bench.display.put({ id: 'a', layer: 'app' as never, scene: scene('a') }), { code: no });
});

test('layers lie over each other in any order of arrival, and a plugin changes its own surfaces alone', async () => {
  await using bench = await boot();
  const corner = { x: 672, y: 0, w: 48, h: 48 };
  await bench.as('system-view').put({ id: 'mic', layer: 'system', scene: scene('mic'), box: corner });
  await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast') });
  await bench.display.put({ id: 't', layer: 'home', scene: scene('home') });
  await bench.shows(['home', 'toast', 'mic']);
  await bench.as('notify').remove('t');
  await bench.shows(['home', 'mic']);
  await assert.rejects(bench.as('notify').patch('t', { version: 1 }), { code: 'NOT_FOREGROUND' });
  assert.deepEqual(await bench.display.describe(), ['mic', 'home']);
});

test('a patch for another version is refused, and one that does not fit changes nothing', async () => {
  await using bench = await boot();
  const version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await assert.rejects(bench.display.patch('main', { version: version + 1 }), { code: 'SCENE_CONFLICT' });
  const both = [
    { id: 't', text: 'two' },
    { id: 'nobody', text: 'x' },
  ];
  await assert.rejects(bench.display.patch('main', { version, set: both }), { code: 'SCENE_INVALID' });
  await bench.shows(['one']);
  assert.equal(await bench.display.patch('main', { version, set: [{ id: 't', text: 'two' }] }), version + 1);
  await bench.shows(['two']);
});

test('versions of a surface that was away go up', async () => {
  await using bench = await boot();
  const first = await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await bench.display.remove('main');
  assert.ok((await bench.display.put({ id: 'main', layer: 'home', scene: scene('two') })) > first);
});

test('timelines have a beginning, so that a renderer that comes later goes on where they are', async () => {
  await using bench = await boot();
  const timeline = { node: 't', property: 'opacity', from: 0, to: 1, ms: 1_000 } as const;
  const version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('a', { timelines: [timeline] }) });
  await bench.display.patch('main', { version, timelines: [{ ...timeline, property: 'x', from: 0, to: 9 }] });
  await bench.shows(['a']);
  await bench.unregister();
  const soft = new FakeRenderer();
  bench.register('soft', soft);
  await bench.shows(['a'], soft);
  const [first, second] = soft.surfaces.get('home:main')!.scene.timelines!;
  assert.ok(first!.at! > 0 && second!.at! >= first!.at!);
});

test('timelines that are over make room for others', async () => {
  await using bench = await boot();
  let version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('a') });
  const nodes = Array.from({ length: 40 }, (_, index) => ({ kind: 'rect', id: `n${index}`, w: 1, h: 1 }) as const);
  version = await bench.display.patch('main', { version, add: nodes.map((node) => ({ node })) });
  for (const { id: node } of nodes) {
    const timelines = [{ node, property: 'x', to: 7, ms: 1 } as const];
    version = await bench.display.patch('main', { version, timelines });
    await pace(2);
  }
  await bench.shows(['a']);
  const { scene: shown } = bench.renderer.surfaces.get('home:main')!;
  assert.ok(shown.timelines!.length <= 32);
  assert.ok(
    shown.nodes.some((node) => node.id === 'n0' && node.x === 7),
    'it is where its timeline ended',
  );
});

test('surfaces of a plugin go with it', async () => {
  await using bench = await boot();
  await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast') });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('home') });
  await bench.shows(['home', 'toast']);
  bench.host.publish('plugin.state', { plugin: 'notify', state: 'stopped' });
  await bench.shows(['home']);
});

test('texts are measured by the renderer, with the surroundings of now', async () => {
  await using bench = await boot();
  const [size] = await bench.display.measure([{ text: 'abcd', size: 30 }]);
  assert.deepEqual(size, { width: 60, height: TYPE.body.line, lines: 1, cut: false });
  assert.equal((await bench.display.surroundings()).theme.id, 'night');
});
