import { type Decision, decide, type Rules, skuGrantLine } from '@device-core/plugin-api/inside/consent';
import type { AppManifest, AppStatus } from '@device-core/plugin-api/services/apps';

export interface GrantDecision {
  readonly granted: readonly string[];
  /** Declared but not granted on this device, each with what would grant it and the line that says so now. */
  readonly denied: AppStatus['denied'];
  /** As the manifest declares them, hosts with those ports alone that were granted. */
  readonly claims: AppManifest['capabilities'];
  /** Nobody has decided about these yet. */
  readonly undecided: readonly Decision[];
}

export interface GrantRules extends Rules {
  /** There is somebody who keeps answers, so that the operator can grant what is asked. */
  readonly askable: boolean;
}

/**
 * Decides which declared capabilities an app gets: by the SKU, the kept answers and the policy (decisions D2,
 * decision record 82). An app starts also without a capability that it did not call optional: READY tells it which
 * ones it holds.
 */
export function decideGrants(manifest: AppManifest, rules: GrantRules): GrantDecision {
  const decisions = decide(manifest, rules);
  const granted = decisions.filter(({ verdict }) => verdict === 'granted');
  const ports = new Map(granted.map(({ capability, params }) => [capability, params?.ports as number[] | undefined]));
  return {
    granted: [...new Set(granted.map(({ capability }) => capability))],
    denied: decisions.filter(({ verdict }) => verdict !== 'granted').map((one) => deniedOf(manifest.id, one, rules)),
    claims: manifest.capabilities.map((claim) => {
      const allowed = ports.get(claim.id);
      return allowed ? { ...claim, ports: allowed } : claim;
    }),
    undecided: decisions.filter(({ verdict }) => verdict === 'ask'),
  };
}

function deniedOf(app: string, { capability, params, by, hint }: Decision, { askable }: GrantRules) {
  const line = skuGrantLine(app, capability);
  const ports = params?.ports === undefined ? '' : ` (port ${String(params.ports)})`;
  return { capability, hint: (askable && hint) || line, why: `${by.line}${ports}` };
}
