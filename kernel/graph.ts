/** The dependency graph, pure: plugins are joined by the services that they provide and require. */
import { isDeepStrictEqual } from 'node:util';

export interface GraphNode {
  readonly id: string;
  readonly provides: readonly string[];
  readonly requires: readonly string[];
}

/** Ids: what one set has and another has not. */
export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** `also` counts as changed where it is in both. */
export function differenceOf<T extends { readonly id: string }>(
  former: readonly T[],
  next: readonly T[],
  also: readonly string[],
): Difference {
  const before = new Map(former.map((one) => [one.id, one]));
  const after = new Set(next.map(({ id }) => id));
  const same = (one: T) => !also.includes(one.id) && isDeepStrictEqual(before.get(one.id), one);
  return {
    added: next.filter(({ id }) => !before.has(id)).map(({ id }) => id),
    removed: former.filter(({ id }) => !after.has(id)).map(({ id }) => id),
    changed: next.filter((one) => before.has(one.id) && !same(one)).map(({ id }) => id),
  };
}

/** Every plugin that needs `id`, directly or through another, without `id` itself. */
export function dependentsOf(nodes: readonly GraphNode[], id: string): ReadonlySet<string> {
  const found = new Set([id]);
  const services = new Set(nodes.find((node) => node.id === id)?.provides);
  for (let grown = true; grown; ) {
    grown = false;
    for (const node of nodes) {
      if (found.has(node.id) || !node.requires.some((service) => services.has(service))) continue;
      found.add(node.id);
      for (const service of node.provides) services.add(service);
      grown = true;
    }
  }
  found.delete(id);
  return found;
}
