/** The composed tree, as `display` says it: surfaces in their order, by revision. It knows no pixels and no time. */

import { CoreError } from '@device-core/plugin-api';
import { type CharacterSpec, patchSceneAt } from '@device-core/plugin-api/scene';
import {
  type CharacterPose,
  PLAIN_SURROUNDINGS,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';

export interface Tree {
  readonly revision: number;
  readonly surroundings: Surroundings;
  readonly pose: CharacterPose;
  readonly figure?: CharacterSpec | undefined;
  /** From below. */
  readonly surfaces: readonly Surface[];
}

export const EMPTY_TREE: Tree = {
  revision: 0,
  surroundings: PLAIN_SURROUNDINGS,
  pose: { state: 'idle', expression: 'neutral' },
  surfaces: [],
};

/** The tree after the patch; the former one stays as it was. Throws SCENE_CONFLICT, SCENE_INVALID. */
export function patched(tree: Tree, patch: TreePatch): Tree {
  if (patch.base !== 0 && patch.base !== tree.revision)
    throw new CoreError('SCENE_CONFLICT', { what: 'the screen', version: tree.revision, expected: patch.base });
  const before = patch.base === 0 ? { ...EMPTY_TREE, surroundings: tree.surroundings } : tree;
  const surfaces = new Map(before.surfaces.map((surface) => [surface.id, surface]));
  const known = (id: string): Surface => {
    const surface = surfaces.get(id);
    if (surface === undefined)
      throw new CoreError('SCENE_INVALID', { what: 'the screen', where: `/${id}`, reason: 'there is no such surface' });
    return surface;
  };
  for (const id of patch.remove ?? []) surfaces.delete(id);
  for (const surface of patch.set ?? []) {
    // One that stays in its layer keeps its place there.
    if (surfaces.get(surface.id)?.layer !== surface.layer) surfaces.delete(surface.id);
    surfaces.set(surface.id, surface);
  }
  for (const { surface: id, patch: change, since } of patch.patch ?? []) {
    const surface = known(id);
    surfaces.set(id, {
      ...surface,
      version: change.version + 1,
      scene: patchSceneAt(surface.scene, change, { began: surface.since, since, now: since }, id),
    });
  }
  for (const { surface: id, ...place } of patch.place ?? []) {
    // How it fades is of this change alone.
    const { fadeMs: _, ...surface } = known(id);
    surfaces.set(id, { ...surface, ...place });
  }
  return {
    revision: patch.revision,
    surroundings: patch.surroundings ?? before.surroundings,
    pose: patch.character ?? before.pose,
    figure: patch.figure ?? before.figure,
    surfaces: [...surfaces.values()].sort((one, other) => one.layer - other.layer),
  };
}
