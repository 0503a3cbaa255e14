/** The tree as a renderer has it, whatever apps and plugins do in whatever order, and whatever renderer it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import fc from 'fast-check';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';
import { runs } from '../../fixtures/runs.ts';
import { AGENDA, bootApps, RADIO } from './apps-fixture.ts';
import { scene } from './fixture.ts';

const app = fc.constantFrom(AGENDA, RADIO);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('show' as const), app, card: fc.boolean() }) },
  fc.record({ do: fc.constantFrom('hide' as const, 'open' as const, 'stop' as const), app }),
  fc.record({ do: fc.constantFrom('home' as const, 'toast' as const, 'prompt' as const, 'answer' as const) }),
  fc.record({ do: fc.constantFrom('lose' as const, 'back' as const, 'kill' as const) }),
);

test('one app is seen at most, in its layer, and the capture indicator is above all of it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await using bench = await bootApps({
        config: { autoShow: [AGENDA], quota: { patchesPerSecond: 240, patchBurst: 480 } },
      });
      const view = bench.as('system-view');
      const corner = { x: 672, y: 0, w: 48, h: 48 };
      await view.put({ id: 'capture', layer: 'system', scene: scene('mic'), box: corner });
      let renderer = bench.renderer;
      let registered: AsyncDisposable = { [Symbol.asyncDispose]: () => bench.unregister() };
      let lost = false;
      for (const one of steps) {
        if (one.do === 'show' && one.card)
          await bench.run(one.app, 'display.card', { card: 1, template: 'text', title: one.app });
        else if (one.do === 'show') await bench.run(one.app, 'display.show', scene(one.app));
        else if (one.do === 'hide') await bench.run(one.app, 'display.hide');
        else if (one.do === 'open') await bench.display.open(one.app);
        else if (one.do === 'stop') {
          await bench.apps.become(one.app, 'stopping');
          await bench.apps.become(one.app, 'running');
        } else if (one.do === 'home') await bench.display.home();
        else if (one.do === 'toast')
          await bench.as('notify').put({ id: 't', layer: 'toast', scene: scene('toast'), box: corner });
        else if (one.do === 'prompt') await view.put({ id: 'ask', layer: 'prompt', scene: scene('may it?') });
        else if (one.do === 'answer') await view.remove('ask');
        else if (one.do === 'lose') {
          bench.panel.lose('out');
          lost = true;
        } else if (one.do === 'back') {
          bench.panel.back();
          lost = false;
        } else {
          await registered[Symbol.asyncDispose]();
          renderer = new FakeRenderer();
          registered = bench.register('skia', renderer);
        }
      }
      if (lost) bench.panel.back();
      const { app: foreground } = await bench.state();
      await eventually(() => {
        const shown = [...renderer.surfaces.values()].filter(({ hidden }) => !hidden);
        const ofApps = shown.filter(({ id }) => id.startsWith('app:'));
        assert.ok(ofApps.length <= 1, 'one at most');
        for (const { id, layer } of ofApps) {
          assert.equal(layer, LAYERS.app);
          assert.equal(id, `app:${foreground}`);
        }
        const above = shown.toSorted((a, b) => a.layer - b.layer).at(-1);
        assert.equal(above?.id, 'system-view:capture');
        return true;
      }, 'the tree is what it should be');
    }),
    { numRuns: runs(100) },
  );
});
