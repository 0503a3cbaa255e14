/** What a package claims beyond running by itself: shown before it is installed, and granted by whoever installs it. */
import { createHash } from 'node:crypto';
import { type CapabilityId, CoreError, type Isolation, implies, type PluginManifest } from '@device-core/plugin-api';
import { rightTo } from '@device-core/plugin-api/inside/consent';
import type { ActClaim, ActSubject } from '@device-core/plugin-api/services/prompts';

export interface Claims {
  readonly isolation: Isolation;
  /** Host powers, `network.outbound:api.example.com` among them. */
  readonly capabilities: readonly string[];
  /** Files beside its own. */
  readonly files: { readonly read: readonly string[]; readonly write: readonly string[] };
  /** Services in whose name the Core acts. */
  readonly services: readonly string[];
  /** Hooks that see or change what others do. */
  readonly taps: readonly string[];
}

/** From the least isolation to the most. */
export const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

/** Whoever has one of these acts for apps, for other plugins or for the operator. */
const POWERFUL = [
  ...['apps', 'app-sockets', 'app-supervisor', 'config', 'event-bus', 'functions', 'grants', 'identity', 'launcher'],
  ...['http-server', 'plugin-manager', 'processes', 'prompts', 'sessions'],
];
const HARMLESS_TAPS = ['health.collect', 'kernel.ready'];

export function claimsOf(manifest: PluginManifest, isolation: Isolation): Claims {
  const { capabilities = [], files = {}, requires = {}, optional = {}, taps = [] } = manifest;
  const sorted = (list: readonly string[] = []) => [...new Set(list)].sort();
  return {
    isolation,
    capabilities: sorted(capabilities),
    files: { read: sorted(files.read), write: sorted(files.write) },
    services: sorted(Object.keys({ ...requires, ...optional }).filter((service) => POWERFUL.includes(service))),
    taps: sorted(taps.filter((tap) => !HARMLESS_TAPS.includes(tap))),
  };
}

/** A claim that was not granted to the version before. */
export interface News {
  /** Use of it by the plugin: `holds network.outbound`. */
  readonly does: string;
  /** The same for the person who confirms it. */
  readonly capability?: CapabilityId;
  readonly claim?: ActClaim;
}

/** What of it was not granted to the version before, one sentence each. */
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
      .map((one) => news('service', one, `use service ${one} in the Core's name`)),
    ...claims.taps
      .filter((one) => !taps.includes(one))
      .map((one) => news('tap', one, `take part in ${one} of everybody`)),
  ];
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

/** Throws ISOLATION_UNSUPPORTED, SIGNATURE_INVALID: what nobody of trust signed gets no power of the Core, unless the SKU says so. */
export function checkUnsigned(plugin: string, { isolation, services, taps }: Claims, least: Isolation): void {
  checkUnsignedLevel(plugin, isolation, least);
  const [power] = [...services.map((one) => `service ${one}`), ...taps.map((one) => `hook ${one}`)];
  if (least !== 'process' || power === undefined) return;
  const reason = `no trusted key signed it, and without that no plugin gets ${power}`;
  throw new CoreError('SIGNATURE_INVALID', { what: `plugin ${plugin}`, plugin, reason });
}

/** Throws ISOLATION_UNSUPPORTED. A worker has the Core's own files, sockets and memory: only a process is a wall. */
export function checkUnsignedLevel(plugin: string, isolation: Isolation, least: Isolation): void {
  if (LEVELS.indexOf(isolation) >= LEVELS.indexOf(least)) return;
  const reason = `no trusted key signed it, and unsigned plugins run at level ${least} at least (plugin-store.unsignedIsolation)`;
  throw new CoreError('ISOLATION_UNSUPPORTED', { plugin, isolation, reason });
}
