import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { DAY, type Scene } from '@device-core/plugin-api/scene';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { SkiaRenderer } from '../../../plugins/display/render-skia/renderer.ts';
import { Glass, surfaceOf } from '../../fixtures/glass.ts';
import { assertPicture, NO_PICTURES, painted, pixelsOf, pngOf } from '../../fixtures/pictures.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const KINDS: Scene = {
  scene: 1,
  background: { linear: 90, stops: [[0, '@background'], [1, '@accent-soft']] }, // biome-ignore format: stops
  nodes: [
    { kind: 'text', id: 'clock', text: '{time:HH:mm}', role: 'hero', x: 48, y: 40, w: 624, tabular: true },
    { kind: 'text', id: 'date', text: '{date}', role: 'heading', colour: '@text-soft', x: 48, y: 236, w: 624 },
    {
      kind: 'ellipse',
      id: 'ball',
      x: 264,
      y: 320,
      w: 192,
      h: 192,
      fill: { radial: true, stops: [[0, '@accent'], [1, '@accent-soft']] }, // biome-ignore format: stops
    },
    { kind: 'ellipse', id: 'ring', x: 488, y: 328, w: 176, h: 176, stroke: '@sunken', strokeWidth: 16 },
    {
      kind: 'ellipse',
      id: 'arc',
      x: 488,
      y: 328,
      w: 176,
      h: 176,
      stroke: '@accent',
      strokeWidth: 16,
      cap: 'round',
      sweep: 250,
    },
    {
      kind: 'path',
      id: 'star',
      x: 56,
      y: 328,
      w: 176,
      h: 176,
      view: [24, 24],
      d: 'M12 2l3 7h7l-5.5 4.5L18.5 21 12 16.5 5.5 21l2-7.5L2 9h7z',
      fill: '@warn',
      stroke: '@text',
      strokeWidth: 6,
      join: 'round',
    },
    { kind: 'text', id: 'scripts', text: 'Zażółć gęślą jaźń, Привет мир, Γειά σου', x: 48, y: 552, w: 624, h: 44 },
    {
      kind: 'group',
      id: 'pair',
      x: 520,
      y: 592,
      w: 120,
      h: 96,
      rotate: 12,
      opacity: 0.6,
      nodes: [
        { kind: 'rect', w: 72, h: 72, fill: '@error', radius: 16 },
        { kind: 'rect', x: 40, y: 24, w: 72, h: 72, fill: '@success', radius: 16 },
      ],
    },
    {
      kind: 'rect',
      id: 'button',
      x: 48,
      y: 608,
      w: 296,
      h: 88,
      radius: 44,
      fill: '@accent',
      shadow: { y: 8, blur: 16, colour: '@shadow' },
    },
    {
      kind: 'text',
      id: 'word',
      text: 'Remind me',
      role: 'label',
      colour: '@on-accent',
      x: 48,
      y: 608,
      w: 296,
      h: 88,
      align: 'center',
      valign: 'middle',
    },
  ],
};

describe('pictures of render-skia', { skip: NO_PICTURES }, () => {
  it('of every kind of node, by night', async () => assertPicture('skia/kinds-night', await painted(KINDS)));

  it('of every kind of node, by day', async () => {
    await assertPicture('skia/kinds-day', await painted(KINDS, { surroundings: { theme: DAY } }));
  });

  it('of a surface with a shadow over another, in the middle of its fade', async () => {
    const toast = surfaceOf(
      'toast',
      [
        {
          kind: 'rect',
          id: 'card',
          w: 640,
          h: 120,
          radius: 28,
          fill: '@raised',
          shadow: { y: 12, blur: 24, colour: '@shadow' },
        },
        { kind: 'text', id: 'title', text: 'Agenda', role: 'label', x: 32, y: 20, w: 576 },
        { kind: 'text', id: 'body', text: 'Lunch with Ada at half past twelve', role: 'caption', x: 32, y: 64, w: 576 },
      ],
      {
        layer: LAYERS.toast,
        box: { x: 40, y: 24, w: 640, h: 120 },
        background: '#00000000',
        opacity: 0.7,
      },
    );
    const home = { ...surfaceOf('home', []), scene: KINDS };
    await assertPicture('skia/toast-fading', await painted([home, toast]));
  });

  it('of a gradient on a panel of 16 bits, without bands', async () => {
    const clock = virtualClock({ now: 0 });
    await using parts = part(clock);
    const renderer = new SkiaRenderer(parts.scope, parts.log, []);
    const glass = new Glass(() => clock.monotonic(), 'rgb565');
    await using _opened = await renderer.open(glass.opening());
    const down = { linear: 90, stops: [[0, '#0b0d12'], [1, '#1d2c47']] } as const; // biome-ignore format: stops
    const ball = { radial: true, stops: [[0, '#8ab4ff'], [1, '#1d2c47']] } as const; // biome-ignore format: stops
    const node = { kind: 'ellipse', x: 160, y: 160, w: 400, h: 400, fill: ball } as const;
    const set = [surfaceOf('a', [node], { background: down })];
    await renderer.apply({ base: 0, revision: 1, set });
    await clock.advance(50);
    // Of the mean of 4 x 4 pixels nobody would see that there are 32 steps of red and blue.
    for (const y of [8, 100, 300, 500, 700])
      for (const [channel, [from, to]] of [
        [0x0b, 0x1d],
        [0x0d, 0x2c],
        [0x12, 0x47],
      ].entries()) {
        // biome-ignore format: stops
        let sum = 0;
        for (let index = 0; index < 16; index += 1) sum += glass.at(4 + (index & 3), y + (index >> 2))[channel]!;
        const wanted = from! + ((to! - from!) * (y + 2)) / 720;
        assert.ok(Math.abs(sum / 16 - wanted) < 1.5, `channel ${channel} at ${y}: ${sum / 16}, not ${wanted}`);
      }
    const data = new Uint8ClampedArray(720 * 720 * 4);
    for (let y = 0; y < 720; y += 1)
      for (let x = 0; x < 720; x += 1) data.set([...glass.at(x, y), 255], (y * 720 + x) * 4);
    const rect = { x: 0, y: 0, w: 720, h: 720 };
    await assertPicture('skia/gradient-565', {
      png: await pngOf({ width: 720, height: 720, data }),
      areas: [{ name: 'gradient', rect }],
    });
  });

  it('differ where one node does, however small its share of the whole', async () => {
    const picture = await painted(KINDS);
    const { width, height, data } = await pixelsOf(picture.png);
    // 1,200 pixels of blue in the star: 0.2 % of the picture.
    for (let index = 0; index < 1_200; index += 1)
      data.set([0, 0, 255, 255], ((390 + Math.floor(index / 40)) * width + 125 + (index % 40)) * 4);
    const changed = { ...picture, png: await pngOf({ width, height, data }) };
    if (process.env.DEVICE_PICTURES === 'write') return;
    await assert.rejects(assertPicture('skia/kinds-night', changed), /kinds-night\.png looks different.*\n.*path star/);
  });
});
