/** What a renderer is given was checked before; what passes the check may still be as bad as it can. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { checkScene, type Scene, type SceneNode } from '@device-core/plugin-api/scene';
import type { Renderer } from '@device-core/plugin-api/services/renderer';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { SkiaRenderer } from '../../../plugins/display/render-skia/renderer.ts';
import { Stage } from '../../contracts/renderer.ts';
import { surfaceOf } from '../../fixtures/glass.ts';
import { NO_PICTURES, pngOf } from '../../fixtures/pictures.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

/** Milliseconds of a processor for a picture of the worst scene. */
const MOST_CPU_MS = 3_000;

async function stage() {
  const clock = virtualClock({ now: 0 });
  const { scope, log, logged, ...rest } = part(clock);
  const renderer: Renderer = new SkiaRenderer(scope, log, []);
  const made = new Stage({ renderer, clock, [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose]() });
  await made.open();
  return { stage: made, renderer, logged, [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose]() };
}

const repeated = (text: string, count: number): string => text.repeat(count);
const star = Array.from({ length: 1_022 }, (_, index) => `L${(index * 7_919) % 720} ${(index * 104_729) % 720}`).join(
  '',
);
const curves = Array.from({ length: 300 }, (_, index) => `C0 ${index} 4096 -4096 -4096 ${index}`).join('');

const SCENES: readonly (readonly [string, readonly SceneNode[]])[] = [
  ['2,000 marks on one letter', [{ kind: 'text', text: `a${repeated('\u0301', 1_999)}`, w: 600, h: 200 }]],
  ['marks that no letter holds', [{ kind: 'text', text: repeated('\u0489\u20dd', 1_000), w: 600 }]],
  ['an emoji of 30 code points', [{ kind: 'text', text: repeated('\u{1f469}\u200d', 15), w: 600, role: 'title' }]],
  ['2,000 letters without a space', [{ kind: 'text', text: repeated('W', 2_000), w: 300, h: 4_000 }]],
  ['a text in a box of no width', [{ kind: 'text', text: repeated('word ', 400), w: 0, h: 4_096 }]],
  [
    'letters of 400 units, sixteen times as large',
    [{ kind: 'text', text: 'Äg', size: 400, scale: 16, w: 500, h: 500 }],
  ],
  ['overrides of direction', [{ kind: 'text', text: repeated('\u202eabc\u2066', 400), w: 600, h: 600 }]],
  ['a path of 1,023 crossing lines', [{ kind: 'path', d: `M0 0${star}`, fill: '@accent', stroke: '@text' }]],
  ['300 curves that lead far away', [{ kind: 'path', d: `M0 0${curves}`, stroke: '@text', strokeWidth: 360 }]],
  ['a path without an area', [{ kind: 'path', d: 'M0 0', fill: '@accent', view: [0.001, 0.001], w: 4_096, h: 4_096 }]],
  ['coordinates at their limits', [
    { kind: 'rect', x: 4_096, y: -4_096, w: 4_096, h: 4_096, rotate: 36_000, scale: 16, fill: '@accent' },
    { kind: 'ellipse', x: -4_096, y: -4_096, w: 4_096, h: 4_096, scale: 16, stroke: '@accent', strokeWidth: 360 },
    { kind: 'rect', w: 720, h: 720, fill: '@raised', radius: 2_048, shadow: { x: 128, y: 128, blur: 64, colour: '#ff0000' } },
  ]], // biome-ignore format: three nodes
  ['shadows at their limits, sixteen times as large', [
    { kind: 'ellipse', w: 700, h: 700, scale: 16, fill: '@accent', shadow: { x: 128, y: -128, blur: 64, colour: '#ff0000' } },
  ]], // biome-ignore format: one node
  ['seven groups that are less than opaque, one in another', [nested(7)]],
  ['things of no size', [
    { kind: 'rect', w: 0, h: 0, fill: '@accent', stroke: '@text', strokeWidth: 0 },
    { kind: 'ellipse', w: 0, h: 300, stroke: '@text', sweep: 0 },
    { kind: 'image', image: 'nobody.png', w: 0, h: 0 },
    { kind: 'sprite', image: 'nobody.png', w: 10, h: 10, frames: 1_024, columns: 1_024, fps: 30, loop: false },
    { kind: 'video', stream: 'nobody', w: 10, h: 10 },
  ]], // biome-ignore format: five nodes
];

