import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { renderers } from '@device-core/plugin-api/services/renderer';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { readFont } from '../../../plugins/display/render-soft/font/read-font.ts';
import { plugin } from '../../../plugins/display/render-soft/index.ts';
import { decodePng } from '../../fixtures/png.ts';
import { AROUND, lit, soft, surface } from './soft.ts';

after(leakCheck());

const ROOT = join(import.meta.dirname, '../../..');
const manifest = join(ROOT, 'manifests/plugins/display/render-soft.yaml');
const WHITE = '#ffffff';

describe('render-soft', () => {
  it('registers as soft, and leaves with its plugin', async () => {
    const ids: string[] = [];
    const register = (id: string) => {
      ids.push(id);
      return { [Symbol.asyncDispose]: async () => void ids.pop() };
    };
    const host = await createTestHost(plugin, { manifest, services: [given(renderers, { register })] });
    assert.deepEqual(ids, ['soft']);
    await host.stop();
    assert.deepEqual(ids, []);
  });
});

describe('shapes of the soft renderer', () => {
  it('a box is exact to the pixel, and a part of one where its edges are between pixels', async () => {
    await using target = await soft();
    await target.show([
      { kind: 'rect', x: 10, y: 20, w: 30, h: 40, fill: WHITE },
      { kind: 'rect', x: 100.5, y: 20.25, w: 2, h: 2, fill: WHITE },
    ]);
    assert.deepEqual(
      [target.at(9, 20), target.at(10, 20), target.at(39, 59), target.at(40, 59), target.at(39, 60)].map(
        ([red]) => red,
      ),
      [0, 255, 255, 0, 0],
    );
    const near = (x: number, y: number, share: number) =>
      assert.ok(Math.abs(target.at(x, y)[0]! - share * 255) <= 2, `${x}, ${y}: ${target.at(x, y)} not ${share}`);
    near(100, 20, 0.375);
    near(101, 20, 0.75);
    near(101, 21, 1);
    near(102, 22, 0.125);
  });

  const areas: readonly (readonly [what: string, node: object, area: number])[] = [
    ['a circle', { kind: 'ellipse', w: 200, h: 200, fill: WHITE }, Math.PI * 100 * 100],
    ['a small circle', { kind: 'ellipse', w: 9, h: 9, fill: WHITE }, Math.PI * 4.5 * 4.5],
    ['a quarter of an ellipse', { kind: 'ellipse', w: 200, h: 100, sweep: 90, fill: WHITE }, (Math.PI * 100 * 50) / 4],
    ['a round box', { kind: 'rect', w: 200, h: 120, radius: 40, fill: WHITE }, 200 * 120 - (4 - Math.PI) * 40 * 40],
    ['a turned box', { kind: 'rect', w: 100, h: 60, rotate: 33, fill: WHITE }, 6_000],
    ['a scaled one', { kind: 'rect', w: 100, h: 60, scale: 1.5, fill: WHITE }, 6_000 * 2.25],
    ['a frame', { kind: 'rect', w: 200, h: 100, stroke: WHITE, strokeWidth: 10 }, 210 * 110 - 190 * 90],
    ['a ring', { kind: 'ellipse', w: 200, h: 200, stroke: WHITE, strokeWidth: 20 }, Math.PI * (110 ** 2 - 90 ** 2)],
    [
      'half a ring',
      { kind: 'ellipse', w: 200, h: 200, sweep: 180, stroke: WHITE, strokeWidth: 20 },
      (Math.PI * 4_000) / 2,
    ],
    [
      'half a ring with round ends',
      { kind: 'ellipse', w: 200, h: 200, sweep: -180, cap: 'round', stroke: WHITE, strokeWidth: 20 },
      (Math.PI * 4_000) / 2 + Math.PI * 100,
    ],
    ['a path with a hole', { kind: 'path', d: 'M0 0H100V100H0Z M20 20V80H80V20Z', fill: WHITE }, 6_400],
    ['a path of arcs', { kind: 'path', d: 'M0 50a50 50 0 1 1 100 0a50 50 0 1 1-100 0z', fill: WHITE }, Math.PI * 2_500],
    ['a path to scale', { kind: 'path', w: 200, h: 100, view: [10, 10], d: 'm0 0l10 0l0 10z', fill: WHITE }, 10_000],
    ['a line', { kind: 'path', d: 'M0 50H100', stroke: WHITE, strokeWidth: 8 }, 800],
    [
      'a line with round ends',
      { kind: 'path', d: 'M0 50H100', stroke: WHITE, strokeWidth: 8, cap: 'round' },
      800 + Math.PI * 16,
    ],
    ['a corner', { kind: 'path', d: 'M0 50H100V150', stroke: WHITE, strokeWidth: 8 }, 1_600 + 16],
    ['a closed line', { kind: 'path', d: 'M0 0H100V100H0Z', stroke: WHITE, strokeWidth: 8 }, 108 * 108 - 92 * 92],
  ];
  for (const [what, node, area] of areas)
    it(`${what} covers as much as it should`, async () => {
      await using target = await soft();
      await target.show([{ x: 300, y: 300, ...node } as never]);
      const covered = lit(target);
      assert.ok(Math.abs(covered - area) < Math.max(2, area * 0.01), `${covered}, not ${area}`);
    });

  it('a half transparent group shows half of the pixels below, as one, and not through itself', async () => {
    await using target = await soft();
    const boxes = [
      { kind: 'rect', w: 100, h: 100, fill: WHITE },
      { kind: 'rect', x: 50, w: 100, h: 100, fill: '#ff0000' },
    ] as const;
    await target.show([{ kind: 'group', x: 100, y: 100, opacity: 0.5, nodes: boxes }]);
    const close = (found: readonly number[], wanted: readonly number[]) =>
      assert.ok(
        found.every((value, at) => Math.abs(value - wanted[at]!) <= 1),
        `${found}`,
      );
    close(target.at(120, 150), [128, 128, 128]);
    close(target.at(175, 150), [128, 0, 0]);
    close(target.at(240, 150), [128, 0, 0]);
  });

  it('a group cuts off pixels outside of its box, round corners and all', async () => {
    await using target = await soft();
    const wide = { kind: 'rect', x: -50, y: -50, w: 400, h: 400, fill: WHITE } as const;
    await target.show([{ kind: 'group', x: 100, y: 100, w: 200, h: 100, clip: true, radius: 40, nodes: [wide] }]);
    const area = 200 * 100 - (4 - Math.PI) * 1_600;
    assert.ok(Math.abs(lit(target) - area) < 30, String(lit(target)));
    await target.show([{ kind: 'group', x: 100, y: 100, w: 200, h: 100, clip: true, nodes: [wide] }]);
    assert.equal(lit(target), 20_000);
  });

  it('a gradient goes from its first colour to its last, along its angle', async () => {
    await using target = await soft();
    const stops = [
      [0, '#000000'],
      [1, '#ffffff'],
    ] as const;
    await target.show([
      { kind: 'rect', w: 256, h: 100, fill: { linear: 0, stops } },
      { kind: 'rect', y: 200, w: 100, h: 256, fill: { linear: 90, stops } },
      { kind: 'ellipse', x: 400, y: 400, w: 200, h: 200, fill: { radial: true, stops } },
    ]);
    for (const at of [1, 64, 128, 250]) {
      assert.ok(Math.abs(target.at(at, 50)[0]! - at) <= 2, `across: ${target.at(at, 50)}`);
      assert.ok(Math.abs(target.at(50, 200 + at)[0]! - at) <= 2, `down: ${target.at(50, 200 + at)}`);
    }
    assert.ok(target.at(500, 500)[0]! <= 3 && target.at(500, 410)[0]! > 220, 'from the middle');
  });

  it('a shadow reaches beyond its shape, and is not there where surroundings are plain', async () => {
    await using target = await soft();
    const card = {
      kind: 'rect',
      x: 100,
      y: 100,
      w: 200,
      h: 100,
      fill: WHITE,
      shadow: { blur: 12, y: 8, colour: '#ff0000' },
    } as const;
    await target.show([card]);
    assert.ok(target.at(200, 206)[0]! > 60 && target.at(200, 206)[1] === 0);
    assert.deepEqual(target.at(200, 290), [0, 0, 0]);
    await target.apply({ surroundings: { ...AROUND, plain: true } });
    assert.deepEqual(target.at(200, 206), [0, 0, 0]);
  });

  it('a node that it cannot show has its place and names its kind', async () => {
    await using target = await soft();
    await target.show([{ kind: 'image', x: 100, y: 100, w: 400, h: 200, image: 'x.png', label: 'Photo of a cat' }]);
    assert.notDeepEqual(target.at(110, 200), [0, 0, 0]);
    const middle = Array.from({ length: 200 }, (_, x) => target.at(200 + x, 200)[0]!);
    assert.ok(Math.max(...middle) > 120, 'its label');
  });
});

