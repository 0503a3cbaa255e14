/** From a source to the app, through the whole plugin: who hears of a touch, and who does not. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Scene } from '@device-core/plugin-api/scene';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { type InputSource, inputs } from '@device-core/plugin-api/services/input';
import { given, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { AGENDA, bootApps, RADIO } from './apps-fixture.ts';

after(leakCheck());

const BUTTON: Scene = {
  scene: 1,
  nodes: [{ kind: 'rect', id: 'buy', x: 300, y: 300, w: 120, h: 120, fill: '@accent', tap: 'buy', label: 'Buy' }],
};
const ALLOW: Scene = {
  scene: 1,
  nodes: [{ kind: 'rect', id: 'yes', x: 300, y: 300, w: 120, h: 120, fill: '@accent', tap: 'allow', label: 'Allow' }],
};

/** A device that is none of a developer, as far as the screen asks. */
function deviceOf(simulated: boolean) {
  const paths = { etc: '/nowhere', var: '/nowhere', run: '/nowhere' };
  const sku = { id: 'test', title: 'Test', simulated };
  return given(device, { info: async () => ({ sku, paths, grants: {} }) as unknown as DeviceInfo });
}

async function touched({ injected = false, simulated = false } = {}) {
  const bench = await bootApps({ config: { autoShow: ['*'] }, services: [deviceOf(simulated)] });
  await eventually(async () => (await bench.state()).renderer, 'it paints');
  const source = bench.host.service(inputs).register({ id: 'glass', touch: true, keys: ['ok', 'home'], injected });
  return { bench, source };
}

async function tap(source: InputSource, x: number, y: number): Promise<void> {
  for (const phase of ['down', 'up'] as const) await source.push([{ kind: 'touch', id: 1, phase, x, y, at: 0 }]);
}

describe('touches of apps', () => {
  it('reach the one in the foreground alone, with the version of its scene', async () => {
    const { bench, source } = await touched();
    await using _ = bench;
    const { version } = await bench.run(AGENDA, 'display.show', { ...BUTTON });
    await bench.run(RADIO, 'display.show', { ...BUTTON });
    await tap(source, 350, 350);
    await source.push([{ kind: 'key', name: 'ok', phase: 'down', at: 0 }]);
    assert.deepEqual(bench.inputs, [
      { app: AGENDA, params: { scene: version, node: 'buy', tap: 'buy', phase: 'tap', x: 350, y: 350 } },
      { app: AGENDA, params: { scene: version, phase: 'key', key: 'ok' } },
    ]);
  });

  it('home is told to the plugin that draws it, and never to an app', async () => {
    const { bench, source } = await touched();
    await using _ = bench;
    await bench.run(AGENDA, 'display.show', { ...BUTTON });
    const { display } = bench;
    await display.put({ id: 'main', layer: 'home', scene: BUTTON });
    const heard: unknown[] = [];
    using _listener = display.onInput((surface, { phase, key }) => void heard.push([surface, phase, key]));
    await source.push([{ kind: 'key', name: 'home', phase: 'down', at: 0 }]);
    await eventually(() => heard.length > 0, 'home hears of it');
    assert.deepEqual(heard, [['main', 'key', 'home']]);
    assert.deepEqual(bench.inputs, []);
    assert.equal((await bench.state()).app, undefined);
  });

  for (const [title, injected, simulated, reached] of [
    ['are not those of a question above it', false, false, true],
    ['by operation never answer a question', true, false, false],
    ['by operation answer it on a simulated device', true, true, true],
  ] as const)
    it(title, async () => {
      const { bench, source } = await touched({ injected, simulated });
      await using _ = bench;
      await bench.run(AGENDA, 'display.show', { ...BUTTON });
      const asked: string[] = [];
      const questions = bench.as('system-view');
      using listening = questions.onInput((_surface, input) => void asked.push(input.tap ?? input.phase));
      await questions.put({ id: 'ask', layer: 'prompt', scene: ALLOW });
      const began = performance.now();
      await tap(source, 350, 350);
      assert.deepEqual([asked, bench.inputs], [[], []], 'it has just come');
      // The guard of a question is of the glass: real time.
      const attempt = async () => {
        await tap(source, 350, 350);
        for (const phase of ['down', 'up'] as const) await source.push([{ kind: 'key', name: 'ok', phase, at: 0 }]);
        return reached ? asked.includes('allow') && asked.includes('key') : performance.now() - began > 1_000;
      };
      await eventually(attempt, 'an answer, or a second without one', { every: 100 });
      assert.deepEqual(bench.inputs, [], listening ? 'the app heard of nothing' : '');
      if (!reached) assert.deepEqual(asked, []);
    });

  it('end with the sweep from the edge, of which it hears nothing', async () => {
    const { bench, source } = await touched();
    await using _ = bench;
    await bench.run(AGENDA, 'display.show', { ...BUTTON });
    assert.equal((await bench.state()).app, AGENDA);
    await source.push([
      { kind: 'touch', id: 1, phase: 'down', x: 360, y: 718, at: 0 },
      { kind: 'touch', id: 1, phase: 'move', x: 360, y: 500, at: 1 },
      { kind: 'touch', id: 1, phase: 'up', x: 360, y: 400, at: 2 },
    ]);
    assert.equal((await bench.state()).app, undefined);
    assert.deepEqual(bench.inputs, []);
  });

  it('that wakes a dark panel goes to no other app', async () => {
    const { bench, source } = await touched();
    await using _ = bench;
    await bench.run(AGENDA, 'display.show', { ...BUTTON });
    await bench.display.power('off');
    await tap(source, 350, 350);
    assert.equal((await bench.state()).power, 'on');
    assert.deepEqual(bench.inputs, []);
    await tap(source, 350, 350);
    assert.equal(bench.inputs.length, 1);
  });
});

describe('an app that keeps the panel lit', () => {
  it('does so while it is in the foreground', async () => {
    const clock = virtualClock();
    const grants = { [`app.${AGENDA}`]: ['display.surface', 'display.keep'] };
    await using bench = await bootApps({ clock, grants, config: { autoShow: ['*'] } });
    await clock.advance(1_000);
    bench.host.publish('system.presence', { state: 'absent', confidence: 1 });
    await bench.run(AGENDA, 'display.show', { ...BUTTON, keep: true });
    await clock.advance(1_000_000);
    const { power, app } = await bench.state();
    assert.deepEqual([power, app], ['on', AGENDA]);
    await bench.run(AGENDA, 'display.hide');
    await clock.advance(310_000);
    assert.equal((await bench.state()).power, 'off');
  });
});
