import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Renderer, renderers } from '@device-core/plugin-api/services/renderer';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/render-skia/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { Glass, SURROUNDINGS, surfaceOf } from '../../fixtures/glass.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/display/render-skia.yaml');

async function start(config: object = {}) {
  const registered = new Map<string, Renderer>();
  const services = [
    given(renderers, {
      register(id: string, renderer: Renderer) {
        registered.set(id, renderer);
        return { [Symbol.asyncDispose]: async () => void registered.delete(id) };
      },
    }),
  ];
  const host = await createTestHost(plugin, { manifest, services, config });
  const collected = async () => {
    const parts = new Map<string, { readonly status: string; readonly message?: string }>();
    const warnings: string[] = [];
    await host.hook('health.collect').promise({
      add: (component, health) => void parts.set(component, health as never),
      bridge: () => undefined,
      warn: (code) => void warnings.push(code),
    });
    return { parts, warnings };
  };
  return { host, registered, collected, [Symbol.asyncDispose]: () => host.stop() };
}

describe('render-skia', () => {
  it('registers a renderer that paints, and goes when it stops', async () => {
    await using skia = await start();
    const renderer = await eventually(() => skia.registered.get('skia'), 'the renderer');
    const glass = new Glass(() => performance.now());
    const opened = await renderer.open(glass.opening());
    const red = { kind: 'rect', x: 100, y: 100, w: 200, h: 100, fill: '#ff0000' } as const;
    const surface = surfaceOf('home', [red], { background: '#00ff00' });
    const { frame } = await renderer.apply({ base: 0, revision: 1, surroundings: SURROUNDINGS, set: [surface] });
    await eventually(() => glass.frames.some(({ seq }) => seq === frame), 'its frame');
    assert.deepEqual([glass.at(150, 150), glass.at(50, 50)], [[255, 0, 0], [0, 255, 0]]); // biome-ignore format: colours
    assert.equal((await skia.collected()).parts.get('render-skia')?.status, 'okay');
    await opened[Symbol.asyncDispose]();
    await skia.host.stop();
    await eventually(() => skia.registered.size === 0, 'its end');
    assert.deepEqual(skia.host.leaks(), []);
  });

  it('stops in the middle of a frame that the panel never takes, and another one takes the same screen', async () => {
    const set = [surfaceOf('home', [], { background: '#00ff00' })];
    const patch = { base: 0, revision: 1, surroundings: SURROUNDINGS, set };
    const glass = new Glass(() => performance.now());
    glass.mood = 'hangs';
    {
      await using killed = await start();
      const renderer = await eventually(() => killed.registered.get('skia'), 'the renderer');
      await renderer.open(glass.opening());
      await renderer.apply(patch);
      await eventually(() => glass.frames.length > 0, 'a frame on its way');
      await killed.host.stop();
      assert.deepEqual(killed.host.leaks(), []);
    }
    glass.mood = 'well';
    await using skia = await start();
    const renderer = await eventually(() => skia.registered.get('skia'), 'the next renderer');
    const opened = await renderer.open(glass.opening());
    await renderer.apply(patch);
    await eventually(() => glass.at(50, 50)[1] === 255, 'the picture');
    await opened[Symbol.asyncDispose]();
    glass.release();
  });

  it('registers nothing without the addon, and says so', async () => {
    await using skia = await start({ library: '@device-core/there-is-no-such-addon' });
    const { parts, warnings } = await skia.collected();
    assert.equal(parts.get('render-skia')?.status, 'waiting');
    assert.match(parts.get('render-skia')?.message ?? '', /there-is-no-such-addon/);
    assert.deepEqual(warnings, ['RENDERER_MISSING']);
    assert.equal(skia.registered.size, 0);
  });

  it('says which font pack it could not use, and paints without it', async () => {
    await using skia = await start({ fonts: [{ family: 'Lost', path: '/nowhere/lost.ttf' }] });
    const renderer = await eventually(() => skia.registered.get('skia'), 'the renderer');
    const [size] = await renderer.measure([{ text: 'Hello', font: 'Lost' }]);
    assert.ok(size!.width > 0);
    const { warnings } = await skia.collected();
    assert.deepEqual(warnings, ['RENDERER_PROBLEM']);
  });
});
