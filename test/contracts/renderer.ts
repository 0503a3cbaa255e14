/** What every renderer must do, whatever paints in it. It runs in this thread, on a virtual clock. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { DAY, type SceneNode, type Timeline } from '@device-core/plugin-api/scene';
import {
  LAYERS,
  type Renderer,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';
import type { VirtualClock } from '@device-core/plugin-api/testing';
import { Glass, SURROUNDINGS, surfaceOf } from '../fixtures/glass.ts';
import { declareLooks, type LeftOut, LOOKS, type Look } from './renderer-looks.ts';

export interface RendererUnderTest extends AsyncDisposable {
  readonly renderer: Renderer;
  readonly clock: VirtualClock;
}

const RED = [255, 0, 0];
const BLUE = [0, 0, 255];
const GREEN = [0, 255, 0];
const GROUND = '#0000ff';

/** A screen that is open, and the tree that is on it. */
export class Stage {
  readonly renderer: Renderer;
  readonly clock: VirtualClock;
  readonly glass: Glass;
  revision = 0;

  constructor({ renderer, clock }: RendererUnderTest, glass = new Glass(() => clock.monotonic())) {
    this.renderer = renderer;
    this.clock = clock;
    this.glass = glass;
  }

  async open(): Promise<AsyncDisposable> {
    this.revision = 0;
    return this.renderer.open(this.glass.opening());
  }

  /** Begins anew with these surfaces. */
  async show(set: readonly Surface[], surroundings: Partial<Surroundings> = {}): Promise<number> {
    this.revision = 1;
    const patch = { base: 0, revision: 1, surroundings: { ...SURROUNDINGS, ...surroundings }, set };
    const { frame } = await this.renderer.apply(patch);
    await this.clock.advance(100);
    return frame;
  }

  async change(patch: Omit<TreePatch, 'base' | 'revision'>, ms = 100): Promise<number> {
    const { frame } = await this.renderer.apply({ base: this.revision, revision: this.revision + 1, ...patch });
    this.revision += 1;
    await this.clock.advance(ms);
    return frame;
  }

  /** Frames in so many milliseconds. */
  async framesIn(ms: number): Promise<number> {
    const before = this.glass.frames.length;
    await this.clock.advance(ms);
    return this.glass.frames.length - before;
  }
}

export const box = (x: number, y: number, w: number, h: number, fill: string, more: object = {}): SceneNode =>
  ({ kind: 'rect', x, y, w, h, fill, ...more }) as SceneNode;

export async function code(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, 'it should have failed with an error of the table');
  return error.code;
}

