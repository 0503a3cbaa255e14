import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { renderers } from '@device-core/plugin-api/services/renderer';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { readFont } from '../../../plugins/display/render-soft/font/read-font.ts';
import { plugin } from '../../../plugins/display/render-soft/index.ts';
import { LEFT_OUT } from '../../../plugins/display/render-soft/left-out.ts';
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
    ['a corner', { kind: 'path', d: 'M0 50H100V150', stroke: WHITE, strokeWidth: 8 }, 1_600 - 16 + Math.PI * 4],
    ['a closed line', { kind: 'path', d: 'M0 0H100V100H0Z', stroke: WHITE, strokeWidth: 8 }, 108 * 108 - 92 * 92],
  ];
  for (const [what, node, area] of areas)
    it(`${what} covers as much as it should`, async () => {
      await using target = await soft();
      await target.show([{ x: 300, y: 300, ...node } as never]);
      const covered = lit(target);
      assert.ok(Math.abs(covered - area) < Math.max(2, area * 0.01), `${covered}, not ${area}`);
    });

  const GROUP = { kind: 'group', x: 100, y: 100, w: 200, h: 100 } as const;
  const plainer: readonly (readonly [look: keyof typeof LEFT_OUT, node: object, places: readonly (readonly [x: number, y: number, grey: number])[]])[] = [
    ['gradients', { kind: 'rect', x: 100, y: 100, w: 200, h: 100, fill: { linear: 0, stops: [[0, '#000000'], [1, WHITE]] } }, [[101, 150, 128], [299, 150, 128]]],
    ['shadows', { kind: 'rect', x: 100, y: 100, w: 200, h: 100, fill: WHITE, shadow: { blur: 12, y: 8, colour: WHITE } }, [[200, 199, 255], [200, 206, 0]]],
    ['layers', { ...GROUP, opacity: 0.5, nodes: [{ kind: 'rect', w: 200, h: 100, fill: WHITE }, { kind: 'rect', w: 100, h: 100, fill: WHITE }] }, [[250, 150, 128], [150, 150, 191]]],
    ['round clips', { ...GROUP, clip: true, radius: 40, nodes: [{ kind: 'rect', x: -50, y: -50, w: 400, h: 400, fill: WHITE }] }, [[101, 101, 255], [99, 150, 0], [300, 150, 0]]],
    ['miters', { kind: 'path', x: 100, y: 100, d: 'M0 100H100V0', stroke: WHITE, strokeWidth: 40 }, [[218, 218, 0], [210, 210, 255]]],
  ]; // biome-ignore format: one table
  for (const [look, node, places] of plainer)
    it(`in place of ${look} there is ${LEFT_OUT[look]}`, async () => {
      await using target = await soft();
      await target.show([node as never]);
      for (const [x, y, grey] of places)
        assert.ok(Math.abs(target.at(x, y)[0]! - grey) <= 1, `${x}, ${y}: ${target.at(x, y)}`);
    });

  it('a node that it cannot show has its place and names its kind', async () => {
    await using target = await soft();
    await target.show([{ kind: 'image', x: 100, y: 100, w: 400, h: 200, image: 'x.png', label: 'Photo of a cat' }]);
    assert.notDeepEqual(target.at(110, 200), [0, 0, 0]);
    const middle = Array.from({ length: 200 }, (_, x) => target.at(200 + x, 200)[0]!);
    assert.ok(Math.max(...middle) > 120, 'its label');
  });
});

