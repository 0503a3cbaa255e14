/** Text of a screen, for people who do not see it: a line for each thing, in the order in which it is drawn. */
import { type BindingWorld, bind } from './bindings.ts';
import { nodesOf } from './check.ts';
import type { Scene, SceneNode } from './scene.ts';
import { undirected } from './text-layout.ts';

/** Texts with their bindings filled in, and labels of what has no text. What can be tapped says so by brackets: `[Remind me]`. */
export function describeScene(scene: Scene, world: Omit<BindingWorld, 'progress'>): readonly string[] {
  const lines = scene.title === undefined ? [] : [undirected(scene.title)];
  for (const node of visible(scene.nodes)) {
    const line =
      node.label ?? (node.kind === 'text' ? bind(node.text, { ...world, progress: scene.progress }).text : '');
    const said = undirected(node.tap === undefined ? line : `[${line}]`);
    if (line === '') continue;
    // The text of a button stands in its label already.
    if (lines.at(-1) === undirected(`[${line}]`) || lines.at(-1) === said) continue;
    lines.push(said);
  }
  return lines;
}

function* visible(nodes: readonly SceneNode[]): Generator<SceneNode> {
  for (const node of nodes) {
    if ((node.opacity ?? 1) === 0) continue;
    yield node;
    // The label of a group stands for its content.
    if (node.kind === 'group' && node.label === undefined) yield* visible(node.nodes);
  }
}

/** Ids or taps of what a screen reader could not name: it can be tapped, and has neither label nor text. */
export function unnamed(scene: Scene): readonly string[] {
  const names: string[] = [];
  for (const node of nodesOf(scene.nodes))
    if (node.tap !== undefined && node.label === undefined && !hasText(node)) names.push(node.id ?? node.tap);
  return names;
}

function hasText(node: SceneNode): boolean {
  if (node.kind === 'text') return node.text !== '';
  return node.kind === 'group' && node.nodes.some((inner) => inner.label !== undefined || hasText(inner));
}
