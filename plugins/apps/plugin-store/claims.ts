/** Claims of a package beyond running by itself: shown before the install, and granted by the caller of it. */
import { createHash } from 'node:crypto';
import { type CapabilityId, CoreError, type Isolation, implies, type PluginManifest } from '@device-core/plugin-api';
import { rightTo } from '@device-core/plugin-api/inside/consent';
import { contractIds, contractOf, NEVER, riskOf } from '@device-core/plugin-api/inside/contracts';
import { looksLike } from '@device-core/plugin-api/inside/own-names';
import type { ActClaim, ActSubject } from '@device-core/plugin-api/services/prompts';

export interface Claims {
  readonly isolation: Isolation;
  /** Host powers, `network.outbound:api.example.com` among them. */
  readonly capabilities: readonly string[];
  /** Files beside its own. */
  readonly files: { readonly read: readonly string[]; readonly write: readonly string[] };
  /** Powerful services, the greatest risk first. */
  readonly services: readonly string[];
  /** Hooks that see or change what others do. */
  readonly taps: readonly string[];
}

/** From the least isolation to the most. */
export const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

const HARMLESS_TAPS = ['health.collect', 'kernel.ready'];

export function claimsOf(manifest: PluginManifest, isolation: Isolation): Claims {
  const { capabilities = [], files = {}, requires = {}, optional = {}, taps = [] } = manifest;
  const sorted = (list: readonly string[] = []) => [...new Set(list)].sort();
  return {
    isolation,
    capabilities: sorted(capabilities),
    files: { read: sorted(files.read), write: sorted(files.write) },
    services: sorted(Object.keys({ ...requires, ...optional }).filter((one) => contractOf(one)?.access === 'powerful'))
      .map((one) => [riskOf(one), one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one),
    taps: sorted(taps.filter((tap) => !HARMLESS_TAPS.includes(tap))),
  };
}

/**
 * Throws SERVICE_DENIED for a claim that is never granted: a contract of the Core's own plugins, or one to stand for a
 * plugin of the Core.
 */
export function checkClaimable({ id, requires = {}, optional = {}, provides = {} }: PluginManifest): void {
  const never = (service: string, reason: string) =>
    new CoreError('SERVICE_DENIED', { plugin: id, service, reason, hint: NEVER.hint });
  for (const service of Object.keys({ ...requires, ...optional }))
    if (contractOf(service)?.access === 'tree') throw never(service, NEVER.tree);
  for (const service of Object.keys(provides)) {
    if (contractOf(service)) throw never(service, NEVER.provide);
    const alike = contractIds().find((one) => looksLike(one) === looksLike(service));
    if (alike) throw never(service, `it looks like ${alike}, a contract of the Core`);
  }
}

/** A claim that was not granted to the version before. */
export interface News {
  /** Use of it by the plugin: `holds network.outbound`. */
  readonly does: string;
  /** The same for the person who confirms it. */
  readonly capability?: CapabilityId;
  readonly claim?: ActClaim;
}

/** Claims that were not granted to the version before, one sentence each. */
export function beyond(claims: Claims, former: Claims | undefined): readonly string[] {
  return newsOf(claims, former).map(({ does }) => does);
}

export function newsOf(claims: Claims, former: Claims | undefined): readonly News[] {
  const { isolation = 'process', capabilities = [], files, services = [], taps = [] } = former ?? {};
  const { read = [], write = [] } = files ?? {};
  const within = (path: string, folders: readonly string[]) =>
    folders.some((folder) => path === folder || path.startsWith(folder.replace(/(\/\*|\*|\/)?$/, '/')));
  return [
    ...(LEVELS.indexOf(claims.isolation) < LEVELS.indexOf(isolation)
      ? [
          news(
            'level',
            claims.isolation,
            `run at level ${claims.isolation}, where it can do everything that the Core can`,
          ),
        ]
      : []),
    ...claims.capabilities
      .filter((one) => !capabilities.some((held) => implies(held, one)))
      .map((one): News => ({ does: `holds ${one}`, capability: one as CapabilityId })),
    ...claims.files.read
      .filter((path) => !within(path, [...read, ...write]))
      .map((path) => news('reads', path, `read ${path}`)),
    ...claims.files.write.filter((path) => !within(path, write)).map((path) => news('writes', path, `write ${path}`)),
    ...claims.services
      .filter((one) => !services.includes(one))
      .map((one) => ({ does: does(one), claim: { kind: 'service', name: one, summary: does(one) } }) satisfies News),
    ...claims.taps
      .filter((one) => !taps.includes(one))
      .map((one) => news('tap', one, `take part in ${one} of everybody`)),
  ];
}

/** A powerful claim as people read it: `hears the microphone and plays sound (service audio)`. */
function does(service: string): string {
  return `${contractOf(service)?.does ?? 'uses it'} (service ${service})`;
}

function news(kind: ActClaim['kind'], name: string, summary: string): News {
  return { does: summary.replace(/^\w+/, (verb) => `${verb}s`), claim: { kind, name, summary } };
}

/** The rights of a package as the person who confirms it sees them. */
export function rightsOf(added: readonly News[]): Required<Pick<ActSubject, 'what' | 'claims'>> {
  return {
    what: added.flatMap(({ capability }) => (capability ? [rightTo(capability)] : [])),
    claims: added.flatMap(({ claim }) => (claim ? [claim] : [])),
  };
}

/** Names this very package with these very claims: whoever accepts it has seen both. */
export function digestOf(id: string, version: string, hash: string, claims: Claims): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify([id, version, hash, claims]))
    .digest('hex')}`;
}

export type PowerfulUnsigned = 'refuse' | 'allow';

/** Throws SIGNATURE_INVALID: what no trusted key signed gets no power over people, hardware or others, unless the SKU says so. */
export function checkUnsignedPower(plugin: string, { services, taps }: Claims, powerful: PowerfulUnsigned): void {
  const [service] = services;
  const [power] = [
    ...(service === undefined ? [] : [does(service)]),
    ...taps.map((one) => `takes part in hook ${one}`),
  ];
  if (powerful === 'allow' || power === undefined) return;
  const line = 'plugin-store.powerfulUnsigned: allow in the SKU would let it';
  const reason = `no trusted key signed it, and it ${power}; ${line}`;
  throw new CoreError('SIGNATURE_INVALID', { what: `plugin ${plugin}`, plugin, reason });
}

/** Throws ISOLATION_UNSUPPORTED. A worker has the Core's own files, sockets and memory: only a process is a wall. */
export function checkUnsignedLevel(plugin: string, isolation: Isolation, least: Isolation): void {
  if (LEVELS.indexOf(isolation) >= LEVELS.indexOf(least)) return;
  const reason = `no trusted key signed it, and unsigned plugins run at level ${least} at least (plugin-store.unsignedIsolation)`;
  throw new CoreError('ISOLATION_UNSUPPORTED', { plugin, isolation, reason });
}
