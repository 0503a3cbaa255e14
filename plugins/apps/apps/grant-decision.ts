import { type AppManifest, classOf, implies } from '@device-core/plugin-api';

export interface GrantDecision {
  readonly granted: readonly string[];
  /** Declared but not granted on this device, each with the line of the SKU that would grant it. */
  readonly denied: readonly { readonly capability: string; readonly hint: string }[];
}

/**
 * What of its declared capabilities an app gets (decisions D2): class `normal` always, the others as far as the SKU names them, by app id or for all by `*`.
 * An app starts also without a capability that it did not call optional: READY tells it what it holds.
 */
export function decideGrants(
  manifest: AppManifest,
  allowed: Readonly<Record<string, readonly string[]>>,
): GrantDecision {
  const named = [...(allowed[manifest.id] ?? []), ...(allowed['*'] ?? [])];
  const granted = new Set<string>();
  const denied = new Map<string, string>();
  for (const { id } of manifest.capabilities) {
    if (classOf(id) === 'normal' || named.some((grant) => implies(grant, id))) granted.add(id);
    else denied.set(id, `grants: { ${manifest.id}: ["${id}"] }`);
  }
  return { granted: [...granted], denied: [...denied].map(([capability, hint]) => ({ capability, hint })) };
}