describe('text of the soft renderer', () => {
  it('has Latin-1 and what stands between words, in both weights', () => {
    const font = readFont();
    const codes = [
      ...Array.from({ length: 95 }, (_, at) => 32 + at),
      ...Array.from({ length: 96 }, (_, at) => 160 + at),
    ];
    const signs = [...'–—‘’“”…•€'].map((character) => character.codePointAt(0)!);
    // A soft hyphen is seen where a line breaks alone.
    for (const weight of [400, 700] as const)
      for (const code of [...codes, ...signs])
        if (code !== 0xad) assert.ok(font.glyph(code, weight), `${String.fromCodePoint(code)} ${weight}`);
  });

  it('is what the script makes of the package', () => {
    const folder = join(ROOT, 'plugins/display/render-soft/font');
    const { stdout, status } = spawnSync(process.execPath, [join(folder, 'make.ts')]);
    assert.equal(status, 0);
    assert.ok(stdout.equals(readFileSync(join(folder, 'inter.bin'))), 'run font/make.ts again');
  });

  it('is measured without a screen: wider in bold, in more lines where there is less room, cut where there are too few', async () => {
    await using target = await soft();
    const { renderer } = target;
    await renderer.close();
    const text = 'The quick brown fox jumps over the lazy dog';
    const [plain, bold, narrow, short, large] = await renderer.measure(
      [
        { text, size: 30 },
        { text, size: 30, weight: 700 },
        { text, size: 30, width: 200 },
        { text, size: 30, width: 200, lines: 2 },
        { text, size: 60 },
      ],
      AROUND,
    );
    assert.ok(bold!.width > plain!.width);
    assert.ok(narrow!.lines > 2 && narrow!.width <= 200 && !narrow!.cut);
    assert.ok(short!.lines === 2 && short!.cut);
    assert.ok(Math.abs(large!.width - 2 * plain!.width) < 0.01);
    assert.ok(Math.abs(narrow!.height - narrow!.lines * 39) < 1e-9);
    const [scaled] = await renderer.measure([{ text, role: 'body' }], { ...AROUND, textScale: 2 });
    assert.equal(scaled!.height, AROUND.theme.type.body.line * 2);
  });

  it('stands where it should: at the start, in the middle, at the end', async () => {
    const edges = async (align: 'start' | 'center' | 'end') => {
      await using target = await soft();
      await target.show([{ kind: 'text', x: 100, y: 100, w: 500, h: 60, size: 40, align, text: 'HIH', colour: WHITE }]);
      const rgba = target.glass.rgba();
      const columns = Array.from({ length: 720 }, (_, x) => x).filter((x) => rgba[(130 * 720 + x) * 4]! > 128);
      return [columns[0]!, columns.at(-1)!] as const;
    };
    const [start, middle, end] = [await edges('start'), await edges('center'), await edges('end')];
    assert.ok(start[0] >= 100 && start[0] < 108, String(start));
    assert.ok(end[1] <= 600 && end[1] > 592, String(end));
    assert.ok(Math.abs(middle[0] - 100 - (600 - middle[1])) <= 2, String(middle));
  });

  it('has figures of one width where it is asked to, so that a clock does not dance', async () => {
    await using target = await soft();
    const [ones, eights, free] = await target.renderer.measure([
      { text: '11:11', size: 80, tabular: true },
      { text: '08:48', size: 80, tabular: true },
      { text: '11:11', size: 80 },
    ]);
    assert.equal(ones!.width, eights!.width);
    assert.ok(free!.width < ones!.width);
  });

  it('tells what the font does not have, once, and shows a letter without its mark or a box', async () => {
    await using target = await soft();
    await target.show([{ kind: 'text', w: 700, h: 60, text: 'Nguyễn Дом' }]);
    await target.clock.advance(2_000);
    await target.show([{ kind: 'text', w: 700, h: 60, text: 'Nguyễn Дом again' }]);
    await target.clock.advance(2_000);
    const told = target.reports.flatMap(({ missingGlyphs }) => missingGlyphs);
    assert.deepEqual([...told].sort(), ['ễ', 'Д', 'м', 'о'].sort());
  });
});

