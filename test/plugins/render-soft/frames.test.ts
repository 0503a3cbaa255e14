/** When the soft renderer paints, and how much: nothing while nothing changes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { joinRects, type SceneNode } from '@device-core/plugin-api/scene';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { AROUND, soft, surface } from './soft.ts';

after(leakCheck());

const box = (id: string, x: number, more: object = {}): SceneNode =>
  ({ kind: 'rect', id, x, y: 100, w: 50, h: 50, fill: '#ff0000', ...more }) as SceneNode;
const areaOf = (frame: { rects: readonly { w: number; h: number }[] }) =>
  frame.rects.reduce((sum, { w, h }) => sum + w * h, 0);

describe('frames of the soft renderer', () => {
  it('there is one for a screen that stands still, and no timer after it', async () => {
    await using target = await soft();
    await target.show([box('a', 10), { kind: 'text', w: 700, h: 60, text: 'Still' }]);
    await target.clock.advance(60_000);
    assert.equal(target.frames.length, 1);
    assert.equal(areaOf(target.frames[0]!), 720 * 720);
    assert.equal(target.clock.pending, 0);
  });

  it('a change paints where it was and where it is', async () => {
    await using target = await soft();
    await target.show([box('a', 10), box('b', 400)]);
    await target.apply({ patch: [{ surface: 'home', since: 0, patch: { version: 1, set: [{ id: 'b', x: 600 }] } }] });
    assert.equal(target.frames.length, 2);
    assert.ok(areaOf(target.frames[1]!) <= 2 * 56 * 56, JSON.stringify(target.frames[1]!.rects));
    assert.deepEqual(
      [target.at(425, 125), target.at(625, 125), target.at(35, 125)].map(([red]) => red),
      [0, 255, 255],
    );
  });

  it('a repeated value paints nothing', async () => {
    await using target = await soft();
    await target.show([box('a', 10)]);
    await target.show([box('a', 10)], {});
    assert.equal(target.frames.length, 1);
    await target.apply({ patch: [{ surface: 'home', since: 0, patch: { version: 1, set: [{ id: 'a', x: 10 }] } }] });
    assert.equal(target.frames.length, 1);
  });

  it('a clock without seconds wakes once a minute', async () => {
    await using target = await soft();
    await target.show([{ kind: 'text', x: 40, y: 40, w: 600, role: 'hero', text: '{time:HH:mm}' }]);
    const before = target.frames.length;
    await target.clock.advance(5 * 60_000);
    assert.equal(target.frames.length, before + 5);
    assert.ok(areaOf(target.frames.at(-1)!) < 720 * 300);
  });

  const moving = (timeline: object) =>
    ({ timelines: [{ node: 'a', property: 'x', from: 0, to: 400, ...timeline }] }) as never;

  it('a timeline is at its end when it begins, and leaves no timer', async () => {
    await using target = await soft();
    await target.show([box('a', 0)], moving({ ms: 1_000, delay: 500 }));
    assert.equal(target.at(25, 125)[0], 255, 'it waits');
    await target.clock.advance(500);
    assert.deepEqual([target.at(25, 125)[0], target.at(425, 125)[0], target.frames.length], [0, 255, 2]);
    await target.show([box('a', 0)], moving({ ms: 700, repeat: 0, alternate: true }));
    assert.equal(target.at(425, 125)[0], 255, 'one without an end rests there');
    await target.clock.advance(2_000);
    assert.equal(target.clock.pending, 0);
  });

  it('a timeline that takes long goes on by a step a second, and is over in time', async () => {
    await using target = await soft();
    await target.show([box('a', 0)], moving({ ms: 40_000, ease: 'linear' }));
    await target.clock.advance(20_000);
    assert.ok(target.frames.length >= 19 && target.frames.length <= 22, `${target.frames.length} frames in 20 s`);
    assert.equal(target.at(225, 125)[0], 255);
    await target.clock.advance(21_000);
    assert.deepEqual([target.at(425, 125)[0], target.clock.pending], [255, 0]);
    const timelines = [{ node: 'a', property: 'x', to: 400, ms: 40_000 }] as const;
    const scene = { scene: 1, background: '#000000', nodes: [box('a', 0)], timelines } as const;
    await target.apply({ surroundings: { ...AROUND, reducedMotion: true }, set: [surface('home', scene)] });
    assert.equal(target.at(425, 125)[0], 255, 'where motion is reduced it is at its end');
  });

  it('a surface that fades is there at once, and is hidden without a trace', async () => {
    await using target = await soft();
    await target.show([]);
    const white = { scene: 1, background: '#ffffff', nodes: [] } as const;
    await target.apply({ set: [surface('app', white, { layer: 1, fadeMs: 1_000 })] });
    assert.equal(target.at(300, 300)[0], 255);
    await target.apply({ place: [{ surface: 'app', opacity: 0.5 }] });
    assert.ok(Math.abs(target.at(300, 300)[0]! - 128) <= 1);
    await target.apply({ place: [{ surface: 'app', hidden: true }] });
    assert.equal(target.at(300, 300)[0], 0);
    assert.equal(target.clock.pending, 1, 'the report');
  });

  it('no app draws outside of its box', async () => {
    await using target = await soft();
    const wide = {
      kind: 'rect',
      x: -100,
      y: -100,
      w: 900,
      h: 900,
      fill: '#ffffff',
      shadow: { blur: 20, colour: '#ffffff' },
    } as const;
    const scene = { scene: 1, background: '#00000000', nodes: [wide] } as const;
    await target.show([]);
    await target.apply({ set: [surface('app:a', scene, { layer: 1, box: { x: 100, y: 100, w: 50, h: 50 } })] });
    assert.deepEqual(
      [target.at(99, 120), target.at(120, 99), target.at(150, 120), target.at(120, 150)].flat().join(),
      '0,0,0,0,0,0,0,0,0,0,0,0',
    );
    assert.equal(target.at(149, 149)[0], 255);
  });

  it('changes while the panel is busy add up to one frame', async () => {
    await using target = await soft();
    await target.show([box('a', 10), box('b', 400)]);
    const gate = Promise.withResolvers<void>();
    target.hold(gate.promise);
    for (const x of [100, 200, 300])
      await target.apply({ patch: [{ surface: 'home', since: 0, patch: { version: 1, set: [{ id: 'a', x }] } }] });
    assert.equal(target.frames.length, 1);
    gate.resolve();
    await target.clock.advance(200);
    assert.equal(target.frames.length, 3, 'the one that was on its way, and one for the rest');
    assert.equal(target.at(325, 125)[0], 255);
  });

  it('after a panel refused a frame a whole one comes, less and less often', async () => {
    await using target = await soft();
    await target.show([box('a', 10)]);
    target.refuse(3);
    await target.apply({ patch: [{ surface: 'home', since: 0, patch: { version: 1, set: [{ id: 'a', x: 300 }] } }] });
    await target.clock.advance(5_000);
    assert.equal(target.frames.length, 2);
    assert.equal(areaOf(target.frames[1]!), 720 * 720);
    assert.equal(target.clock.pending, 0);
  });

  it('paints nothing while it is paused, and then all of it', async () => {
    await using target = await soft();
    await target.show([box('a', 10)]);
    await target.clock.advance(1_000);
    await target.renderer.pause(true);
    await target.apply({ patch: [{ surface: 'home', since: 0, patch: { version: 1, set: [{ id: 'a', x: 300 }] } }] });
    assert.equal(target.frames.length, 1);
    assert.equal(target.clock.pending, 0);
    await target.renderer.pause(false);
    await target.clock.advance(100);
    assert.equal(areaOf(target.frames[1]!), 720 * 720);
    assert.equal(target.at(325, 125)[0], 255);
  });

  it('refuses a change for another revision and one that is wrong, and shows what it showed', async () => {
    await using target = await soft();
    await target.show([box('a', 10)]);
    const { renderer } = target;
    await assert.rejects(renderer.apply({ base: 7, revision: 8 }), { code: 'SCENE_CONFLICT' });
    const patch = (set: object) => [{ surface: 'home', since: 0, patch: { version: 1, set: [set as never] } }];
    await assert.rejects(renderer.apply({ base: 1, revision: 2, patch: patch({ id: 'nobody', x: 1 }) }), {
      code: 'SCENE_INVALID',
    });
    await assert.rejects(renderer.apply({ base: 1, revision: 2, place: [{ surface: 'nobody' }] }), {
      code: 'SCENE_INVALID',
    });
    await target.clock.advance(1_000);
    assert.equal(target.frames.length, 1);
    await renderer.apply({ base: 1, revision: 2, patch: patch({ id: 'a', x: 300 }) });
    await renderer.close();
    await assert.rejects(renderer.apply({ base: 2, revision: 3 }), { code: 'UNAVAILABLE' });
    await assert.rejects(renderer.snapshot(), { code: 'UNAVAILABLE' });
    assert.equal(target.clock.pending, 0);
  });

  it('reports what it cost, once a second at most, and by surface', async () => {
    await using target = await soft();
    await target.show([box('a', 0)], { timelines: [{ node: 'a', property: 'x', from: 0, to: 400, ms: 40_000 }] });
    await target.clock.advance(5_000);
    assert.ok(target.reports.length >= 2 && target.reports.length <= 6, String(target.reports.length));
    const [first] = target.reports;
    assert.ok(first!.frames >= 1 && first!.pixels > 0 && first!.ms >= 1_000 && first!.cpuMs >= 0);
    assert.deepEqual(
      first!.surfaces.map(({ surface: id }) => id),
      ['home'],
    );
  });
});

const coordinate = fc.integer({ min: -200, max: 1_000 }).map((tenths) => tenths * 0.75);
const size = fc.integer({ min: 0, max: 400 }).map((tenths) => tenths * 0.9);
const colour = fc.constantFrom('#ff8800', '#00ff0080', '@accent', '@raised', '@scrim');
const paint = fc.oneof(
  colour,
  colour.map((end) => ({
    linear: 30,
    stops: [
      [0, '#ffffff'],
      [1, end],
    ],
  })),
);
const look = fc.record(
  {
    x: coordinate,
    y: coordinate,
    w: size,
    h: size,
    opacity: fc.constantFrom(0, 0.3, 1),
    rotate: fc.constantFrom(0, 0, 45, 123),
    scale: fc.constantFrom(0.5, 1, 1.7),
  },
  { requiredKeys: ['x', 'y', 'w', 'h'] },
);
const leaf = fc.oneof(
  fc.record({
    kind: fc.constant('rect'),
    radius: fc.constantFrom(0, 8, 400),
    fill: paint,
    shadow: fc.constantFrom({ blur: 9, y: 5, colour: '#000000cc' }, undefined),
  }),
  fc.record({
    kind: fc.constant('ellipse'),
    fill: paint,
    stroke: colour,
    strokeWidth: fc.constantFrom(1, 13),
    sweep: fc.constantFrom(90, 360),
  }),
  fc.record({
    kind: fc.constant('text'),
    text: fc.constantFrom('Wow, jiggling', 'Ärger mit Öl'),
    size: fc.constantFrom(16, 57),
    align: fc.constantFrom('start', 'end'),
  }),
);
const anyLeaf = fc
  .tuple(look, leaf)
  .map(([where, what]) => JSON.parse(JSON.stringify({ ...where, ...what })) as object);
const step = fc.record({ id: fc.integer({ min: 0, max: 4 }), node: anyLeaf });

describe('the picture of the soft renderer', () => {
  it('is the same whether it was painted step by step or at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyLeaf, { minLength: 5, maxLength: 5 }),
        fc.array(step, { minLength: 1, maxLength: 6 }),
        async (first, steps) => {
          await using target = await soft({ width: 240, height: 240 });
          const nodes = first.map((node, id) => ({ ...node, id: `n${id}` }));
          const group = (all: readonly object[]) => [
            ...all.slice(0, 3),
            {
              kind: 'group',
              id: 'g',
              x: 90,
              y: 60,
              w: 400,
              h: 300,
              clip: true,
              radius: 30,
              opacity: 0.7,
              nodes: all.slice(3),
            },
          ];
          await target.show(group(nodes) as never);
          for (const { id, node } of steps) {
            nodes[id] = { ...node, id: `n${id}` };
            await target.show(group(nodes) as never);
          }
          await using other = await soft({ width: 240, height: 240 });
          await other.show(group(nodes) as never);
          const [one, whole] = [target.glass.rgba(), other.glass.rgba()];
          const worst = one.reduce((most, value, at) => Math.max(most, Math.abs(value - whole[at]!)), 0);
          assert.ok(worst <= 1, `${worst} levels`);
        },
      ),
      { numRuns: runs(200) },
    );
  });

  it('is put together of rectangles that are none over another', async () => {
    await using target = await soft();
    const nodes = Array.from({ length: 20 }, (_, at) => box(`n${at}`, at * 35));
    await target.show(nodes);
    await target.apply({
      patch: [
        {
          surface: 'home',
          since: 0,
          patch: { version: 1, set: nodes.map((_, at) => ({ id: `n${at}`, y: 100 + at * 30 })) },
        },
      ],
    });
    const { rects } = target.frames[1]!;
    assert.ok(rects.length <= 8 && rects.length >= 1);
    assert.deepEqual(joinRects(rects).length <= rects.length, true);
  });
});
