/** Changes of a scene: whole or not at all, and the former scene stays as it was. */

import type { JsonSchema } from '../contract/json-schema.ts';
import { maybe } from '../kits/maybe.ts';
import { checkWhole, nodesOf } from './check.ts';
import {
  checked,
  checkMembers,
  type Field,
  FieldProblem,
  type Fields,
  integer,
  isObject,
  list,
  number,
  record,
  text,
} from './fields.ts';
import { ID, NODE, PAINT, TIMELINE } from './nodes.ts';
import { SCENE_LIMITS, type Scene, type SceneNode, type ScenePatch } from './scene.ts';
import { settled } from './timeline.ts';

const CHANGE: Field = {
  schema: { type: 'object', required: ['id'], properties: { id: ID.schema } },
  check(value, at) {
    if (!isObject(value)) throw new FieldProblem(at, 'it must be an object');
    ID.check(value.id, `${at}/id`);
    for (const fixed of ['kind', 'nodes'])
      if (fixed in value)
        throw new FieldProblem(`${at}/${fixed}`, 'it cannot be changed: remove the node and add another');
  },
};
const PATCH_FIELDS: Fields = {
  version: integer(0, Number.MAX_SAFE_INTEGER),
  set: list(CHANGE, 0, SCENE_LIMITS.nodes),
  add: list(
    record(['node'], { node: { schema: { $ref: '#/$defs/node' }, check: NODE.check }, into: ID, before: ID }),
    0,
    SCENE_LIMITS.nodes,
  ),
  remove: list(ID, 0, SCENE_LIMITS.nodes),
  timelines: list(TIMELINE, 0, SCENE_LIMITS.timelines),
  background: PAINT,
  title: text(200),
  progress: number(0, 1),
};

/** JSON Schema of a patch, for documents and editors. */
export const PATCH_SCHEMA: JsonSchema = {
  ...record(['version'], PATCH_FIELDS).schema,
  title: 'ScenePatch',
  $defs: { node: NODE.schema },
};

/**
 * The scene after the patch; nodes that it does not name are the same objects. Its version is not looked at: that is the caller's. Throws
 * SCENE_INVALID {what, where, reason}, and then nothing has changed.
 */
export function patchScene(scene: Scene, patch: unknown, what: string): Scene {
  let after = scene;
  checked(what, patch, (value) => {
    checkMembers(value, '', ['version'], PATCH_FIELDS);
    after = applied(scene, value as ScenePatch);
    checkWhole(after, new Set(nodesOf(scene.nodes)));
  });
  return after;
}

/** Monotonic milliseconds. */
export interface PatchTimes {
  /** When the timelines of the scene began that do not say it. */
  readonly began: number;
  /** When those of the patch begin. */
  readonly since: number;
  readonly now: number;
}

/**
 * The scene after a patch, each timeline with the time at which it began; what is over is in the nodes. For those who
 * keep scenes. Throws SCENE_INVALID.
 */
export function patchSceneAt(scene: Scene, patch: unknown, { began, since, now }: PatchTimes, what: string): Scene {
  const before = settled(scene, now, began);
  const next = patchScene(timed(before, began), patch, what);
  return timed(next, since);
}

/** Each timeline with its beginning, so that a renderer that comes later goes on where they are. */
export function timed(scene: Scene, at: number): Scene {
  const { timelines } = scene;
  if (timelines === undefined || timelines.every((one) => one.at !== undefined)) return scene;
  return { ...scene, timelines: timelines.map((one) => (one.at === undefined ? { ...one, at } : one)) };
}

function applied(scene: Scene, patch: ScenePatch): Scene {
  const known = new Set<string>();
  for (const node of nodesOf(scene.nodes)) if (node.id !== undefined) known.add(node.id);
  const must = (id: string, at: string): void => {
    if (!known.has(id)) throw new FieldProblem(at, `there is no node ${id}`);
  };
  let nodes = scene.nodes;
  for (const [index, id] of (patch.remove ?? []).entries()) {
    must(id, `/remove/${index}`);
    nodes = replaced(nodes, id, () => []);
    // Children of a replaced group have gone with it.
    known.clear();
    for (const node of nodesOf(nodes)) if (node.id !== undefined) known.add(node.id);
  }
  for (const [index, change] of (patch.set ?? []).entries()) {
    must(change.id, `/set/${index}/id`);
    nodes = replaced(nodes, change.id, (node) => {
      const next = merged(node, change);
      NODE.check(next, `/set/${index}`);
      return [next];
    });
  }
  for (const [index, { node, into, before }] of (patch.add ?? []).entries()) {
    if (into !== undefined && before !== undefined)
      throw new FieldProblem(`/add/${index}`, 'it names into and before: one of them');
    if (before !== undefined) {
      must(before, `/add/${index}/before`);
      nodes = replaced(nodes, before, (one) => [node, one]);
    } else if (into !== undefined) {
      must(into, `/add/${index}/into`);
      nodes = replaced(nodes, into, (group) => {
        if (group.kind !== 'group') throw new FieldProblem(`/add/${index}/into`, `${into} is no group`);
        return [{ ...group, nodes: [...group.nodes, node] }];
      });
    } else nodes = [...nodes, node];
    if (node.id !== undefined) known.add(node.id);
    if (node.kind === 'group') for (const inner of nodesOf(node.nodes)) if (inner.id !== undefined) known.add(inner.id);
  }
  const fresh = patch.timelines ?? [];
  const same = (one: { node: string; property: string }): boolean =>
    fresh.some(({ node, property }) => node === one.node && property === one.property);
  const timelines = [...(scene.timelines ?? []).filter((one) => known.has(one.node) && !same(one)), ...fresh];
  if (timelines.length > SCENE_LIMITS.timelines)
    throw new FieldProblem(
      '/timelines',
      `there would be ${timelines.length} timelines, ${SCENE_LIMITS.timelines} are the limit`,
    );
  const { timelines: _, ...rest } = scene;
  return {
    ...rest,
    nodes,
    ...(timelines.length === 0 ? {} : { timelines }),
    ...maybe({ background: patch.background, title: patch.title, progress: patch.progress }),
  };
}

function merged(node: SceneNode, change: Readonly<Record<string, unknown>>): SceneNode {
  const members = new Map<string, unknown>(Object.entries(node));
  for (const [name, value] of Object.entries(change))
    if (value === null) members.delete(name);
    else members.set(name, value);
  return Object.fromEntries(members) as unknown as SceneNode;
}

/** The nodes with what `by` makes of the one with the id; groups on the way are new, everything else is the same. */
function replaced(
  nodes: readonly SceneNode[],
  id: string,
  by: (node: SceneNode) => readonly SceneNode[],
): readonly SceneNode[] {
  for (const [index, node] of nodes.entries()) {
    if (node.id === id) return [...nodes.slice(0, index), ...by(node), ...nodes.slice(index + 1)];
    if (node.kind !== 'group') continue;
    const inner = replaced(node.nodes, id, by);
    if (inner !== node.nodes) return [...nodes.slice(0, index), { ...node, nodes: inner }, ...nodes.slice(index + 1)];
  }
  return nodes;
}