describe('a picture of the soft renderer', () => {
  it('is the one on the panel, as PNG, and of one surface alone', async () => {
    await using target = await soft();
    await target.show([{ kind: 'text', x: 40, y: 40, role: 'title', text: 'Hello' }]);
    const toast = surface(
      'toast',
      { scene: 1, background: '#00000000', nodes: [{ kind: 'rect', w: 100, h: 40, fill: WHITE }] },
      { layer: 4, box: { x: 200, y: 300, w: 200, h: 100 } },
    );
    await target.apply({ set: [toast] });
    assert.deepEqual(decodePng(await target.renderer.snapshot()).rgba, target.glass.rgba());
    const alone = decodePng(await target.renderer.snapshot({ surface: 'toast' }));
    assert.deepEqual([...alone.rgba.subarray((310 * 720 + 210) * 4, (310 * 720 + 210) * 4 + 3)], [255, 255, 255]);
    await assert.rejects(target.renderer.snapshot({ surface: 'nobody' }), { code: 'UNAVAILABLE' });
  });

  it('has 16 bits a pixel where the panel has, and colours that it can show are exact', async () => {
    await using target = await soft({ format: 'rgb565' });
    await target.show([
      { kind: 'rect', w: 100, h: 100, fill: WHITE },
      { kind: 'rect', x: 100, w: 100, h: 100, fill: '#ff0000' },
      { kind: 'rect', x: 200, w: 256, h: 100, fill: '#808080' },
    ]);
    assert.deepEqual(target.at(50, 50), [255, 255, 255]);
    assert.deepEqual(target.at(150, 50), [255, 0, 0]);
    // Between two values it is a pattern of both, as much as it needs of each.
    const reds = Array.from({ length: 64 }, (_, at) => target.at(204 + (at & 7), 8 + (at >> 3))[0]!);
    const mean = reds.reduce((sum, red) => sum + red, 0) / reds.length;
    assert.ok(new Set(reds).size === 2 && Math.abs(mean - 128) < 1.5, String(mean));
  });

  it('is to scale on a panel of another size', async () => {
    await using target = await soft({ width: 360, height: 480 });
    await target.show([{ kind: 'rect', x: 72, y: 144, w: 360, h: 180, fill: WHITE }]);
    assert.equal(lit(target), 180 * 120);
    assert.deepEqual(
      [target.at(36, 96), target.at(215, 215), target.at(216, 215)].map(([red]) => red),
      [255, 255, 0],
    );
  });

  it('is dimmed by painting where the panel cannot be', async () => {
    await using target = await soft();
    await target.show([{ kind: 'rect', w: 100, h: 100, fill: '#c86432' }]);
    await target.apply({ surroundings: { ...AROUND, light: 0.5 } });
    assert.deepEqual(target.at(50, 50), [100, 50, 25]);
  });
});
