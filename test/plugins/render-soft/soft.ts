/** The soft renderer over a panel in memory, on a clock that the test moves. */

import { Glass } from '@device-core/plugin-api/pixels';
import type { Scene, SceneNode } from '@device-core/plugin-api/scene';
import type { PanelFrame, PixelFormat } from '@device-core/plugin-api/services/panel';
import {
  type Opening,
  PLAIN_SURROUNDINGS,
  type RendererReport,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';
import { virtualClock } from '@device-core/plugin-api/testing';
import { SoftRenderer } from '../../../plugins/display/render-soft/renderer.ts';
import { part } from '../../fixtures/scope.ts';

export const AROUND: Surroundings = { ...PLAIN_SURROUNDINGS, fps: 20 };

export interface Soft extends AsyncDisposable {
  readonly renderer: SoftRenderer;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly frames: PanelFrame[];
  readonly reports: RendererReport[];
  readonly glass: Glass;
  /** Rejects the next frames so often. */
  refuse(times: number): void;
  /** Frames wait until the promise is settled. */
  hold(until: Promise<void>): void;
  /** Shows a scene, and everything that follows at once. */
  show(nodes: readonly SceneNode[], more?: Partial<Scene>): Promise<void>;
  apply(patch: Omit<TreePatch, 'revision' | 'base'>): Promise<void>;
  /** Red, green and blue. */
  at(x: number, y: number): readonly number[];
}

export const surface = (id: string, scene: Scene, more: Partial<Surface> = {}): Surface => ({
  id,
  layer: 0,
  version: 1,
  box: { x: 0, y: 0, w: 720, h: 720 },
  scene,
  since: 0,
  ...more,
});

export async function soft(
  panel: { readonly width?: number; readonly height?: number; readonly format?: PixelFormat } = {},
): Promise<Soft> {
  const info = { width: 720, height: 720, format: 'xrgb8888' as PixelFormat, ...panel };
  const clock = virtualClock();
  const { log, ...rest } = part(clock);
  const renderer = new SoftRenderer(clock, log, 60);
  const glass = new Glass(info);
  const frames: PanelFrame[] = [];
  const reports: RendererReport[] = [];
  /** What the glass shows, until the next frame: a test may ask for thousands of pixels. */
  let shown: Uint8Array | undefined;
  let refused = 0;
  let held: Promise<void> | undefined;
  let revision = 0;
  const opening: Opening = {
    panel: { driver: 'test', refresh: 60, brightness: true, power: true, ...info },
    async present(frame) {
      await held;
      if (refused-- > 0) throw new Error('no');
      glass.put(frame);
      shown = undefined;
      frames.push(frame);
      return { at: clock.monotonic() };
    },
    report: (report) => void reports.push(report),
  };
  await renderer.open(opening);
  const apply: Soft['apply'] = async (patch) => {
    await renderer.apply({ base: revision, revision: revision + 1, ...patch });
    revision++;
    await clock.advance(100);
  };
  return {
    renderer,
    clock,
    frames,
    reports,
    glass,
    refuse: (times) => {
      refused = times;
    },
    hold: (until) => {
      held = until;
    },
    apply,
    show: (nodes, more) =>
      apply({
        surroundings: AROUND,
        set: [surface('home', { scene: 1, background: '#000000', nodes, ...more }, { since: clock.monotonic() })],
      }),
    at: (x, y) => {
      shown ??= glass.rgba();
      return [...shown.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 3)];
    },
    async [Symbol.asyncDispose]() {
      await renderer.close();
      await rest[Symbol.asyncDispose]();
    },
  };
}

/** How much of the panel is lit, as if white were 1. */
export function lit({ glass }: Soft): number {
  const rgba = glass.rgba();
  let sum = 0;
  for (let at = 0; at < rgba.length; at += 4) sum += rgba[at]! / 255;
  return sum;
}
