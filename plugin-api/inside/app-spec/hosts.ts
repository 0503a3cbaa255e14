import type { NamedHost } from '../../contract/app-spec.ts';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_HOST = 253;
const MAX_PORTS = 8;
const HTTPS = 443;

/** A capability as app.yaml has it, as far as it says what the guest may reach. */
export interface Claim {
  readonly id: string;
  /** Ports of `network.outbound:<host>` only; 443 if absent. */
  readonly ports?: readonly number[];
}

/** Why this is no host that can be named; undefined when it is one (RFC 1123, lower case). */
export function hostProblem(host: string): string | undefined {
  const labels = host.split('.');
  if (/[^\x21-\x7e]/.test(host)) return 'names of hosts are ASCII; write the xn-- form';
  if (host.includes('*')) return 'a wildcard names no host; name each one, or ask for network.outbound';
  if (host !== host.toLowerCase()) return `names of hosts are lower case: ${host.toLowerCase()}`;
  if (host.length > MAX_HOST || !labels.every((label) => LABEL.test(label))) return 'it is no name of a host';
  // As browsers have it: a last label of digits, or a hexadecimal number, makes it an address.
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? ''))
    return 'an address names no host; hosts are named, for addresses move';
  if (labels.at(-1) === 'localhost') return 'localhost is the device itself';
  return undefined;
}

/** Why these are no ports to ask for. */
export function portsProblem(ports: readonly number[]): string | undefined {
  const bad = ports.find((port) => !(Number.isInteger(port) && port >= 1 && port <= 65_535));
  if (bad !== undefined) return `${bad} is no port; ports are 1 to 65535`;
  if (ports.length === 0 || ports.length > MAX_PORTS)
    return `it names ${ports.length} ports; 1 to ${MAX_PORTS} can be named`;
  return undefined;
}

const OUTBOUND = 'network.outbound:';

/** The host that a capability names; undefined for every other capability. */
export function hostOf(capability: string): string | undefined {
  return capability.startsWith(OUTBOUND) ? capability.slice(OUTBOUND.length) : undefined;
}

/** Hosts that were claimed and granted by name, each once, in the order of names. */
export function hostsOf(claims: readonly Claim[], granted: ReadonlySet<string>): readonly NamedHost[] {
  const ports = new Map<string, Set<number>>();
  for (const { id, ports: asked = [HTTPS] } of claims) {
    const host = hostOf(id);
    if (host === undefined || !granted.has(id)) continue;
    ports.set(host, new Set([...(ports.get(host) ?? []), ...asked]));
  }
  return [...ports.keys()].sort().map((host) => ({ host, ports: [...(ports.get(host) ?? [])].sort((a, b) => a - b) }));
}
