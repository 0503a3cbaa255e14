/** Hit test of a finger, pure: surfaces from above to below, and the first that takes it. */

import { hitTest, nodesOf, type Scene, sceneAt } from '@device-core/plugin-api/scene';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import type { TouchableSurface } from '../seams.ts';

/** Prompts take neither touch nor key for so long: a finger that was on its way meant something else. */
export const PROMPT_GUARD_MS = 700;

export interface Target {
  readonly surface: TouchableSurface;
  readonly node?: string;
  readonly tap?: string;
}

/**
 * Nodes are hit where they are at `now`, the monotonic time of the glass. A surface that has a ground takes what falls
 * on it, with or without a node; through one without ground it falls on to the next. Nothing falls below a modal one.
 */
export function targetAt(surfaces: readonly TouchableSurface[], x: number, y: number, now: number): Target | undefined {
  for (const surface of surfaces) {
    const { box, scene } = surface;
    const [inX, inY] = [x - box.x, y - box.y];
    if (inX >= 0 && inY >= 0 && inX <= box.w && inY <= box.h) {
      const hit = hitTest(sceneAt(scene, now, now), inX, inY);
      if (hit) return { surface, ...hit };
      if (hasGround(scene)) return { surface };
    }
    if (surface.modal) return undefined;
  }
  return undefined;
}

/** Surface that hears keys: a modal one, else the app in the foreground, else the uppermost of the device's own screens. */
export function targetOfKeys(
  surfaces: readonly TouchableSurface[],
  foreground: string | undefined,
): TouchableSurface | undefined {
  const modal = surfaces.find(({ modal }) => modal);
  if (modal) return modal;
  if (foreground !== undefined) return surfaces.find(({ id }) => id === foreground);
  return surfaces.find(({ layer }) => layer === LAYERS.voice || layer === LAYERS.home);
}

/** Layers on which only a person may answer. */
export const isGuarded = ({ layer }: TouchableSurface): boolean => layer >= LAYERS.prompt;

/** True while the target under the finger is unchanged since `down` and uncovered. */
export function stillThere(before: Target, now: Target | undefined): boolean {
  if (now?.surface.id !== before.surface.id) return false;
  const { scene, version } = now.surface;
  if (before.tap === undefined || version === before.surface.version) return true;
  for (const node of nodesOf(scene.nodes)) if (node.tap === before.tap && node.id === before.node) return true;
  return false;
}

function hasGround({ background }: Scene): boolean {
  return typeof background !== 'string' || !/^#[0-9a-f]{6}00$/i.test(background);
}
