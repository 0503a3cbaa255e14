/** The composed tree: surfaces with their scenes, changed whole or not at all. */

import { CoreError, maybe } from '@device-core/plugin-api';
import { type CharacterSpec, patchSceneAt } from '@device-core/plugin-api/scene';
import {
  type CharacterPose,
  PLAIN_SURROUNDINGS,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';

/** A change of opacity on its way, monotonic milliseconds. */
interface Fade {
  readonly from: number;
  readonly began: number;
  readonly ms: number;
  /** Former surface, which stays below until the fade is over. */
  readonly former?: Surface;
}

export interface Standing {
  readonly surface: Surface;
  readonly fade?: Fade;
}

export interface Tree {
  readonly revision: number;
  readonly surroundings: Surroundings;
  /** From below. */
  readonly surfaces: readonly Standing[];
  readonly figure?: CharacterSpec;
  readonly pose: Pose;
}

/** Act of the character with its start (monotonic milliseconds), and the former one. */
export interface Pose extends CharacterPose {
  readonly since: number;
  readonly before?: CharacterPose;
}

export const EMPTY: Tree = {
  revision: 0,
  surroundings: PLAIN_SURROUNDINGS,
  surfaces: [],
  pose: { state: 'idle', expression: 'neutral', since: 0 },
};

/** The tree after the patch. Throws SCENE_CONFLICT (another revision) and SCENE_INVALID, and then the former tree stays. */
export function patched(tree: Tree, patch: TreePatch, now: number): Tree {
  if (patch.base !== 0 && patch.base !== tree.revision)
    throw new CoreError('SCENE_CONFLICT', { what: 'the tree', version: tree.revision, expected: patch.base });
  const base = patch.base === 0 ? [] : tree.surfaces;
  const standing = new Map(base.map((one) => [one.surface.id, one]));
  for (const id of patch.remove ?? []) standing.delete(id);
  for (const surface of patch.set ?? []) {
    const before = standing.get(surface.id);
    // One that stays in its layer keeps its place there.
    if (before?.surface.layer !== surface.layer) standing.delete(surface.id);
    const former = before && !before.surface.hidden ? { former: before.surface } : {};
    const fade = surface.fadeMs ? { from: 0, began: now, ms: surface.fadeMs, ...former } : undefined;
    standing.set(surface.id, { surface, ...maybe({ fade }) });
  }
  const must = (id: string): Standing => {
    const found = standing.get(id);
    if (found) return found;
    throw new CoreError('SCENE_INVALID', { what: 'the tree', where: `/${id}`, reason: 'there is no such surface' });
  };
  for (const { surface: id, patch: change, since } of patch.patch ?? []) {
    const before = must(id);
    const { surface } = before;
    const scene = patchSceneAt(surface.scene, change, { began: surface.since, since, now }, id);
    standing.set(id, { ...before, surface: { ...surface, scene, version: change.version + 1 } });
  }
  for (const { surface: id, ...members } of patch.place ?? []) {
    const before = must(id);
    const surface = { ...before.surface, ...members };
    const fades = members.opacity !== undefined && members.fadeMs;
    const fade = fades ? { from: opacityOf(before, now), began: now, ms: fades } : undefined;
    const kept = members.opacity === undefined && before.fade ? { fade: before.fade } : {};
    standing.set(id, { surface, ...kept, ...maybe({ fade }) });
  }
  const surfaces = [...standing.values()].sort((one, other) => one.surface.layer - other.surface.layer);
  const figure = patch.figure ?? tree.figure;
  const pose = patch.character ? posed(tree.pose, patch.character, now) : tree.pose;
  const surroundings = patch.surroundings ?? tree.surroundings;
  return { revision: patch.revision, surroundings, surfaces, pose, ...maybe({ figure }) };
}

/** Another look begins anew, another gaze does not. */
function posed(before: Pose, pose: CharacterPose, now: number): Pose {
  if (pose.state === before.state && pose.expression === before.expression) {
    const { since, before: former } = before;
    return { ...pose, since, ...maybe({ before: former }) };
  }
  return { ...pose, since: now, before: { state: before.state, expression: before.expression } };
}

/** How much of it is there now, 0..1. */
export function opacityOf({ surface, fade }: Standing, now: number): number {
  const to = surface.opacity ?? 1;
  if (!fade || now >= fade.began + fade.ms) return to;
  return fade.from + (to - fade.from) * Math.max(0, (now - fade.began) / fade.ms);
}

export const fading = ({ fade }: Standing, now: number): boolean => fade !== undefined && now < fade.began + fade.ms;
