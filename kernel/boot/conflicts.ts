/** Conflicts of a set of plugins: two providers of one service, and circles of requirements. Pure. */
import type { GraphNode } from '../graph.ts';

/** Service id -> the plugins that provide it, sorted. More than one is a conflict. */
export function providersOf(nodes: readonly GraphNode[]): ReadonlyMap<string, readonly string[]> {
  const providers = new Map<string, string[]>();
  for (const { id, provides } of sorted(nodes)) {
    for (const service of provides) providers.set(service, [...(providers.get(service) ?? []), id]);
  }
  return providers;
}

/** Each cycle once, as a path that starts and ends with the same plugin. The same for every listing order. */
export function cyclesOf(nodes: readonly GraphNode[]): readonly (readonly string[])[] {
  const providers = providersOf(nodes);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (id: string, path: readonly string[]): void => {
    const start = path.indexOf(id);
    if (start >= 0) cycles.push([...path.slice(start), id]);
    if (start >= 0 || done.has(id)) return;
    for (const service of [...(byId.get(id)?.requires ?? [])].sort()) {
      for (const provider of providers.get(service) ?? []) visit(provider, [...path, id]);
    }
    done.add(id);
  };
  for (const { id } of sorted(nodes)) visit(id, []);
  return cycles;
}

function sorted(nodes: readonly GraphNode[]): readonly GraphNode[] {
  return nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
