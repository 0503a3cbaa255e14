/** The composed tree: surfaces with their scenes, changed whole or not at all. */
import { CoreError, type Surface, type Surroundings, type TreePatch } from '@device-core/plugin-api';
import { NIGHT, patchScene, settled } from '@device-core/plugin-api/scene';

export const PLAIN: Surroundings = {
  theme: NIGHT,
  textScale: 1,
  reducedMotion: false,
  plain: false,
  fps: 30,
  locale: 'en',
  timeZone: 'UTC',
  light: 1,
};

/** A change of opacity on its way, monotonic milliseconds. */
interface Fade {
  readonly from: number;
  readonly began: number;
  readonly ms: number;
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
}

export const EMPTY: Tree = { revision: 0, surroundings: PLAIN, surfaces: [] };

/** The tree after the patch. Throws SCENE_CONFLICT (another revision) and SCENE_INVALID, and then the former tree stays. */
export function patched(tree: Tree, patch: TreePatch, now: number): Tree {
  if (patch.base !== 0 && patch.base !== tree.revision)
    throw new CoreError('SCENE_CONFLICT', { what: 'the tree', version: tree.revision, expected: patch.base });
  const base = patch.base === 0 ? [] : tree.surfaces;
  const standing = new Map(base.map((one) => [one.surface.id, one]));
  for (const id of patch.remove ?? []) standing.delete(id);
  for (const surface of patch.set ?? []) {
    const before = standing.get(surface.id);
    standing.delete(surface.id);
    const fade = surface.fadeMs ? { from: before ? opacityOf(before, now) : 0, began: now, ms: surface.fadeMs } : undefined;
    standing.set(surface.id, { surface, ...(fade && { fade }) });
  }
  const must = (id: string): Standing => {
    const found = standing.get(id);
    if (found) return found;
    throw new CoreError('SCENE_CONFLICT', { what: `the surface ${id}`, version: 'none', expected: 'one' });
  };
  for (const { surface: id, patch: change, since } of patch.patch ?? []) {
    const before = must(id);
    const { surface } = before;
    const timelines = change.timelines?.map((timeline) => ({ at: since, ...timeline }));
    const scene = patchScene(settled(surface.scene, now, surface.since), timelines ? { ...change, timelines } : change, id);
    standing.set(id, { ...before, surface: { ...surface, scene, version: change.version + 1 } });
  }
  for (const { surface: id, ...members } of patch.place ?? []) {
    const before = must(id);
    const surface = { ...before.surface, ...members };
    const fades = members.opacity !== undefined && members.fadeMs;
    const fade = fades ? { from: opacityOf(before, now), began: now, ms: fades } : undefined;
    const kept = members.opacity === undefined && before.fade ? { fade: before.fade } : {};
    standing.set(id, { surface, ...kept, ...(fade && { fade }) });
  }
  const surfaces = [...standing.values()].sort((one, other) => one.surface.layer - other.surface.layer);
  return { revision: patch.revision, surroundings: patch.surroundings ?? tree.surroundings, surfaces };
}

/** How much of it is there now, 0..1. */
export function opacityOf({ surface, fade }: Standing, now: number): number {
  const to = surface.opacity ?? 1;
  if (!fade || now >= fade.began + fade.ms) return to;
  return fade.from + (to - fade.from) * Math.max(0, (now - fade.began) / fade.ms);
}

export const fading = ({ fade }: Standing, now: number): boolean => fade !== undefined && now < fade.began + fade.ms;
