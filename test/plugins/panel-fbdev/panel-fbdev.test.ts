import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Backlight, DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { PIXEL_BYTES, type PixelFormat, panel } from '@device-core/plugin-api/services/panel';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Framebuffer } from '../../../plugins/display/panel-fbdev/framebuffer.ts';
import { plugin } from '../../../plugins/display/panel-fbdev/index.ts';
import { layoutOf } from '../../../plugins/display/panel-fbdev/layout.ts';
import { LOOKS, painted, panelContract, whole } from '../../contracts/panel.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FileFramebuffer, type Geometry, structsOf } from '../../fixtures/framebuffer.ts';
import { healthOf } from '../../fixtures/native.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

const MANIFEST = new URL('../../../manifests/plugins/display/panel-fbdev.yaml', import.meta.url).pathname;
const SMALL: Geometry = { width: 16, height: 8, format: 'rgb565' };

async function opened(geometry: Geometry, light?: Backlight) {
  const file = await FileFramebuffer.make(geometry);
  const { scope, log, logged, ...rest } = part();
  const open = async () => Framebuffer.open(await file.node(), light);
  const driven = await DrivenPanel.start({ scope, log, name: 'fb0', open });
  return {
    file,
    logged,
    panel: driven,
    async [Symbol.asyncDispose]() {
      await rest[Symbol.asyncDispose]();
      assert.equal(file.open, 0, 'the node was left open');
      await file[Symbol.asyncDispose]();
    },
  };
}

