/** What a renderer sends piece by piece must be what it paints as a whole: bounds that are too tight leave traces of what was there. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { Surface } from '@device-core/plugin-api/services/renderer';
import fc from 'fast-check';
import { EMPTY_TREE, patched } from '../../plugins/display/shared/tree.ts';
import { Glass, SURROUNDINGS } from '../fixtures/glass.ts';
import { pixelsOf } from '../fixtures/pictures.ts';
import { patchOf, type Step, steps, surface } from '../fixtures/random-scene.ts';
import { runs } from '../fixtures/runs.ts';
import { type RendererUnderTest, Stage } from './renderer.ts';

/** Pixels of the panel: a scene is 720 wide, so edges lie between pixels. */
const SIDE = 300;
const STEPS = 10;
/** 100 scenes of 10 steps: 1,000 steps. */
const SCENES = 100;
/** Until a change is painted; some are of reports. */
const MOST_TIMERS = 6;

/** Declares the test; call it inside a `describe`. */
export function incrementalIsFull(make: () => Promise<RendererUnderTest>): void {
  it('sends piece by piece what it paints as a whole, to a level in any channel', async () => {
    const scenes = fc.array(surface, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(scenes, steps(STEPS), async (first, changes) => {
        await using made = await make();
        await walk(new Stage(made, new Glass(() => made.clock.monotonic(), 'xrgb8888', SIDE)), first, changes);
      }),
      { numRuns: runs(SCENES) },
    );
  });
}

async function walk(stage: Stage, first: readonly Surface[], changes: readonly Step[]): Promise<void> {
  await using _opened = await stage.open();
  const set = [...new Map(first.map((one) => [one.id, one])).values()];
  await stage.show(set);
  let tree = patched(EMPTY_TREE, { base: 0, revision: 1, surroundings: SURROUNDINGS, set });
  for (const step of changes) {
    const now = stage.clock.monotonic();
    const patch = patchOf(step, tree.surfaces, now);
    if (step.kind === 'time') await stage.clock.advance(step.ms);
    else if (patch !== undefined) {
      const base = stage.revision;
      try {
        await stage.change(patch, 0);
        tree = patched({ ...tree, revision: base }, { base, revision: base + 1, ...patch });
      } catch (error) {
        // A change that goes too far is refused by all of them.
        if (!(error instanceof CoreError) || error.code !== 'SCENE_INVALID') throw error;
      }
    }
    await compare(stage, step);
  }
  await stage.renderer.close();
}

/** The next frame, and at the very moment of it the whole picture. */
async function compare({ glass, renderer, clock }: Stage, step: Step): Promise<void> {
  const frames = glass.frames.length;
  for (let timers = 0; timers < MOST_TIMERS && glass.frames.length === frames; timers += 1)
    if (!(await clock.next())) break;
  const { data } = await pixelsOf(await renderer.snapshot());
  const { pixels } = glass;
  let [worst, where, count] = [0, 0, 0];
  for (let index = 0; index < pixels.length; index += 4) {
    let apart = 0;
    for (let channel = 0; channel < 3; channel += 1)
      apart = Math.max(apart, Math.abs(pixels[index + 2 - channel]! - data[index + channel]!));
    if (apart > 1) count += 1;
    if (apart > worst) [worst, where] = [apart, index >> 2];
  }
  const place = `${where % SIDE}, ${Math.floor(where / SIDE)}`;
  assert.ok(worst <= 1, `${worst} levels at ${place}, ${count} pixels in all, after ${JSON.stringify(step)}`);
}