function nested(depth: number): SceneNode {
  const inner: SceneNode = { kind: 'rect', w: 700, h: 700, fill: '@accent', stroke: '@text' };
  return { kind: 'group', opacity: 0.9, rotate: 3, nodes: depth === 1 ? [inner, inner] : [nested(depth - 1), inner] };
}

describe('render-skia, given the worst', { skip: NO_PICTURES }, () => {
  for (const [title, nodes] of SCENES)
    it(`paints ${title}, and what comes after it`, async () => {
      await using made = await stage();
      const scene: Scene = checkScene({ scene: 1, nodes }, 'the scene');
      const began = process.threadCpuUsage();
      await made.stage.show([{ ...surfaceOf('bad', []), scene }]);
      const { user, system } = process.threadCpuUsage(began);
      assert.ok((user + system) / 1_000 < MOST_CPU_MS, `${(user + system) / 1_000} ms`);
      await made.stage.change({ set: [surfaceOf('good', [], { background: '#ff0000' })], remove: ['bad'] });
      assert.deepEqual(made.stage.glass.at(400, 400), [255, 0, 0]);
      assert.deepEqual(made.logged, []);
    });

  it('shows half of a pair of surrogates as a sign of its own, and names it once', async () => {
    await using made = await stage();
    // A check refuses it; measure() has none.
    const [size] = await made.renderer.measure([{ text: 'a\ud800b' }]);
    assert.ok(size!.width > 0);
    const text = (id: string, characters: string) => surfaceOf(id, [{ kind: 'text', text: characters }]);
    await made.stage.show([text('a', 'one 漢 two 字 漢'), text('b', '漢')]);
    await made.stage.change({ set: [text('b', '字 ﷽')] }, 5_000);
    const told = made.stage.glass.reports.flatMap(({ missingGlyphs }) => missingGlyphs);
    assert.deepEqual([...told].sort(), ['字', '漢', '﷽']);
  });

  it('refuses pictures that are not what they say, one after the other, and takes the good one', async () => {
    await using made = await stage();
    const png = Buffer.from(await pngOf({ width: 40, height: 30, data: new Uint8ClampedArray(40 * 30 * 4).fill(200) }));
    const lying = Buffer.from(png);
    lying.writeUInt32BE(2_000, 16);
    const broken = Buffer.from(png);
    broken.fill(0xff, 45, 60);
    const bad: readonly (readonly [string, Uint8Array])[] = [
      ['cut', png.subarray(0, png.length - 20)],
      ['lying', lying],
      ['broken', broken],
      ['svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
      ['empty', new Uint8Array()],
    ];
    const tried = await Promise.allSettled([
      ...bad.map(([name, bytes]) => made.renderer.image(name, bytes)),
      made.renderer.image('good', png),
    ]);
    for (const [index, one] of tried.slice(0, -1).entries()) {
      assert.equal(one.status, 'rejected', bad[index]![0]);
      assert.ok(one.reason instanceof CoreError && one.reason.code === 'IMAGE_INVALID', bad[index]![0]);
    }
    assert.deepEqual((tried.at(-1) as { readonly value: object }).value, { width: 40, height: 30 });
    await made.stage.show([surfaceOf('a', [{ kind: 'image', image: 'good', w: 100, h: 100, fit: 'fill' }])]);
    assert.notDeepEqual(made.stage.glass.at(50, 50), made.stage.glass.at(300, 300));
  });

  it('refuses parts of a video that do not fit it, and shows those that do', async () => {
    await using made = await stage();
    await made.stage.show([surfaceOf('a', [{ kind: 'video', stream: 'cam', w: 100, h: 100, fit: 'fill' }])]);
    const part = (w: number, bytes: number, x = 0) => ({ width: 10, height: 10, rect: { x, y: 0, w, h: 10 }, rgba: new Uint8Array(bytes).fill(255) }); // biome-ignore format: one line
    for (const wrong of [part(10, 399), part(11, 440), part(10, 400, 1), { ...part(10, 400), width: 1e9 }])
      await assert.rejects(made.renderer.video('a', 'cam', wrong), { code: 'IMAGE_INVALID' });
    await made.renderer.video('a', 'cam', part(10, 400));
    await made.stage.clock.advance(100);
    assert.deepEqual(made.stage.glass.at(50, 50), [255, 255, 255]);
  });
});
