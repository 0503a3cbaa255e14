/** The panel from afar: whatever is painted and however slowly it is read, who watches ends up with what is on the glass. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Glass } from '@device-core/plugin-api/pixels';
import { joinRects, type Rect } from '@device-core/plugin-api/scene';
import { PIXEL_BYTES, type PixelFormat } from '@device-core/plugin-api/services/panel';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { FrameWatch } from '../../../plugins/display/display/watch/frame-watch.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';
import { runs } from '../../fixtures/runs.ts';
import { callerOf } from './apps-fixture.ts';
import { FarViewer } from './far-viewer.ts';
import { type Bench, boot, scene } from './fixture.ts';

after(leakCheck());

const OPERATOR = { caller: callerOf('operator') };
const PACKED = { encoding: 'deflate' } as const;

async function watches(bench: Bench, viewer: FarViewer, params: object = PACKED): Promise<() => Promise<void>> {
  const { done } = await bench.table.openStream('display.frames', params, viewer, OPERATOR);
  return async () => {
    viewer.end();
    await done.catch(() => undefined);
  };
}

/** What the panel shows by all that it took. */
function glassOf({ panel }: Bench): Glass {
  const { width, height, format } = panel.details;
  const glass = new Glass(panel.details);
  for (const frame of panel.frames) {
    const fits = frame.rects.every(({ x, y, w, h }) => x + w <= width && y + h <= height);
    const bytes = frame.rects.reduce((sum, { w, h }) => sum + w * h, 0) * PIXEL_BYTES[format];
    // Of the panel that it was before.
    if (fits && bytes === frame.pixels.length) glass.put(frame);
  }
  return glass;
}

const same = (one: Glass | undefined, other: Glass): boolean =>
  one?.width === other.width && one.format === other.format && Buffer.compare(one.pixels, other.pixels) === 0;

async function paint(bench: Bench, rects: readonly Rect[], seed: number): Promise<void> {
  const { opening } = bench.renderer;
  assert.ok(opening);
  const size = rects.reduce((sum, { w, h }) => sum + w * h, 0) * PIXEL_BYTES[opening.panel.format];
  const pixels = Uint8Array.from({ length: size }, (_, at) => (seed + at * 7) & 255);
  bench.renderer.frame += 1;
  await opening.present({ seq: bench.renderer.frame, rects, pixels });
}

async function small(format: PixelFormat = 'rgb565'): Promise<Bench> {
  const bench = await boot();
  bench.panel.back({ width: 32, height: 24, format });
  await eventually(() => bench.renderer.opening?.panel.width === 32, 'it paints on the small panel');
  await bench.renderer.painted();
  return bench;
}

const rect = fc
  .record({ x: fc.nat(31), y: fc.nat(23), w: fc.integer({ min: 1, max: 32 }), h: fc.integer({ min: 1, max: 24 }) })
  .map(({ x, y, w, h }) => ({ x, y, w: Math.min(w, 32 - x), h: Math.min(h, 24 - y) }));
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ rects: fc.array(rect, { minLength: 1, maxLength: 5 }), seed: fc.nat(255) }) },
  { weight: 3, arbitrary: fc.record({ credit: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ swap: fc.constantFrom<PixelFormat>('rgb565', 'xrgb8888') }) },
  { weight: 1, arbitrary: fc.constant({ again: true as const }) },
);

test('any frames and any credit end in the picture of the glass, over swaps of the panel, too', async () => {
  await using bench = await small();
  const params = fc.constantFrom({}, PACKED);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), params, async (steps, how) => {
      const viewer = new FarViewer(0);
      const end = await watches(bench, viewer, how);
      for (const one of steps) {
        if ('rects' in one) await paint(bench, joinRects(one.rects), one.seed);
        else if ('credit' in one) viewer.more(one.credit);
        else if ('again' in one) await turns(2);
        else {
          const { opening } = bench.renderer;
          bench.panel.back({ format: one.swap });
          await eventually(() => bench.renderer.opening && bench.renderer.opening !== opening, 'opened again');
          await bench.renderer.painted();
        }
      }
      viewer.more(1_000);
      await bench.renderer.painted();
      await eventually(() => same(viewer.glass, glassOf(bench)), 'the same picture');
      const [first] = viewer.heads;
      assert.deepEqual(first?.rects, [{ x: 0, y: 0, w: 32, h: 24 }], 'a whole one comes first');
      await end();
    }),
    { numRuns: runs(150) },
  );
});

test('frames count up, say when they were shown, and are much smaller than the panel', async () => {
  await using bench = await boot();
  const viewer = new FarViewer(9);
  const end = await watches(bench, viewer);
  await eventually(() => viewer.heads.length === 1, 'the first');
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('one') });
  await eventually(() => viewer.heads.length === 2, 'the second');
  assert.deepEqual(
    viewer.heads.map(({ seq }) => seq),
    [1, 2],
  );
  const [first] = viewer.heads;
  assert.ok(first && first.bytes < 720 * 720, `${first?.bytes} bytes`);
  assert.ok(Math.abs((first.at ?? 0) - Date.now()) < 600_000, 'milliseconds since the Unix epoch');
  await end();
});