/** Declares the tests; call it inside a `describe`. The list is the renderer's own. */
export function rendererContract(make: () => Promise<RendererUnderTest>, leftOut: LeftOut): void {
  const test = (title: string, run: (stage: Stage) => Promise<void>, look?: Look) => {
    const instead = look && leftOut[look];
    const skip = instead !== undefined && `it leaves out ${look}, and paints ${instead}`;
    it(title, { skip }, async () => {
      await using made = await make();
      const stage = new Stage(made);
      const opened = await stage.open();
      await run(stage);
      assert.ok(stage.glass.most <= 1, 'one frame at a time');
      await opened[Symbol.asyncDispose]();
      assert.equal(made.clock.pending, 0, 'timers after its end');
    });
  };

  it('leaves out looks that the suite knows, and no other', () => {
    const unknown = Object.keys(leftOut).filter((name) => !(LOOKS as readonly string[]).includes(name));
    assert.deepEqual(unknown, []);
  });

  test('paints what it is shown, in frames that are counted from 1', async (stage) => {
    const frame = await stage.show([surfaceOf('a', [box(100, 200, 50, 60, '#ff0000')], { background: GROUND })]);
    const { frames } = stage.glass;
    assert.deepEqual([frame, frames[0]?.seq], [1, 1]);
    assert.deepEqual(stage.glass.at(125, 230), RED);
    for (const [x, y] of [[99, 230], [150, 230], [125, 199], [125, 260]] as const) // biome-ignore format: corners
      assert.deepEqual(stage.glass.at(x, y), BLUE, `${x}, ${y}`);
    const next = await stage.change({ set: [surfaceOf('a', [], { background: GROUND })] });
    assert.deepEqual(stage.glass.at(125, 230), BLUE);
    assert.equal(frames.find(({ seq }) => seq === next)?.seq, next, 'the frame that was told');
    assert.deepEqual(frames.map(({ seq }) => seq), frames.map((_, index) => index + 1)); // biome-ignore format: one line
  });

  test('sends what changed, and no more than a little around it', async (stage) => {
    const node = box(100, 200, 48, 48, '#ff0000', { id: 'n' });
    await stage.show([surfaceOf('a', [node], { background: GROUND })]);
    const before = stage.glass.frames.length;
    await stage.change({ patch: [{ surface: 'a', patch: { version: 1, set: [{ id: 'n', x: 300 }] }, since: 0 }] });
    assert.deepEqual([stage.glass.at(310, 220), stage.glass.at(110, 220)], [RED, BLUE]);
    const rects = stage.glass.frames.slice(before).flatMap((frame) => frame.rects);
    const pixels = rects.reduce((sum, { w, h }) => sum + w * h, 0);
    assert.ok(pixels >= 2 * 48 * 48 && pixels < 3 * 48 * 48, `${pixels} pixels`);
  });

  test('refuses a change of another revision, and takes the whole tree anew', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    const set = [surfaceOf('b', [], { background: '#ff0000' })];
    assert.equal(await code(stage.renderer.apply({ base: 7, revision: 8, set })), 'SCENE_CONFLICT');
    assert.equal(await stage.framesIn(1_000), 0);
    assert.deepEqual(stage.glass.at(1, 1), BLUE);
    await stage.renderer.apply({ base: 0, revision: 40, set });
    await stage.clock.advance(100);
    assert.deepEqual(stage.glass.at(1, 1), RED);
    assert.equal(await code(stage.renderer.apply({ base: 1, revision: 2, set })), 'SCENE_CONFLICT');
    await stage.renderer.apply({ base: 40, revision: 41, set });
  });

  test('takes a change whole or not at all', async (stage) => {
    await stage.show([surfaceOf('a', [box(0, 0, 9, 9, '#00ff00', { id: 'n' })], { background: GROUND })]);
    const patch = [{ surface: 'a', patch: { version: 1, set: [{ id: 'nobody', x: 1 }] }, since: 0 }];
    const set = [surfaceOf('b', [], { background: '#ff0000' })];
    assert.equal(await code(stage.renderer.apply({ base: 1, revision: 2, set, patch })), 'SCENE_INVALID');
    assert.equal(await stage.framesIn(1_000), 0);
    assert.deepEqual(stage.glass.at(50, 50), BLUE);
    await stage.change({});
  });

  test('has the higher layer above, the later surface above within one, and what is below when they go', async (stage) => {
    const area = { x: 0, y: 0, w: 300, h: 300 };
    await stage.show([
      surfaceOf('toast', [], { background: '#ff0000', layer: LAYERS.toast, box: area }),
      surfaceOf('first', [], { background: GROUND }),
      surfaceOf('later', [], { background: '#00ff00', box: { x: 0, y: 0, w: 600, h: 600 } }),
    ]);
    const seen = () => [stage.glass.at(100, 100), stage.glass.at(500, 500), stage.glass.at(700, 700)];
    assert.deepEqual(seen(), [RED, GREEN, BLUE]);
    await stage.change({ remove: ['toast'] });
    assert.deepEqual(seen(), [GREEN, GREEN, BLUE]);
    await stage.change({ place: [{ surface: 'later', hidden: true }] });
    assert.deepEqual(seen(), [BLUE, BLUE, BLUE]);
    await stage.change({ place: [{ surface: 'later', hidden: false, box: area }] });
    assert.deepEqual(seen(), [GREEN, BLUE, BLUE]);
  });

  test('leaves a surface that is replaced where it was, and puts one above that went and came in one change', async (stage) => {
    const under = surfaceOf('under', [], { background: '#ff0000' });
    await stage.show([under, surfaceOf('over', [], { background: '#00ff00' })]);
    await stage.change({ set: [under] });
    assert.deepEqual(stage.glass.at(100, 100), GREEN);
    await stage.change({ remove: ['under'], set: [under] });
    assert.deepEqual(stage.glass.at(100, 100), RED);
  });

  test('keeps an app in its box', async (stage) => {
    const app = surfaceOf('app', [box(-500, -500, 2_000, 2_000, '#ff0000')], {
      layer: LAYERS.app,
      box: { x: 100, y: 100, w: 200, h: 200 },
    });
    await stage.show([surfaceOf('home', [], { background: GROUND }), app]);
    const seen = [stage.glass.at(110, 110), stage.glass.at(90, 110), stage.glass.at(310, 290)];
    assert.deepEqual(seen, [RED, BLUE, BLUE]);
  });

  test('clips a group, and leaves out what has no opacity', async (stage) => {
    const inner = box(0, 0, 400, 400, '#ff0000');
    await stage.show([
      surfaceOf('a', [
        { kind: 'group', x: 100, y: 100, w: 50, h: 50, clip: true, nodes: [inner] },
        { kind: 'group', x: 400, y: 400, opacity: 0, nodes: [inner] },
      ], { background: GROUND }), // biome-ignore format: two groups
    ]);
    const seen = [stage.glass.at(120, 120), stage.glass.at(160, 120), stage.glass.at(450, 450)];
    assert.deepEqual(seen, [RED, BLUE, BLUE]);
  });

  test('measures texts, open or not', async (stage) => {
    const words = 'one two three four five six seven eight nine ten';
    const [short, long, wrapped, cut] = await stage.renderer.measure([
      { text: 'one' },
      { text: words },
      { text: words, width: 300 },
      { text: words, width: 300, lines: 1 },
    ]);
    assert.ok(short!.width > 0 && long!.width > short!.width * 5);
    assert.equal(long!.lines, 1);
    assert.ok(wrapped!.lines > 1 && wrapped!.width <= 300 && !wrapped!.cut);
    assert.equal(wrapped!.height, wrapped!.lines * short!.height);
    assert.deepEqual([cut!.lines, cut!.cut], [1, true]);
    const [large] = await stage.renderer.measure([{ text: 'one' }], { ...SURROUNDINGS, textScale: 2 });
    assert.ok(large!.height > short!.height * 1.5);
    await stage.renderer.close();
    assert.deepEqual(await stage.renderer.measure([{ text: 'one' }]), [short]);
  });

  test('gives a PNG of the screen, and of one surface', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    for (const options of [{}, { surface: 'a' }]) {
      const png = Buffer.from(await stage.renderer.snapshot(options));
      assert.equal(png.subarray(1, 4).toString(), 'PNG');
      assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [720, 720]);
    }
  });

  test('has no frame while it is paused, and a whole one after', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    await stage.renderer.pause(true);
    await stage.change({ set: [surfaceOf('a', [], { background: '#ff0000' })] }, 0);
    assert.equal(await stage.framesIn(60_000), 0);
    assert.equal(stage.clock.pending, 0);
    await stage.renderer.pause(false);
    assert.equal(await stage.framesIn(1_000), 1);
    assert.deepEqual(stage.glass.frames.at(-1)?.rects, [{ x: 0, y: 0, w: 720, h: 720 }]);
    assert.deepEqual(stage.glass.at(5, 5), RED);
  });

  test('has nothing to say when it is closed, and begins anew when it is opened again', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    await stage.renderer.close();
    assert.equal(stage.clock.pending, 0);
    const set = [surfaceOf('b', [], { background: '#ff0000', box: { x: 0, y: 0, w: 100, h: 100 } })];
    for (const work of [
      () => stage.renderer.apply({ base: 1, revision: 2, set }),
      () => stage.renderer.snapshot(),
      () => stage.renderer.pause(true),
    ])
      assert.equal(await code(work()), 'UNAVAILABLE');
    await stage.renderer.close();
    const before = stage.glass.frames.length;
    await using _again = await stage.open();
    assert.equal(await code(stage.renderer.apply({ base: 1, revision: 2, set })), 'SCENE_CONFLICT');
    assert.equal(await stage.show(set), 1);
    assert.equal(stage.glass.frames[before]?.seq, 1);
    assert.deepEqual(stage.glass.at(50, 50), RED);
    assert.notDeepEqual(stage.glass.at(500, 500), BLUE, 'what was there before');
    await stage.renderer.close();
  });

  test('sends a whole frame after one that was refused, and not at once', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    stage.glass.mood = 'refuses';
    await stage.change({ set: [surfaceOf('a', [box(0, 0, 40, 40, '#ff0000')], { background: GROUND })] }, 20);
    const tried = await stage.framesIn(10_000);
    assert.ok(tried >= 1 && tried <= 40, `${tried} tries in 10 s`);
    stage.glass.mood = 'well';
    await stage.clock.advance(20_000);
    assert.deepEqual(stage.glass.frames.at(-1)?.rects, [{ x: 0, y: 0, w: 720, h: 720 }]);
    assert.deepEqual(stage.glass.at(20, 20), RED);
    assert.equal(await stage.framesIn(60_000), 0);
  });

  it('does not wait for ever for a panel that never answers, and can be closed meanwhile', async () => {
    await using made = await make();
    const stage = new Stage(made);
    await stage.open();
    stage.glass.mood = 'hangs';
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    assert.equal(stage.glass.frames.length, 1);
    await stage.clock.advance(60_000);
    assert.ok(stage.glass.frames.length > 1, 'another try');
    await stage.clock.until(stage.renderer.close());
    assert.equal(made.clock.pending, 0);
    const before = stage.glass.frames.length;
    stage.glass.release();
    assert.equal(await stage.framesIn(60_000), 0);
    await using _again = await stage.open();
    await stage.show([surfaceOf('a', [], { background: '#ff0000' })]);
    assert.ok(stage.glass.frames.length > before);
    assert.deepEqual(stage.glass.at(5, 5), RED);
    await stage.renderer.close();
  });

  test('takes one frame at a time: what changes meanwhile is in the next', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: GROUND })]);
    stage.glass.mood = 'hangs';
    for (const [index, x] of [0, 100, 200, 300].entries())
      await stage.change({
        set: [surfaceOf(`n${index}`, [], { background: '#ff0000', box: { x, y: 0, w: 50, h: 50 } })],
      });
    const before = stage.glass.frames.length;
    stage.glass.release();
    await stage.clock.advance(500);
    assert.equal(stage.glass.frames.length - before, 1);
    for (const x of [10, 110, 210, 310]) assert.deepEqual(stage.glass.at(x, 10), RED);
  });

  test('does nothing while nothing changes: no frame, no timer', async (stage) => {
    await stage.show([surfaceOf('a', [box(0, 0, 9, 9, '@accent'), { kind: 'text', text: 'Hello' }])]);
    await stage.clock.advance(2_000);
    assert.equal(stage.clock.pending, 0);
    assert.equal(await stage.framesIn(3_600_000), 0);
    await stage.change({ set: [] });
    assert.equal(await stage.framesIn(60_000), 0, 'a change of nothing');
  });

  test('shows the time when it changes, and wakes for nothing else', async (stage) => {
    await stage.show([surfaceOf('a', [{ kind: 'text', text: '{time:HH:mm}', role: 'title', tabular: true }])]);
    await stage.clock.advance(2_000);
    assert.equal(stage.clock.pending, 1);
    assert.equal(await stage.framesIn(60_000 - (stage.clock.now() % 60_000) - 1), 0);
    assert.equal(await stage.framesIn(20), 1);
    assert.equal(await stage.framesIn(10 * 60_000), 10);
  });

  const slide: Timeline = { node: 'n', property: 'x', from: 0, to: 400, ms: 1_000, ease: 'linear' };
  const sliding = (timelines: readonly Timeline[], more: object = {}) => {
    const made = surfaceOf('a', [box(0, 0, 40, 40, '#ff0000', { id: 'n' })], { background: GROUND, ...more });
    return { ...made, scene: { ...made.scene, timelines } };
  };

  test(
    'moves what a timeline moves, and rests at its end',
    async (stage) => {
      await stage.show([sliding([slide])]);
      const frames = await stage.framesIn(2_000);
      assert.ok(frames >= 20 && frames <= 31, `${frames} frames at 30 a second`);
      assert.deepEqual([stage.glass.at(20, 20), stage.glass.at(399, 20), stage.glass.at(420, 20)], [BLUE, BLUE, RED]);
      assert.equal(stage.clock.pending, 0);
      assert.equal(await stage.framesIn(60_000), 0);
      // One that began long ago is where it is: at its end.
      await stage.show([{ ...sliding([{ ...slide, to: 200 }]), version: 2 }]);
      assert.deepEqual([stage.glass.at(220, 20), stage.glass.at(420, 20)], [RED, BLUE]);
    },
    'motion',
  );

  test(
    'keeps to the frames a second of the screen, and of a surface',
    async (stage) => {
      const timelines = [{ ...slide, ms: 10_000, repeat: 0, alternate: true }];
      await stage.show([sliding(timelines)], { fps: 15 });
      const all = await stage.framesIn(4_000);
      assert.ok(all >= 40 && all <= 62, `${all} frames in 4 s at 15`);
      await stage.change({ place: [{ surface: 'a', fps: 5 }] });
      const own = await stage.framesIn(4_000);
      assert.ok(own >= 15 && own <= 21, `${own} frames in 4 s at 5`);
    },
    'motion',
  );

  test('does nothing for what is hidden, or behind something that hides it', async (stage) => {
    // Long enough that a renderer which leaves motion out goes on by steps, too.
    const moving = { ...sliding([{ ...slide, ms: 60_000 }]), id: 'moving' };
    const cover = surfaceOf('cover', [], { background: '#00ff00', layer: LAYERS.app });
    await stage.show([{ ...moving, hidden: true }]);
    await stage.clock.advance(2_000);
    assert.deepEqual([stage.clock.pending, await stage.framesIn(10_000)], [0, 0], 'hidden');
    await stage.show([moving, cover]);
    await stage.clock.advance(2_000);
    assert.deepEqual([stage.clock.pending, await stage.framesIn(10_000)], [0, 0], 'covered');
    await stage.change({ remove: ['cover'] });
    assert.ok((await stage.framesIn(4_000)) >= 3);
    await stage.show([]);
  });

  test(
    'jumps where motion is reduced, but fades',
    async (stage) => {
      const fade: Timeline = { node: 'n', property: 'opacity', from: 0, to: 1, ms: 1_000, ease: 'linear' };
      const now = stage.clock.monotonic();
      await stage.show([sliding([slide, fade], { since: now })], { reducedMotion: true });
      const [first] = stage.glass.at(420, 20);
      assert.ok(first < 128, 'it fades in where it ends');
      const frames = await stage.framesIn(2_000);
      assert.ok(frames >= 10, `${frames} frames of a fade`);
      assert.deepEqual([stage.glass.at(20, 20), stage.glass.at(420, 20)], [BLUE, RED]);
      assert.equal(stage.clock.pending, 0);
    },
    'fades',
  );

  test(
    'fades a surface in, out, and into another scene',
    async (stage) => {
      const ground = surfaceOf('ground', [], { background: GROUND });
      const top = (background: string, since: number) =>
        surfaceOf('top', [], { background, layer: LAYERS.app, fadeMs: 400, since });
      await stage.show([ground, top('#ff0000', 0)]);
      await stage.clock.advance(100);
      const [red, , blue] = stage.glass.at(5, 5);
      assert.ok(red > 60 && red < 200 && blue > 60 && blue < 200, `${red} ${blue} in its middle`);
      await stage.clock.advance(500);
      assert.deepEqual([stage.glass.at(5, 5), stage.clock.pending <= 1], [RED, true]);
      await stage.change({ set: [{ ...top('#00ff00', stage.clock.monotonic()), version: 2 }] }, 200);
      const [before, after, through] = stage.glass.at(5, 5);
      assert.ok(before > 60 && after > 60 && through < 20, `${before} ${after} ${through}: the ground is not seen`);
      await stage.clock.advance(500);
      assert.deepEqual(stage.glass.at(5, 5), GREEN);
      await stage.change({ place: [{ surface: 'top', opacity: 0, fadeMs: 400 }] }, 1_000);
      assert.deepEqual(stage.glass.at(5, 5), BLUE);
      await stage.clock.advance(2_000);
      assert.equal(stage.clock.pending, 0);
    },
    'fades',
  );

  test('paints anew when the theme changes, and dims where the panel cannot', async (stage) => {
    await stage.show([surfaceOf('a', [], { background: '@raised' })]);
    const night = stage.glass.at(5, 5);
    await stage.change({ surroundings: { ...SURROUNDINGS, theme: DAY } });
    assert.deepEqual(stage.glass.at(5, 5), [255, 255, 255]);
    assert.notDeepEqual(night, [255, 255, 255]);
    await stage.change({ surroundings: { ...SURROUNDINGS, theme: DAY, light: 0.5 } });
    for (const value of stage.glass.at(5, 5)) assert.ok(value > 110 && value < 145, `${value}`);
  });

  test('reports what its frames cost, once a second at most, and not while it rests', async (stage) => {
    await stage.show([sliding([{ ...slide, ms: 5_000 }])]);
    await stage.clock.advance(7_000);
    const { reports, frames } = stage.glass;
    assert.ok(reports.length >= 2 && reports.length <= 8, `${reports.length} reports in 7 s`);
    const told = reports.reduce((sum, report) => sum + report.frames, 0);
    assert.equal(told, frames.length);
    for (const { ms, pixels, surfaces } of reports) {
      assert.ok(ms === 0 || ms >= 1_000, `${ms} ms`);
      assert.ok(pixels > 0);
      assert.deepEqual(surfaces.map(({ surface }) => surface), ['a']); // biome-ignore format: one line
    }
    await stage.clock.advance(60_000);
    assert.equal(reports.length, stage.glass.reports.length);
    assert.equal(stage.clock.pending, 0);
  });

  test('blends what is less than opaque', async (stage) => {
    await stage.show([surfaceOf('a', [box(0, 0, 90, 90, '#ff000080')], { background: GROUND })]);
    const [red, green, blue] = stage.glass.at(40, 40);
    assert.ok(Math.abs(red - 128) < 4 && green === 0 && Math.abs(blue - 127) < 4, `${red} ${green} ${blue}`);
  });

  test('paints paths and arcs', async (stage) => {
    const triangle = { kind: 'path', w: 200, h: 200, view: [10, 10], d: 'M0 0L10 0L0 10Z', fill: '#ff0000' } as const;
    const pie = { kind: 'ellipse', x: 300, y: 300, w: 200, h: 200, sweep: 90, fill: '#ff0000' } as const;
    await stage.show([surfaceOf('a', [triangle, pie], { background: GROUND })]);
    const seen = [[50, 50], [150, 150], [450, 350], [350, 350], [450, 450]] as const; // biome-ignore format: places
    assert.deepEqual(
      seen.map(([x, y]) => stage.glass.at(x, y)),
      [RED, BLUE, RED, BLUE, BLUE],
    );
  });

  declareLooks(test);
}
