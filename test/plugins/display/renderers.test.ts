/** Whatever dies, the picture comes back, and nobody has to send it again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { sceneAt } from '@device-core/plugin-api/scene';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { DisplayState } from '@device-core/plugin-api/services/display';
import { panel } from '@device-core/plugin-api/services/panel';
import type { Opening } from '@device-core/plugin-api/services/renderer';
import { virtualClock } from '@device-core/plugin-api/testing';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { FakePanel } from '../../fixtures/fake-panel.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';
import { png } from '../../fixtures/grey-png.ts';
import { boot, scene } from './fixture.ts';

test('the first renderer of the SKU that is well paints on the panel', async () => {
  await using bench = await boot({ renderer: false });
  const soft = new FakeRenderer();
  const skia = new FakeRenderer();
  bench.register('soft', soft);
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('12:00') });
  await bench.shows(['12:00'], soft);
  assert.equal((await bench.state()).renderer, 'soft');
  bench.register('skia', skia);
  await bench.shows(['12:00'], skia);
  await eventually(async () => (await bench.state()).renderer === 'skia', 'skia paints');
  assert.equal(soft.opening, undefined, 'it has let the panel go');
  assert.ok(bench.panel.frames.length > 0);
});

test('a renderer that goes is followed by the next one with the whole tree, images included', async () => {
  await using bench = await boot();
  const name = await bench.display.image(png());
  const image = { kind: 'image', id: 'i', x: 0, y: 0, w: 80, h: 80, image: name } as const;
  const { nodes } = scene('hello');
  const version = await bench.display.put({ id: 'main', layer: 'home', scene: { scene: 1, nodes: [...nodes, image] } });
  await bench.display.patch('main', { version, set: [{ id: 't', text: 'hello again' }] });
  await bench.as('notify').put({ id: 'one', layer: 'toast', scene: scene('saved') });
  await bench.display.pose({ state: 'speaking', expression: 'happy' });
  await bench.shows(['hello again', 'saved']);
  const soft = new FakeRenderer();
  bench.register('soft', soft);
  await turns();
  assert.equal(soft.opened, 0);
  await bench.unregister();
  await bench.shows(['hello again', 'saved'], soft);
  assert.deepEqual([...soft.images.keys()], [name]);
  assert.deepEqual(soft.poses.at(-1), { state: 'speaking', expression: 'happy' });
  assert.equal(soft.patches[0]?.base, 0);
});

test('a renderer that went is asked nothing any more, even while it owes an answer: the next one is, if there is one', async () => {
  await using bench = await boot();
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('hello') });
  await bench.shows(['hello']);
  const owed = Promise.withResolvers<void>();
  bench.renderer.slow = owed.promise;
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('slow') });
  await turns();
  // As a plugin in a worker answers when it has let its renderer go.
  const gone = new CoreError('UNAVAILABLE', { what: 'something of this side', reason: 'it was let go' });
  bench.renderer.failing.set('measure', gone);
  await bench.unregister();
  await assert.rejects(bench.display.measure([{ text: 'nobody' }]), { code: 'PANEL_UNAVAILABLE' });
  assert.equal((await bench.state()).renderer, undefined, 'whoever could not draw hears when there is one again');
  bench.register('soft', new FakeRenderer());
  const [size] = await bench.display.measure([{ text: 'next' }]);
  assert.equal(size?.lines, 1);
  owed.resolve();
});

test('a value that a patch sets after a timeline is over stays so for a renderer that comes later', async () => {
  await using bench = await boot();
  const timelines = [{ node: 't', property: 'x', to: 300, ms: 10 }] as const;
  const version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('hello', { timelines }) });
  const since = monotonicMs();
  await eventually(() => monotonicMs() - since > 10, 'the timeline is over');
  await bench.display.patch('main', { version, set: [{ id: 't', x: 96 }] });
  await bench.shows(['hello']);
  const soft = new FakeRenderer();
  bench.register('soft', soft);
  await bench.unregister();
  await bench.shows(['hello'], soft);
  const whole = soft.patches[0]?.set?.[0];
  assert.ok(whole);
  const now = monotonicMs() + 60_000;
  const [node] = sceneAt(whole.scene, now, whole.since).nodes;
  assert.equal(node?.x, 96);
});

const FAILURES = [
  ['its opening fails', 'open'],
  ['it takes no change', 'apply'],
  ['it takes no image', 'image'],
] as const;
for (const [what, method] of FAILURES)
  test(`a renderer is put aside where ${what}, and asked again after a growing pause`, async () => {
    const clock = virtualClock();
    await using bench = await boot({ clock, renderer: false });
    const name = await bench.display.image(png());
    const { nodes } = scene('hello');
    const image = { kind: 'image', id: 'i', w: 80, h: 80, image: name } as const;
    await bench.display.put({ id: 'main', layer: 'home', scene: { scene: 1, nodes: [...nodes, image] } });
    const skia = new FakeRenderer();
    const soft = new FakeRenderer();
    skia.failing.set(method, new Error('out of order'));
    bench.register('soft', soft);
    bench.register('skia', skia);
    await bench.shows(['hello'], soft);
    await eventually(async () => (await bench.state()).renderer === 'soft', 'soft paints');
    await clock.advance(1_100);
    await eventually(async () => (await bench.state()).renderer === 'soft', 'soft paints again');
    skia.failing.clear();
    await clock.advance(900);
    assert.equal((await bench.state()).renderer, 'soft', 'the second pause is longer');
    await clock.advance(1_200);
    await bench.shows(['hello'], skia);
    await eventually(async () => (await bench.state()).renderer === 'skia', 'skia paints again');
  });

test('one that hangs is given up, and the next paints', async () => {
  const clock = virtualClock();
  await using bench = await boot({ clock });
  const soft = new FakeRenderer();
  bench.register('soft', soft);
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await bench.shows(['one']);
  bench.renderer.slow = new Promise(() => undefined);
  const version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('two') });
  assert.equal(version, 2, 'whoever draws does not wait for it');
  await turns();
  for (let second = 0; second < 8; second += 1) await clock.advance(1_000);
  await bench.shows(['two'], soft);
});

test('a renderer that lost count is given the whole tree once', async () => {
  await using bench = await boot();
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await bench.shows(['one']);
  bench.renderer.revision = 77;
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('two') });
  await bench.shows(['two']);
  assert.equal(bench.renderer.opened, 1);
  assert.equal(bench.renderer.patches.at(-1)?.base, 0);
});

test('a hundred changes while it is busy are one, and every patch of them is in it', async () => {
  await using bench = await boot();
  let version = await bench.display.put({ id: 'main', layer: 'home', scene: scene('0') });
  await bench.shows(['0']);
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.renderer.slow = promise;
  const before = bench.renderer.patches.length;
  for (let count = 1; count <= 100; count += 1)
    version = await bench.display.patch('main', { version, set: [{ id: 't', text: `${count}` }] });
  assert.equal(version, 101);
  bench.renderer.slow = undefined;
  resolve();
  await bench.shows(['100']);
  assert.ok(bench.renderer.patches.length - before <= 3, `${bench.renderer.patches.length - before} calls`);
});

test('a panel that goes and comes back as another one has the same picture', async () => {
  const clock = virtualClock();
  await using bench = await boot({ clock });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('hello') });
  await bench.shows(['hello']);
  bench.panel.lose('the cable is out');
  await eventually(async () => (await bench.state()).problem?.includes('the cable is out'), 'the state says why');
  assert.equal(bench.renderer.opening, undefined, 'nothing is painted for nobody');
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('meanwhile') });
  bench.panel.back({ format: 'rgb565', width: 480, height: 480 });
  await bench.shows(['meanwhile']);
  const { opening } = bench.renderer as { opening?: Opening };
  assert.equal(opening?.panel.format, 'rgb565');
  assert.equal((await bench.state()).problem, undefined);
});

test('a panel that says nothing is looked for after growing pauses', async () => {
  const clock = virtualClock();
  await using bench = await boot({ clock, panel: false });
  const glass = new FakePanel();
  glass.problem = 'not lit yet';
  let asked = 0;
  const info = glass.info.bind(glass);
  glass.info = () => {
    asked++;
    return info();
  };
  await bench.host.appear(panel, glass);
  for (let ms = 0; ms < 60_000; ms += 250) await clock.advance(250);
  assert.ok(asked >= 6 && asked <= 10, `asked ${asked} times in a minute`);
  glass.problem = undefined;
  await clock.advance(31_000);
  await eventually(async () => (await bench.state()).panel === 'fake', 'it is there');
});

test('a frame that the panel refuses closes the renderer until the panel is back', async () => {
  const clock = virtualClock();
  await using bench = await boot({ clock });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await bench.shows(['one']);
  bench.panel.problem = 'no flip';
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('two') });
  await eventually(async () => (await bench.state()).problem?.includes('no flip'), 'it is known');
  bench.panel.problem = undefined;
  await clock.advance(300);
  await bench.shows(['two']);
});

test('the panel is another plugin while the device runs', async () => {
  await using bench = await boot();
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('hello') });
  await bench.shows(['hello']);
  await bench.host.disappear(panel);
  await eventually(async () => (await bench.state()).problem?.includes('panel'), 'there is none');
  const other = new FakePanel();
  other.details = { ...other.details, driver: 'other' };
  await bench.host.appear(panel, other);
  await eventually(() => other.frames.length > 0, 'it is painted');
  assert.equal((await bench.state()).panel, 'other');
});

test('display.state says what changed, and /health why nothing is seen', async () => {
  await using bench = await boot({ renderer: false });
  const health = async () => {
    const told: Record<string, { status: string; message?: string }> = {};
    const add = (name: string, one: { status: string; message?: string }) => {
      told[name] = one;
    };
    const report = { add, bridge: () => undefined };
    await bench.host.hook('health.collect').promise({ ...report, warn: () => undefined } as never);
    return told.display;
  };
  assert.equal((await health())?.status, 'waiting');
  bench.register('skia', bench.renderer);
  await eventually(async () => (await bench.state()).renderer, 'it paints');
  assert.deepEqual(await health(), { status: 'okay', message: 'skia paints on fake' });
  const states = bench.host.published.filter(({ topic }) => topic === 'display.state');
  const last = states.at(-1)?.payload as DisplayState;
  assert.deepEqual(last, { power: 'on', brightness: 0.8, renderer: 'skia', panel: 'fake' });
});

test('an image that no renderer can read is refused to its sender', async () => {
  await using bench = await boot();
  await eventually(async () => (await bench.state()).renderer, 'it paints');
  bench.renderer.failing.set('image', new CoreError('IMAGE_INVALID', { image: 'x', reason: 'not one' }));
  await assert.rejects(bench.display.image(png()), { code: 'IMAGE_INVALID' });
  await assert.rejects(bench.display.image(Buffer.from('<svg/>')), { code: 'IMAGE_INVALID' });
  assert.equal((await bench.state()).renderer, 'skia', 'it is none the worse');
});