/** A PNG of one kind, from rows with their filters. */
function png(
  { colour, rows, palette }: { colour: number; rows: readonly (readonly number[])[]; palette?: readonly number[] },
  width: number,
): Buffer {
  const chunk = (kind: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, width, 0, 0, 0, rows.length, 8, colour, 0, 0, 0]);
  const plte = palette ? [chunk('PLTE', Buffer.from(palette))] : [];
  const data = deflateSync(Buffer.from(rows.flat()));
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([start, chunk('IHDR', head), ...plte, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

describe('images of the soft renderer', () => {
  const RED = [255, 0, 0];
  const kinds: readonly (readonly [title: string, file: Buffer, left: readonly number[], right: readonly number[]])[] = [
    ['grey', png({ colour: 0, rows: [[0, 9, 200], [2, 0, 0]] }, 2), [9, 9, 9], [200, 200, 200]],
    ['colours, by the pixel before', png({ colour: 2, rows: [[1, 255, 0, 0, 1, 7, 0], [2, 0, 0, 0, 0, 0, 0]] }, 2), RED, [0, 7, 0]],
    ['a palette', png({ colour: 3, rows: [[0, 1, 0], [0, 1, 0]], palette: [1, 2, 3, 255, 0, 0] }, 2), RED, [1, 2, 3]],
    ['grey and alpha', png({ colour: 4, rows: [[0, 80, 255, 200, 0], [3, 40, 128, 60, 64]] }, 2), [80, 80, 80], [0, 0, 0]],
    ['colours and alpha, by Paeth', png({ colour: 6, rows: [[0, 255, 0, 0, 255, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0, 0, 0]] }, 2), RED, [0, 0, 0]],
  ]; // biome-ignore format: one table
  for (const [title, file, left, right] of kinds)
    it(`a PNG of ${title} is painted`, async () => {
      await using target = await soft();
      await target.renderer.image('tile', file);
      await target.show([{ kind: 'image', x: 100, y: 100, w: 200, h: 200, image: 'tile' }]);
      assert.deepEqual([target.at(120, 120), target.at(280, 120)], [left, right]);
    });

  it('an image is cut, fitted or stretched as the node says', async () => {
    await using target = await soft();
    await target.renderer.image('wide', png({ colour: 0, rows: [[0, 60, 120, 180, 240]] }, 4));
    const fits = ['cover', 'contain', 'fill'] as const;
    await target.show(
      fits.map((fit, at) => ({ kind: 'image', x: at * 200, w: 160, h: 160, fit, image: 'wide' })) as never,
    );
    const row = (left: number, y: number) => [10, 70, 90, 150].map((x) => target.at(left + x, y)[0]);
    assert.deepEqual(row(0, 80), [120, 120, 180, 180], 'the middle, cut on both sides');
    assert.deepEqual([row(200, 80), row(200, 20)], [[60, 120, 180, 240], [0, 0, 0, 0]], 'all of it, with bars'); // biome-ignore format: rows
    assert.deepEqual(row(400, 20), [60, 120, 180, 240], 'stretched');
  });

  const broken: readonly (readonly [title: string, file: Buffer, reason: RegExp])[] = [
    ['data that are no deflate', Buffer.from(png({ colour: 0, rows: [[0, 1]] }, 1)).fill(255, 41, 45), /cannot be unpacked/],
    ['too few rows', png({ colour: 2, rows: [[0, 1]] }, 1), /it is cut off/],
    ['more than its size says', png({ colour: 0, rows: [[0, ...Array(9_000).fill(3)]] }, 1), /cannot be unpacked/],
    ['a filter that does not exist', png({ colour: 0, rows: [[7, 1]] }, 1), /filter/],
  ]; // biome-ignore format: one table
  for (const [title, file, reason] of broken)
    it(`a PNG with ${title} is refused`, async () => {
      await using target = await soft();
      await assert.rejects(target.renderer.image('x', file), { code: 'IMAGE_INVALID', message: reason });
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
      { kind: 'rect', x: 200, w: 256, h: 100, fill: '#c86432' },
    ]);
    assert.deepEqual(target.at(50, 50), [255, 255, 255]);
    assert.deepEqual(target.at(150, 50), [255, 0, 0]);
    assert.ok(
      target.at(250, 50).every((value, at) => Math.abs(value - [200, 100, 50][at]!) <= 4),
      `${target.at(250, 50)}`,
    );
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
