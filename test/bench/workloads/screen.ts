/** The renderer alone, on a panel of 16 bits in memory: what painting costs, with conversion and the write to the sink. */

import type { Scene } from '@device-core/plugin-api/scene';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { LAYERS, type Surface } from '@device-core/plugin-api/services/renderer';
import { SkiaRenderer } from '../../../plugins/display/render-skia/renderer.ts';
import { PIP } from '../../fixtures/character.ts';
import { Glass, SURROUNDINGS, surfaceOf } from '../../fixtures/glass.ts';
import { part } from '../../fixtures/scope.ts';

const HOME: Scene = {
  scene: 1,
  background: '@background',
  nodes: [
    { kind: 'text', id: 'clock', text: '{time:HH:mm}', role: 'display', x: 48, y: 160, w: 624, tabular: true },
    { kind: 'text', id: 'date', text: '{date}', role: 'heading', colour: '@text-soft', x: 48, y: 272, w: 624 },
    { kind: 'character', id: 'face', x: 198, y: 348, w: 324, h: 324 },
  ],
};

const home = (): Surface => ({ ...surfaceOf('home', []), scene: HOME });

/** It slides in and out, again and again. */
function toast(since: number): Surface {
  const card = surfaceOf(
    'toast',
    [
      {
        kind: 'group',
        id: 'card',
        nodes: [
          { kind: 'rect', w: 640, h: 96, radius: 28, fill: '@raised', shadow: { y: 8, blur: 12, colour: '@shadow' } },
          { kind: 'text', text: 'Lunch with Ada at half past twelve', role: 'body', x: 32, y: 26, w: 576 },
        ],
      },
    ],
    { layer: LAYERS.toast, box: { x: 40, y: 24, w: 640, h: 96 }, background: '#00000000', since },
  );
  // A quarter of a second of every three it moves.
  const timelines = [{ node: 'card', property: 'y', from: -160, to: 0, ms: 250, delay: 0, ease: 'out' } as const];
  return { ...card, scene: { ...card.scene, timelines } };
}

export interface PaintedScreen extends AsyncDisposable {
  revision: number;
  readonly renderer: SkiaRenderer;
  readonly glass: Glass;
}

export async function screen(fps: number, surfaces: readonly Surface[] = [home()]): Promise<PaintedScreen> {
  const parts = part();
  const renderer = new SkiaRenderer(parts.scope, parts.log, []);
  const glass = new Glass(monotonicMs, 'rgb565');
  await renderer.open(glass.opening());
  await renderer.apply({
    base: 0,
    revision: 1,
    surroundings: { ...SURROUNDINGS, fps },
    set: surfaces,
    figure: PIP,
    character: { state: 'speaking', expression: 'neutral' },
  });
  return { renderer, glass, revision: 1, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() };
}

/** Speaks for so many milliseconds, while a toast comes every three seconds. Resolves with the frames that were painted. */
export async function talk(shownOn: PaintedScreen, ms: number, pause: (ms: number) => Promise<unknown>) {
  const { renderer, glass } = shownOn;
  const before = glass.frames.length;
  const began = monotonicMs();
  let shown = -1;
  for (let passed = 0; passed < ms; passed = monotonicMs() - began) {
    // Twenty-five levels a second, some ahead, as the mixer tells them.
    const levels = Array.from({ length: 10 }, (_, index) => {
      const at = monotonicMs() + 40 * index;
      const loud = Math.max(0, Math.sin(at / 90) * Math.sin(at / 700));
      return { at, rms: 0.25 * loud, brightness: 0.06 + 0.05 * Math.sin(at / 210) };
    });
    await renderer.levels(levels);
    if (Math.floor(passed / 3_000) !== shown) {
      shown = Math.floor(passed / 3_000);
      const base = shownOn.revision;
      await renderer.apply({ base, revision: base + 1, set: [toast(monotonicMs())] });
      shownOn.revision = base + 1;
    }
    await pause(400);
  }
  return glass.frames.length - before;
}
