/** Tap targets for callers without a finger on the panel: keyboards and screen readers far away. */
import { maybe } from '@device-core/plugin-api';
import { describeScene, sceneAt, tapsOf } from '@device-core/plugin-api/scene';
import { isGuarded, targetAt } from '../input/target.ts';
import type { TouchableSurface } from '../seams.ts';

export interface TapTarget {
  readonly label: string;
  /** Panel units: its middle. */
  readonly x: number;
  readonly y: number;
  /** Its answer has to be a person's: on a device that is not simulated only a finger on the panel is heard. */
  readonly guarded?: boolean;
}

/** Surfaces from above to below, and at most `most` targets; those that something covers in their middle are left out. */
export function tapTargets(
  surfaces: readonly TouchableSurface[],
  now: number,
  world: Parameters<typeof describeScene>[1],
  most: number,
): readonly TapTarget[] {
  const targets: TapTarget[] = [];
  for (const surface of surfaces) {
    const { box, scene } = surface;
    for (const place of tapsOf(sceneAt(scene, now, now))) {
      const [x, y] = [Math.round(box.x + place.x), Math.round(box.y + place.y)];
      const hit = targetAt(surfaces, x, y, now);
      if (hit?.surface !== surface || hit.tap !== place.tap) continue;
      const { tap: _, ...shown } = place.of;
      const { progress } = scene;
      const drawn = { scene: 1 as const, nodes: [shown], ...maybe({ progress }) };
      const label = describeScene(drawn, world).join(' ') || place.tap;
      targets.push({ label, x, y, ...(isGuarded(surface) && { guarded: true }) });
      if (targets.length === most) return targets;
    }
  }
  return targets;
}
