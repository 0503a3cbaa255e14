import type { GrantedNode } from '../../contract/app-spec.ts';
import type { Claim } from './hosts.ts';

/** A device node of the SKU, which apps ask for by its name: no package names a path. */
export type SkuNode = Omit<GrantedNode, 'name'>;

const NODE = /^(?:display|audio|sensors|bridges)\.node(?::(?<name>.*))?$/;

/** Name of the node that a capability asks for; empty where it names none; undefined for capabilities that are none of a node. */
export function nodeOf(capability: string): string | undefined {
  const found = NODE.exec(capability);
  return found ? (found.groups?.name ?? '') : undefined;
}

/** Nodes that were claimed and granted, each once, in the order of names. Names unknown to the SKU are left out. */
export function nodesOf(
  claims: readonly Claim[],
  granted: ReadonlySet<string>,
  nodes: Readonly<Record<string, SkuNode>>,
): readonly GrantedNode[] {
  const names = new Set(claims.flatMap(({ id }) => (granted.has(id) ? (nodeOf(id) ?? []) : [])));
  return [...names].sort().flatMap((name) => {
    const node = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
    return node ? [{ name, ...node }] : [];
  });
}
