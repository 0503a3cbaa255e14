/** The composed tree, as `display` says it: surfaces in their order, by revision. It knows no pixels and no time. */
import {
  type CharacterPose,
  CoreError,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api';
import {
  begun,
  type CharacterSpec,
  NIGHT,
  patchScene,
  type Scene,
  type ScenePatch,
  settled,
} from '@device-core/plugin-api/scene';

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
  surroundings: {
    theme: NIGHT,
    textScale: 1,
    reducedMotion: false,
    plain: false,
    fps: 30,
    locale: 'en',
    timeZone: 'UTC',
    light: 1,
  },
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
  for (const surface of patch.set ?? []) surfaces.set(surface.id, surface);
  for (const { surface: id, patch: change, since } of patch.patch ?? []) {
    const surface = known(id);
    surfaces.set(id, {
      ...surface,
      version: change.version + 1,
      scene: changed(surface.scene, change, surface.since, since, id),
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

/** Timelines of a scene began with it, those of a patch with the patch. */
function changed(scene: Scene, patch: ScenePatch, began: number, since: number, what: string): Scene {
  const { timelines: fresh = [], ...rest } = patch;
  const { timelines: running = [], ...still } = settled(scene, since, began);
  const next = patchScene({ ...still, timelines: [] }, rest, what);
  const named = new Set<string>();
  gather(next, named);
  const replaced = (node: string, property: string): boolean =>
    fresh.some((one) => one.node === node && one.property === property);
  const kept = running
    .filter(({ node, property }) => named.has(node) && !replaced(node, property))
    .map((timeline) => ({ ...timeline, at: timeline.at ?? began }));
  const begins = fresh.map((timeline) => ({ ...begun([timeline], since)[0]!, at: timeline.at ?? since }));
  return { ...next, timelines: [...kept, ...begins] };
}

function gather({ nodes }: Pick<Scene, 'nodes'>, found: Set<string>): void {
  for (const node of nodes) {
    if (node.id !== undefined) found.add(node.id);
    if (node.kind === 'group') gather(node, found);
  }
}