describe('panel-fbdev', () => {
  after(leakCheck());

  for (const [device, reason] of [
    ['/dev/fb97', /ENOENT/],
    ['/dev/null', /is no framebuffer \(ENOTTY\)/],
  ] as const)
    it(`starts with ${device}, names the fault, and is asked in vain`, async () => {
      await using host = await createTestHost(plugin, { manifest: MANIFEST, config: { device } });
      const service = host.service(panel);
      await assert.rejects(service.info(), { code: 'PANEL_UNAVAILABLE', message: reason });
      const health = await eventually(() => healthOf(host, 'panel-fbdev'), 'its health');
      assert.equal(health.status, 'waiting');
      assert.match(health.message ?? '', reason);
    });

  for (const look of LOOKS)
    describe(`a panel of ${look.width} x ${look.height} in ${look.format}, with gaps between its rows`, () => {
      panelContract(look, async () => {
        const at = await opened({ ...look, padding: 38, xOffset: 3, yOffset: 5 });
        const poke = async () => {
          const info = await at.panel.info();
          const pixels = painted(whole(info), info.format, 1);
          await assert.rejects(at.panel.present({ seq: 1, rects: [whole(info)], pixels }), {
            code: 'PANEL_UNAVAILABLE',
          });
        };
        return {
          panel: at.panel,
          seen: () => at.file.seen(),
          // Whoever paints learns it.
          unplug: async () => {
            at.file.gone = true;
            await poke();
          },
          replug: async () => {
            at.file.gone = false;
          },
          [Symbol.asyncDispose]: at[Symbol.asyncDispose],
        };
      });
    });

  it('writes pixels to their places and nothing beside them, for any stride, depth and offsets', async () => {
    const side = fc.integer({ min: 1, max: 40 });
    const shape = fc.record({
      width: side,
      height: side,
      format: fc.constantFrom<PixelFormat>('rgb565', 'xrgb8888'),
      padding: fc.integer({ min: 0, max: 37 }),
      xOffset: fc.integer({ min: 0, max: 5 }),
      yOffset: fc.integer({ min: 0, max: 5 }),
    });
    const spot = fc.tuple(fc.double({ min: 0, max: 0.999 }), fc.double({ min: 0, max: 0.999 }), side, side);
    await fc.assert(
      fc.asyncProperty(shape, fc.array(spot, { minLength: 1, maxLength: 6 }), async (geometry, spots) => {
        const { width, height, format, xOffset, yOffset } = geometry;
        await using file = await FileFramebuffer.make(geometry);
        await using screen = await Framebuffer.open(await file.node(), undefined);
        const bytes = PIXEL_BYTES[format];
        const { stride } = structsOf(geometry);
        const expected = (await file.bytes()).slice();
        for (const [index, [left, top, wide, high]] of spots.entries()) {
          const [x, y] = [Math.floor(left * width), Math.floor(top * height)];
          const rect = { x, y, w: Math.min(wide, width - x), h: Math.min(high, height - y) };
          const pixels = painted(rect, format, index);
          for (let at = 0; at < rect.w * rect.h; at++) {
            const [px, py] = [x + (at % rect.w) + xOffset, y + Math.floor(at / rect.w) + yOffset];
            expected.set(pixels.subarray(at * bytes, (at + 1) * bytes), py * stride + px * bytes);
          }
          await screen.show({ seq: index + 1, rects: [rect], pixels }, new AbortController().signal);
        }
        assert.ok(Buffer.from(await file.bytes()).equals(Buffer.from(expected)));
      }),
      { numRuns: runs(400) },
    );
  });

  it('leaves black, and what lies outside of the picture as it was, when it opens', async () => {
    await using file = await FileFramebuffer.make({ ...SMALL, yOffset: 2 });
    await using screen = await Framebuffer.open(await file.node(), undefined);
    const bytes = await file.bytes();
    const first = screen.layout.offset;
    assert.ok(bytes.subarray(0, first).every((byte) => byte === 0xa5));
    assert.ok(bytes.subarray(first).every((byte) => byte === 0));
  });

  it('writes a rectangle at once, and no more bytes than from its first to its last', async () => {
    await using at = await opened({ width: 100, height: 100, format: 'xrgb8888' });
    const before = { writes: at.file.writes, written: at.file.written };
    const rect = { x: 10, y: 20, w: 30, h: 40 };
    await at.panel.present({ seq: 1, rects: [rect], pixels: painted(rect, 'xrgb8888', 1) });
    assert.equal(at.file.writes - before.writes, 1);
    assert.equal(at.file.written - before.written, 39 * 400 + 120);
  });

  it('never writes a part of one row up to its end alone, which framebuffers over DRM lose', async () => {
    const { width, height } = SMALL;
    await using at = await opened(SMALL);
    const stride = width * 2;
    for (const rect of [
      { x: width - 1, y: height - 1, w: 1, h: 1 },
      { x: 0, y: 3, w: width, h: 1 },
      { x: 9, y: 0, w: width - 9, h: 1 },
      { x: 0, y: 0, w: width, h: 1 },
    ])
      await at.panel.present({ seq: 1, rects: [rect], pixels: painted(rect, 'rgb565', 3) });
    const lost = at.file.ends.filter(([begin, end]) => end % stride === 0 && end - begin <= stride);
    assert.deepEqual(lost, []);
  });

  const cases: readonly (readonly [
    what: string,
    spoil: (variable: DataView, fixed: DataView) => void,
    says: RegExp,
  ])[] = [
    ['24 bits a pixel', (variable) => variable.setUint32(24, 24, true), /24 bits a pixel/],
    ['8 bits a pixel', (variable) => variable.setUint32(24, 8, true), /8 bits a pixel/],
    ['blue first', (variable) => variable.setUint32(32, 0, true), /red 5 bits at 0.*not rgb565/],
    ['555', (variable) => variable.setUint32(48, 5, true), /green 5 bits at 5/],
    ['mirrored bits', (variable) => variable.setUint32(40, 1, true), /not rgb565/],
    ['planes', (_, fixed) => fixed.setUint32(28, 1, true), /not packed/],
    ['a palette', (_, fixed) => fixed.setUint32(36, 3, true), /no colours/],
    ['no width', (variable) => variable.setUint32(0, 0, true), /0 x 8/],
    ['a width beyond belief', (variable) => variable.setUint32(0, 100_000, true), /100000 x 8/],
    ['rows that are too short', (_, fixed) => fixed.setUint32(48, 31, true), /31 bytes only/],
    ['too little memory', (_, fixed) => fixed.setUint32(24, 255, true), /ends at byte 256 of 255/],
    ['an offset beyond its memory', (variable) => variable.setUint32(20, 1, true), /of 256/],
  ];
  for (const [what, spoil, says] of cases)
    it(`refuses a framebuffer with ${what}, with the reason`, () => {
      const { variable, fixed } = structsOf(SMALL, spoil);
      assert.throws(() => layoutOf(variable, fixed), { message: says });
    });

  it('closes a node that it cannot use', async () => {
    await using file = await FileFramebuffer.make(SMALL);
    file.change = (variable) => variable.setUint32(24, 24, true);
    await assert.rejects(Framebuffer.open(await file.node(), undefined), /24 bits/);
    assert.equal(file.open, 0);
  });

  it('tells the refresh rate where the driver does, and 60 Hz else', () => {
    const hz = (clock: number) => {
      const { variable, fixed } = structsOf({ ...SMALL, width: 720, height: 720, clock });
      return layoutOf(variable, fixed).refresh;
    };
    assert.equal(hz(0), 60);
    assert.equal(hz(38_580), 50);
    assert.equal(hz(1), 60);
  });

  it('is blanked where its driver can, and does not say so where it cannot', async () => {
    await using at = await opened(SMALL);
    assert.equal((await at.panel.info()).power, true);
    await at.panel.power(false);
    await at.panel.power(true);
    assert.deepEqual(at.file.blanked, [0, 4, 0]);
    await using file = await FileFramebuffer.make(SMALL);
    file.blanks = false;
    await using screen = await Framebuffer.open(await file.node(), undefined);
    assert.deepEqual([screen.info.power, screen.info.brightness], [false, false]);
  });

  it('is dimmed by the light of sysfs, and switched off by it where the driver cannot', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'backlight-'));
    try {
      await mkdir(join(folder, 'lamp'));
      const files = { max_brightness: '200\n', brightness: '120\n', bl_power: '0\n' };
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'lamp', name), text);
      // sysfs takes each write as a whole; a file keeps the rest of a longer one.
      const said = async (name: string) => Number.parseInt(await readFile(join(folder, 'lamp', name), 'utf8'), 10);
      await assert.rejects(Backlight.find({ folder, name: 'other' }), /ENOENT/);
      const light = await Backlight.find({ folder });
      await using file = await FileFramebuffer.make(SMALL);
      file.blanks = false;
      await using screen = await Framebuffer.open(await file.node(), light);
      assert.deepEqual([screen.info.power, screen.info.brightness], [true, true]);
      await screen.brightness(0.75);
      assert.equal(await said('brightness'), 150);
      await screen.power(false);
      assert.equal(await said('bl_power'), 4);
      await mkdir(join(folder, 'second'));
      assert.equal(await Backlight.find({ folder }), undefined, 'which of them is meant, nobody said');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
