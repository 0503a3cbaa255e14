/** Is it a scene? Every complaint has a JSON pointer and a reason. */
import type { JsonSchema } from '../contract/json-schema.ts';
import { checked, checkMembers, FieldProblem, record } from './fields.ts';
import { NODE, NODE_SHAPES, SCENE_FIELDS } from './nodes.ts';
import { SCENE_LIMITS, type Scene, type SceneNode, type Timeline } from './scene.ts';

/** JSON Schema of a scene, `$defs` included: for documents and editors. The check itself is `checkScene`. */
export const SCENE_SCHEMA: JsonSchema = {
  ...record(['scene', 'nodes'], SCENE_FIELDS).schema,
  title: 'Scene',
  $defs: { node: NODE.schema },
};

/** The value as a scene. Throws SCENE_INVALID {what, where, reason}: `where` is `/nodes/0/txet`. */
export function checkScene(value: unknown, what: string): Scene {
  return checked(what, value, (scene) => {
    checkMembers(scene, '', ['scene', 'nodes'], SCENE_FIELDS);
    checkWhole(scene as Scene);
  });
}

/**
 * Checks the scene as a whole: number, depth, ids, timelines, bytes. Its nodes are checked on the way unless they
 * were before.
 */
export function checkWhole(scene: Scene, known: ReadonlySet<SceneNode> = new Set()): void {
  const ids = new Map<string, Named>();
  let count = 0;
  const walk = (nodes: readonly SceneNode[], at: string, depth: number): void => {
    if (depth > SCENE_LIMITS.depth) throw new FieldProblem(at, `groups are more than ${SCENE_LIMITS.depth} deep`);
    for (let index = 0; index < nodes.length; index += 1) {
      const node = nodes[index]!;
      const here = `${at}/${index}`;
      count += 1;
      if (count > SCENE_LIMITS.nodes) throw new FieldProblem(here, `there are more than ${SCENE_LIMITS.nodes} nodes`);
      if (!known.has(node)) NODE.check(node, here);
      if (node.id !== undefined) {
        const former = ids.get(node.id);
        if (former !== undefined) throw new FieldProblem(`${here}/id`, `${node.id} is the id of ${former.at}, too`);
        ids.set(node.id, { at: here, node });
      }
      if (node.kind === 'group') walk(node.nodes, `${here}/nodes`, depth + 1);
    }
  };
  walk(scene.nodes, '/nodes', 1);
  for (const [index, timeline] of (scene.timelines ?? []).entries())
    checkTimeline(timeline, ids, `/timelines/${index}`);
  const bytes = new TextEncoder().encode(JSON.stringify(scene)).byteLength;
  if (bytes > SCENE_LIMITS.bytes)
    throw new FieldProblem('', `it has ${bytes} bytes, ${SCENE_LIMITS.bytes} are the limit`);
}

interface Named {
  readonly at: string;
  readonly node: SceneNode;
}

/** Its node is there, has the property, and may be what the timeline makes it. */
function checkTimeline(timeline: Timeline, ids: ReadonlyMap<string, Named>, at: string): void {
  const named = ids.get(timeline.node);
  if (named === undefined) throw new FieldProblem(`${at}/node`, `there is no node ${timeline.node}`);
  const field = NODE_SHAPES[named.node.kind].fields[timeline.property];
  if (field === undefined) throw new FieldProblem(`${at}/property`, `a ${named.node.kind} has no ${timeline.property}`);
  field.check(timeline.to, `${at}/to`);
  if (timeline.from !== undefined) field.check(timeline.from, `${at}/from`);
}

/** Every node, from below, groups before what is in them. */
export function* nodesOf(nodes: readonly SceneNode[]): Generator<SceneNode> {
  for (const node of nodes) {
    yield node;
    if (node.kind === 'group') yield* nodesOf(node.nodes);
  }
}

/** Names of the images that a scene shows. */
export function imagesOf(scene: Scene): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of nodesOf(scene.nodes)) if (node.kind === 'image' || node.kind === 'sprite') names.add(node.image);
  return names;
}
