import { LIMIT_NAMES } from './limits.ts';
import { nodeOf } from './nodes.ts';
import type { GuestManifest, SkuOfApps } from './spec-of.ts';

/** Fault in a part of app.yaml. */
export interface Complaint {
  readonly path: readonly (string | number)[];
  readonly reason: string;
}

/** Demands of a manifest that no grant can meet on this device: missing nodes, budgets above its ceilings. */
export function skuComplaints(
  { capabilities, resources = {} }: Pick<GuestManifest, 'capabilities' | 'resources'>,
  { nodes = {}, ceilings = {} }: SkuOfApps,
): readonly Complaint[] {
  const known = Object.keys(nodes);
  const absent = capabilities.flatMap(({ id }, at): Complaint | [] => {
    const node = nodeOf(id);
    if (node === undefined || known.includes(node)) return [];
    const has = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
    return { path: ['capabilities', at, 'id'], reason: `this device has no node "${node}" for apps; ${has}` };
  });
  const above = LIMIT_NAMES.flatMap((name): Complaint | [] => {
    const [asked, ceiling] = [resources[name], ceilings[name]];
    if (asked === undefined || ceiling === undefined || asked <= ceiling) return [];
    return { path: ['resources', name], reason: `${name} ${asked} is above the ceiling of this device, ${ceiling}` };
  });
  return [...absent, ...above];
}
