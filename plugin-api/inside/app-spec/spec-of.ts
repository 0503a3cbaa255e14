import type { AppSpec, GuestLimits } from '../../contract/app-spec.ts';
import { type Claim, hostsOf } from './hosts.ts';
import { limitsOf } from './limits.ts';
import { nodesOf, type SkuNode } from './nodes.ts';

/** Address of the device's proxy for a guest with named hosts. */
export const PROXY = 'http://127.0.0.1:3128';
const STOP_MS = 3_000;

/** Parts of app.yaml that decide the sight of a run. */
export interface GuestManifest {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly runtime?: { readonly kind: AppSpec['runtime'] };
  readonly exec: {
    readonly command: string;
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  readonly capabilities: readonly Claim[];
  readonly resources?: Readonly<Partial<GuestLimits>>;
  readonly lifecycle?: { readonly stopTimeoutMs?: number };
}

/** Rules of the device's SKU for apps. */
export interface SkuOfApps {
  readonly nodes?: Readonly<Record<string, SkuNode>>;
  readonly ceilings?: Readonly<Partial<GuestLimits>>;
}

/** Places of one run. All paths absolute. */
export interface GuestPlace {
  /** `<service>` of the device. */
  readonly service: string;
  readonly code: string;
  /** Program to run, resolved: a runtime of the device, or a file of the code. */
  readonly program: string;
  /** Files that the program reads besides the system and its code: a runtime's folder, packages of a checkout. */
  readonly beside?: readonly string[];
  readonly data: string;
  readonly cache: string;
  /** Folder of the guest's socket. */
  readonly run: string;
  readonly rpc: string;
  /** Folder of the shared socket, the socket in it, and where that is usually found. */
  readonly shared?: { readonly folder: string; readonly socket: string; readonly usual?: string };
  /** Address of REST by TCP. */
  readonly url?: string;
  /** As the guest sees it; `/run/credentials/app-<name>.service` if absent, where systemd has it. */
  readonly credentials?: string;
  /** Its own user; absent where no user can be given. */
  readonly uid?: number;
  /** PATH and LANG of every app. */
  readonly path: string;
  readonly lang: string;
  /** Further variables of the Core for this run: DEVICE_DATA_FROM. */
  readonly tells?: Readonly<Record<string, string>>;
}

/** One run of an app: what is claimed in its manifest and granted, on this device. Pure. */
export function specOf(manifest: GuestManifest, grants: Iterable<string>, sku: SkuOfApps, place: GuestPlace): AppSpec {
  const { id, title, version, exec, capabilities } = manifest;
  const allowed = new Set(grants);
  const granted = new Set(capabilities.flatMap((claim) => (allowed.has(claim.id) ? claim.id : [])));
  const open = ['network', 'network.outbound', 'network.listen'].some((capability) => granted.has(capability));
  const hosts = open ? [] : hostsOf(capabilities, granted);
  const network = open ? 'open' : hosts.length > 0 ? 'hosts' : 'none';
  const keeps = granted.has('storage-scoped');
  const devices = nodesOf(capabilities, granted, sku.nodes ?? {});
  const groups = [...new Set(devices.flatMap(({ group }) => group ?? []))].sort();
  const runtime = runtimeOf(manifest);
  const { service, code, program, beside = [], data, cache, run, shared, uid } = place;
  const usual = shared?.usual;
  return {
    form: 1,
    kind: 'app',
    service,
    id,
    title,
    version,
    name: `app-${manifest.name}`,
    runtime,
    bare: runtime === 'static',
    program,
    args: exec.args ?? [],
    cwd: code,
    env: environmentOf(manifest, place, { keeps, network }),
    code,
    ...(keeps ? { data, cache } : {}),
    run,
    ...(shared ? { shared: shared.folder } : {}),
    files: {
      read: [...new Set([code, ...beside])],
      write: keeps ? [data, cache] : [],
      ...(usual !== undefined && usual !== shared?.socket ? { links: { [usual]: shared?.socket ?? usual } } : {}),
    },
    sockets: [run, ...(shared ? [shared.folder] : [])],
    network,
    ...(network === 'hosts' ? { wayOut: `${run}/egress.sock` } : {}),
    hosts,
    listen: granted.has('network') || granted.has('network.listen'),
    devices,
    nodes: devices.map(({ path }) => path),
    ...(uid === undefined ? {} : { uid, groups }),
    limits: limitsOf(manifest.resources, sku.ceilings),
    stopTimeoutMs: manifest.lifecycle?.stopTimeoutMs ?? STOP_MS,
  };
}

/** As the manifest says; else by its command. */
export function runtimeOf({ runtime, exec }: Pick<GuestManifest, 'runtime' | 'exec'>): AppSpec['runtime'] {
  if (runtime) return runtime.kind;
  if (exec.command === 'node') return 'node';
  return /^python[\d.]*$/.test(exec.command) ? 'python' : 'native';
}

/** Constants of the manifest, and over them what the Core says: nothing of the Core's own environment, and no secret. */
function environmentOf(
  { id, name, exec }: GuestManifest,
  place: GuestPlace,
  { keeps, network }: { readonly keeps: boolean; readonly network: AppSpec['network'] },
): Readonly<Record<string, string>> {
  const { data, cache, rpc, shared, url, credentials = `/run/credentials/app-${name}.service` } = place;
  return {
    ...exec.env,
    PATH: place.path,
    LANG: place.lang,
    // Its own name for its home even where nothing is kept there: by this a process that left its session is found.
    HOME: data,
    DEVICE_APP_ID: id,
    ...(keeps ? { DEVICE_DATA_DIR: data, DEVICE_CACHE_DIR: cache } : {}),
    DEVICE_RPC_SOCKET: rpc,
    ...(shared ? { DEVICE_HTTP_SOCKET: shared.socket } : {}),
    ...(url !== undefined && { DEVICE_URL: url }),
    CREDENTIALS_DIRECTORY: credentials,
    ...(network === 'hosts' ? PROXIES : {}),
    ...place.tells,
  };
}

const PROXIES: Readonly<Record<string, string>> = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  NO_PROXY: 'localhost,127.0.0.1',
  no_proxy: 'localhost,127.0.0.1',
  NODE_USE_ENV_PROXY: '1',
};