test('one that never reads costs one frame, and one that comes later has its picture at once', async () => {
  await using bench = await small();
  const asleep = new FarViewer(0);
  const end = await watches(bench, asleep);
  await eventually(() => asleep.sent === 1, 'a frame waits for it');
  for (let count = 0; count < 300; count += 1) await paint(bench, [{ x: count % 30, y: 0, w: 2, h: 2 }], count);
  assert.equal(asleep.sent, 1);
  const painted = bench.renderer.frame;
  const awake = new FarViewer(1);
  const leave = await watches(bench, awake);
  await eventually(() => same(awake.glass, glassOf(bench)), 'the whole picture');
  assert.equal(bench.renderer.frame, painted, 'nothing was painted for it');
  await leave();
  asleep.more(2);
  await eventually(() => same(asleep.glass, glassOf(bench)), 'the other one, when it reads');
  assert.equal(asleep.heads.length, 2, 'all of it in one frame');
  await end();
});

test('a pace is kept, and no timer runs while nothing is painted', async () => {
  const clock = virtualClock();
  await using bench = await boot({ clock });
  const viewer = new FarViewer(100);
  const pending = clock.pending;
  const end = await watches(bench, viewer, { ...PACKED, fps: 10 });
  await eventually(() => viewer.heads.length === 1, 'the first at once');
  const spot = [{ x: 0, y: 0, w: 1, h: 1 }];
  await paint(bench, spot, 1);
  await paint(bench, spot, 2);
  await turns();
  assert.equal(viewer.heads.length, 1);
  await clock.advance(99);
  assert.equal(viewer.heads.length, 1);
  await clock.advance(2);
  await eventually(() => viewer.heads.length === 2, 'both in one, a tenth of a second later');
  await clock.advance(1_000);
  await turns();
  assert.equal(viewer.heads.length, 2);
  assert.ok(clock.pending <= pending, `${clock.pending} timers, ${pending} before`);
  await end();
});

test('one page takes two of the places, and the third is refused to it alone', async () => {
  await using bench = await small();
  const page = { caller: { ...callerOf('operator'), signedIn: { id: 'tab', role: 'viewer' as const } } };
  const open = (viewer: FarViewer, call: Parameters<typeof bench.table.openStream>[3]) =>
    bench.table.openStream('display.frames', PACKED, viewer, call);
  const two = [new FarViewer(5), new FarViewer(5)];
  const done = [];
  for (const viewer of two) done.push((await open(viewer, page)).done);
  await assert.rejects((await open(new FarViewer(5), page)).done, { code: 'STREAM_LIMIT' });
  const other = new FarViewer(5);
  const end = await watches(bench, other);
  await eventually(() => same(other.glass, glassOf(bench)), 'somebody else sees it');
  await end();
  for (const viewer of two) viewer.end();
  await Promise.allSettled(done);
});

test('two hundred who watch: eight may, and who leaves makes room', async () => {
  await using bench = await small();
  const viewers = Array.from({ length: 200 }, () => new FarViewer(50));
  const ends: (() => Promise<void>)[] = [];
  let refused = 0;
  for (const viewer of viewers) {
    const { done } = await bench.table.openStream('display.frames', PACKED, viewer, OPERATOR);
    done.catch((error: { code?: string }) => {
      if (error.code === 'STREAM_LIMIT') refused += 1;
    });
    ends.push(async () => {
      viewer.end();
      await done.catch(() => undefined);
    });
  }
  await eventually(() => refused === 192, 'the others are refused');
  const seen = viewers.slice(0, 8);
  await eventually(() => seen.every(({ glass }) => same(glass, glassOf(bench))), 'eight see it');
  await ends[0]?.();
  const late = new FarViewer(5);
  const end = await watches(bench, late);
  await eventually(() => same(late.glass, glassOf(bench)), 'one more sees it');
  await end();
  for (const one of ends) await one();
});

test('a panel that goes in the middle of a frame, and a renderer that goes, leave the viewer with the picture of those that follow', async () => {
  await using bench = await small();
  const viewer = new FarViewer(100);
  const end = await watches(bench, viewer);
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.panel.slow = promise;
  const lost = paint(bench, [{ x: 0, y: 0, w: 4, h: 4 }], 9).catch(() => undefined);
  bench.panel.lose('it was unplugged');
  resolve();
  bench.panel.slow = undefined;
  await lost;
  bench.panel.back({ width: 16, height: 16, format: 'xrgb8888' });
  await eventually(() => viewer.glass?.width === 16 && same(viewer.glass, glassOf(bench)), 'the panel that follows');
  const soft = new FakeRenderer();
  bench.register('soft', soft);
  await bench.unregister();
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('soft') });
  await bench.shows(['soft'], soft);
  await soft.painted();
  await eventually(() => same(viewer.glass, glassOf(bench)), 'the renderer that follows');
  await end();
});

for (const [what, params] of [
  ['another encoding', { encoding: 'png' }],
  ['no pace at all', { fps: 0 }],
  ['a pace that no panel has', { fps: 1_000 }],
  ['a member that is none', { quality: 3 }],
] as const)
  test(`${what} is refused`, async () => {
    await using bench = await boot();
    const opened = bench.table.openStream('display.frames', params, new FarViewer(0), OPERATOR);
    await assert.rejects(opened, { code: 'PARAMS_INVALID' });
  });

test('pixels are not looked at without a watcher', () => {
  const watch = new FrameWatch(virtualClock(), () => assert.fail('nobody asked for a whole frame'));
  const frame = {
    seq: 1,
    rects: [{ x: 0, y: 0, w: 1, h: 1 }],
    get pixels(): Uint8Array {
      return assert.fail('they were looked at');
    },
  };
  const info = { driver: 'none', width: 1, height: 1, format: 'rgb565', refresh: 60, brightness: false, power: false };
  watch.take(info as Parameters<FrameWatch['take']>[0], frame);
});
