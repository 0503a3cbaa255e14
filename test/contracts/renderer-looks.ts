/** Looks of format 1, one test each. A renderer may leave some of them out, and names them. */
import assert from 'node:assert/strict';
import { encodePng } from '@device-core/plugin-api/pixels';
import type { SceneNode } from '@device-core/plugin-api/scene';
import { canvasOf } from '../../plugins/display/render-skia/canvas.ts';
import { surfaceOf } from '../fixtures/glass.ts';
import { box, code, type Stage } from './renderer.ts';

/** Looks that a renderer may leave out, with a plainer one in their place. */
export const LOOKS = [
  'gradients',
  'shadows',
  'layers',
  'round clips',
  'miters',
  'motion',
  'fades',
  'JPEG and WebP',
  'sprites',
  'streams',
] as const;
export type Look = (typeof LOOKS)[number];
/** By the name of the look: what the renderer paints instead. */
export type LeftOut = Readonly<Partial<Record<Look, string>>>;

const RED = [255, 0, 0];
const BLUE = [0, 0, 255];
const GROUND = '#0000ff';

/** Declares a test of the suite, of a look where one is named. */
export type Declare = (title: string, run: (stage: Stage) => Promise<void>, look?: Look) => void;

export function declareLooks(test: Declare): void {
  test(
    'runs a gradient over its box',
    async (stage) => {
      const across = { linear: 0, stops: [[0, '#000000'], [1, '#ffffff']] } as const; // biome-ignore format: stops
      await stage.show([surfaceOf('a', [], { background: across })]);
      const line = [4, 180, 360, 540, 715].map((x) => stage.glass.at(x, 300)[0]);
      for (const [index, wanted] of [1, 64, 128, 191, 254].entries())
        assert.ok(Math.abs(line[index]! - wanted) <= 4, line.join(' '));
    },
    'gradients',
  );

  test('paints a PNG in its box, and its place where the image is dropped', async (stage) => {
    const png = await encodePng({ width: 4, height: 4, rgba: pixels(4) });
    assert.deepEqual(await stage.renderer.image('tile', png), { width: 4, height: 4 });
    const image = { kind: 'image', x: 100, y: 100, w: 200, h: 200, image: 'tile' } as const;
    await stage.show([surfaceOf('a', [image], { background: GROUND })]);
    assert.deepEqual([stage.glass.at(200, 200), stage.glass.at(90, 200)], [RED, BLUE]);
    await stage.renderer.dropImages(['tile']);
    await stage.change({ set: [surfaceOf('a', [image], { background: GROUND, version: 2 })] });
    assert.notDeepEqual(stage.glass.at(200, 200), RED);
    const cut = png.slice(0, png.length - 20);
    assert.equal(await code(stage.renderer.image('cut', cut)), 'IMAGE_INVALID');
  });

  const picture = { x: 100, y: 100, w: 200, h: 200 } as const;
  const pixels = (side: number) => Uint8Array.from({ length: side * side * 4 }, (_, at) => [255, 0, 0, 255][at % 4]!);

  test('paints JPEG and WebP', async (stage) => {
    const [canvas, context] = canvasOf(8, 8, false);
    context.fillStyle = '#ff0000';
    context.fillRect(0, 0, 8, 8);
    for (const [name, bytes] of [['jpeg', await canvas.encode('jpeg', 90)], ['webp', await canvas.encode('webp', 90)]] as const) {
      await stage.renderer.image(name, bytes);
      await stage.show([surfaceOf('a', [{ kind: 'image', ...picture, image: name }], { background: GROUND })]);
      const [red, green, blue] = stage.glass.at(200, 200);
      assert.ok(red > 240 && green < 15 && blue < 15, `${name}: ${red} ${green} ${blue}`);
    }
  }, 'JPEG and WebP'); // biome-ignore format: two kinds

  test(
    'paints a frame of a sprite',
    async (stage) => {
      await stage.renderer.image('sheet', await encodePng({ width: 8, height: 8, rgba: pixels(8) }));
      const sprite = { kind: 'sprite', ...picture, image: 'sheet', frames: 4, columns: 2, frame: 3 } as const;
      await stage.show([surfaceOf('a', [sprite], { background: GROUND })]);
      assert.deepEqual(stage.glass.at(200, 200), RED);
    },
    'sprites',
  );

  test(
    'paints the picture of a stream',
    async (stage) => {
      await stage.show([surfaceOf('a', [{ kind: 'video', ...picture, stream: 'cam' }], { background: GROUND })]);
      const rect = { x: 0, y: 0, w: 8, h: 8 };
      await stage.renderer.video('a', 'cam', { width: 8, height: 8, rect, rgba: pixels(8) });
      await stage.clock.advance(200);
      assert.deepEqual(stage.glass.at(200, 200), RED);
    },
    'streams',
  );

  const painted: readonly (readonly [
    look: Look,
    title: string,
    nodes: readonly object[],
    at: readonly (readonly [x: number, y: number, shown: (rgb: readonly number[]) => boolean])[],
  ])[] = [
    [
      'shadows',
      'a shadow reaches beyond its shape',
      [
        {
          kind: 'rect',
          x: 100,
          y: 100,
          w: 200,
          h: 100,
          fill: '#00ff00',
          shadow: { blur: 12, y: 8, colour: '#ff0000' },
        },
      ],
      [[200, 206, ([red]) => red! > 60]],
    ],
    [
      'layers',
      'a translucent group is painted as one',
      [
        {
          kind: 'group',
          opacity: 0.5,
          nodes: [box(100, 100, 100, 100, '#00ff00'), box(100, 100, 100, 100, '#ff0000')],
        },
      ],
      [[150, 150, ([red, green]) => red! > 120 && green! < 4]],
    ],
    [
      'round clips',
      'a clip has round corners',
      [
        {
          kind: 'group',
          x: 100,
          y: 100,
          w: 200,
          h: 200,
          clip: true,
          radius: 80,
          nodes: [box(0, 0, 400, 400, '#ff0000')],
        },
      ],
      [
        [105, 105, (rgb) => `${rgb}` === `${BLUE}`],
        [200, 200, (rgb) => `${rgb}` === `${RED}`],
      ],
    ],
    [
      'miters',
      'lines meet at a point',
      [{ kind: 'path', x: 100, y: 100, d: 'M0 100H100V0', stroke: '#ff0000', strokeWidth: 40 }],
      [[217, 217, (rgb) => `${rgb}` === `${RED}`]],
    ],
  ];
  for (const [look, title, nodes, places] of painted)
    test(title, async (stage) => {
      await stage.show([surfaceOf('a', nodes as readonly SceneNode[], { background: GROUND })]);
      for (const [x, y, shown] of places) {
        const rgb = stage.glass.at(x, y);
        assert.ok(shown(rgb), `${x}, ${y}: ${rgb}`);
      }
    }, look); // biome-ignore format: one table
}
