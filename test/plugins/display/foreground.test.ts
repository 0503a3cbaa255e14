/** Who has the foreground, and who waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@device-core/plugin-api/testing';
import { turns } from '../../fixtures/eventually.ts';
import { AGENDA, type AppBench, bootApps, RADIO } from './apps-fixture.ts';
import { scene } from './fixture.ts';

const ALL = { config: { autoShow: ['*'] } };
const show = (bench: AppBench, who: string, text: string, more: object = {}) =>
  bench.run(who, 'display.show', { ...scene(text), ...more });

test('an app that was not opened waits, and a banner offers it once', async () => {
  await using bench = await bootApps();
  assert.deepEqual(await show(bench, AGENDA, 'tomorrow'), { state: 'queued', version: 1 });
  await show(bench, AGENDA, 'tomorrow, again');
  assert.deepEqual(bench.banners, ['show Agenda has something to show']);
  await bench.shows([]);
  await bench.display.open(AGENDA);
  await bench.shows(['tomorrow, again']);
  assert.equal((await bench.state()).app, AGENDA);
  assert.deepEqual(bench.banners.at(-1), 'dismiss');
  await turns();
  assert.deepEqual(bench.told, ['agenda display.surface hidden', 'agenda display.surface foreground']);
});

test('an app that the person opened has 30 s to show something', async () => {
  const clock = virtualClock();
  await using bench = await bootApps({ clock });
  await bench.display.open(AGENDA);
  await turns();
  assert.deepEqual(bench.told, ['agenda display.open']);
  await clock.advance(29_000);
  assert.equal((await show(bench, AGENDA, 'here')).state, 'foreground');
  await bench.display.home();
  await bench.display.open(RADIO);
  await clock.advance(31_000);
  assert.equal((await show(bench, RADIO, 'late')).state, 'queued');
});

test('while home shows, an app may show itself where the operator allows it', async () => {
  await using bench = await bootApps({ config: { autoShow: [AGENDA] } });
  assert.equal((await show(bench, RADIO, 'music')).state, 'queued');
  assert.equal((await show(bench, AGENDA, 'tomorrow')).state, 'foreground');
  assert.equal((await show(bench, RADIO, 'music')).state, 'queued');
  await bench.shows(['tomorrow']);
});

test('a call by voice is the wish of a person', async () => {
  await using bench = await bootApps();
  const call = { app: AGENDA, name: 'next', version: '1.0.0', inputs: {}, deadline: 0 };
  await bench.host.hook('function.call').promise({ ...call, caller: { kind: 'app', id: RADIO } });
  assert.equal((await show(bench, AGENDA, 'one')).state, 'queued');
  await bench.host.hook('function.call').promise({ ...call, caller: { kind: 'plugin', id: 'intent' } });
  await bench.shows(['one']);
});

test('it ends after a minute without touch or voice, unless the app may keep it', async () => {
  const clock = virtualClock();
  await using bench = await bootApps({ ...ALL, clock, grants: { [`app.${RADIO}`]: ['display'] } });
  await show(bench, AGENDA, 'tomorrow');
  await clock.advance(50_000);
  bench.host.publish('audio.state', { state: 'listening' });
  await bench.host.settle();
  await clock.advance(50_000);
  assert.equal((await bench.state()).app, AGENDA);
  await clock.advance(11_000);
  assert.equal((await bench.state()).app, undefined);
  await bench.shows([]);
  await assert.rejects(show(bench, AGENDA, 'mine', { keep: true }), {
    code: 'CAPABILITY_DENIED',
    message: /display\.keep/,
  });
  await show(bench, RADIO, 'music', { keep: true });
  await clock.advance(600_000);
  assert.equal((await bench.state()).app, RADIO);
  await bench.display.home();
  assert.equal((await bench.state()).app, undefined, 'the gesture ends it all the same');
});

test('an app that stops, or may no longer draw, leaves nothing behind', async () => {
  await using bench = await bootApps(ALL);
  await show(bench, AGENDA, 'tomorrow');
  await bench.shows(['tomorrow']);
  await bench.apps.become(AGENDA, 'stopping');
  await bench.shows([]);
  assert.equal((await bench.state()).app, undefined);
  await bench.apps.become(AGENDA, 'running');
  await show(bench, AGENDA, 'again');
  await bench.host.grants.set({ kind: 'app', id: AGENDA }, []);
  await bench.apps.become(AGENDA, 'running');
  await bench.shows([]);
});

test('a surface under a prompt is covered and stands still; a hidden one is not painted', async () => {
  await using bench = await bootApps(ALL);
  await show(bench, AGENDA, 'tomorrow');
  const prompts = bench.as('system-view');
  await prompts.put({ id: 'ask', layer: 'prompt', scene: scene('may it?', { background: '@scrim' }) });
  await bench.shows(['tomorrow', 'may it?']);
  assert.equal(bench.renderer.surfaces.get(`app:${AGENDA}`)?.fps, 1);
  await prompts.put({ id: 'safe', layer: 'system', scene: scene('safe mode', { background: '@background' }) });
  await bench.shows(['may it?', 'safe mode']);
  await prompts.remove('safe');
  await prompts.remove('ask');
  await bench.shows(['tomorrow']);
  assert.equal(bench.renderer.surfaces.get(`app:${AGENDA}`)?.fps, 60);
  await turns();
  const states = ['foreground', 'covered', 'foreground'].map((state) => `agenda display.surface ${state}`);
  assert.deepEqual(bench.told, states);
});

test('an app draws in its layer alone, below toasts and the indicator of the microphone', async () => {
  await using bench = await bootApps(ALL);
  await bench.as('system-view').put({
    id: 'mic',
    layer: 'system',
    scene: scene('mic'),
    box: { x: 672, y: 0, w: 48, h: 48 },
  });
  await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast'), box: { x: 0, y: 0, w: 720, h: 96 } });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('home') });
  await show(bench, AGENDA, 'all mine');
  await bench.shows(['home', 'all mine', 'toast', 'mic']);
});

test('opening an app that is not there, or does not run, says so', async () => {
  await using bench = await bootApps();
  await assert.rejects(bench.display.open('com.example.nobody'), { code: 'APP_NOT_FOUND' });
  bench.apps.states.set(RADIO, 'stopped');
  await assert.rejects(bench.display.open(RADIO), { code: 'APP_NOT_RUNNING' });
});

test('two calls of one app are done one after the other', async () => {
  await using bench = await bootApps(ALL);
  const card = { card: 1, template: 'text', title: 'slow' };
  const both = await Promise.all([bench.run(AGENDA, 'display.card', card), show(bench, AGENDA, 'fast')]);
  assert.deepEqual(
    both.map(({ version }) => version),
    [1, 2],
  );
  await bench.shows(['fast']);
});
