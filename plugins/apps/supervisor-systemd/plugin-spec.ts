import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type AppSpec, DEFAULT_LIMITS, isHidden } from '@device-core/plugin-api/inside/app-spec';
import type { PluginUnitStart } from '@device-core/plugin-api/inside/services/plugin-units';

/** Folder of the Core's own code: the kernel's end of the border, plugin-api, packages. */
const TREE = resolve(import.meta.dirname, '../../..');
/** `plugin-` and this are the name of a unit. */
const ID = /^[a-z][a-z0-9-]{0,39}$/;
/** Threads of Node; its permissions let a plugin start neither workers nor programs. */
const TASKS = 64;
/** A plugin ends when its channel closes; one that does not is killed by then. */
const STOP_MS = 1_000;

export interface PluginPlace {
  readonly service: string;
  /** `<run>` and `<var>` of the device. */
  readonly run: string;
  readonly state: string;
  readonly uid: number;
}

/** `<run>/plugins/kettle/channel.sock`. */
export function channelOf(run: string, id: string): string {
  return join(run, 'plugins', id, 'channel.sock');
}

/**
 * Lets the user of a unit and the warden through to code that was installed on the device: other units see nothing of
 * it, and the Core's folders are closed to them otherwise.
 */
export async function openPassage({ code, manifest }: PluginUnitStart, { state, service }: Omit<PluginPlace, 'uid'>) {
  // Only a folder that the Core made is closed.
  await chmod(settingsOf(service, manifest.id), 0o755).catch(() => undefined);
  const store = join(state, 'plugins');
  if (!code.startsWith(`${store}/`)) return;
  for (let folder = dirname(code); folder.startsWith(store); folder = dirname(folder)) await chmod(folder, 0o711);
  await chmod(code, 0o755);
}

/** `/etc/device/kettle`: what the operator puts there for this plugin. */
const settingsOf = (service: string, id: string) => `/etc/${service}/${id}`;
const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** Why a plugin cannot be a unit, for people; undefined where it can. */
export function unfit({ manifest }: Pick<PluginUnitStart, 'manifest'>, { run, service }: Omit<PluginPlace, 'uid'>) {
  const { id, files = {} } = manifest;
  if (!ID.test(id)) return `its id does not fit ${ID}`;
  const [written] = files.write ?? [];
  if (written !== undefined)
    return `its manifest claims files.write: ${written}, and files of the device are the Core's user's`;
  const etc = `/etc/${service}`;
  const hidden = files.read?.find((claim) => {
    const path = claim.replace(/^\{etc\}/, etc).replace(/\/\*?$/, '');
    return !isBelow(path, settingsOf(service, id)) && (path.startsWith('{') || isHidden(path, { run, etc }));
  });
  if (hidden !== undefined) return `its manifest claims files.read: ${hidden}, which is hidden from units`;
  return undefined;
}

/** One run of a plugin as a unit: what its walls as a process would show, with a user of its own. */
export function pluginSpec({ manifest, code, spec }: PluginUnitStart, { service, run, uid }: PluginPlace): AppSpec {
  const { id, version, summary, capabilities = [] } = manifest;
  const folder = join(run, 'plugins', id);
  // Packages are looked for in every folder above the code; those of others are none of it.
  const mine = (path: string) => [code, TREE, settingsOf(service, id)].some((folder) => isBelow(path, folder));
  return {
    form: 1,
    kind: 'plugin',
    service,
    id,
    title: summary,
    version,
    name: `plugin-${id}`,
    runtime: 'node',
    bare: false,
    program: spec.program,
    args: [...spec.args, channelOf(run, id)],
    cwd: code,
    env: spec.env,
    code,
    run: folder,
    files: {
      read: [...new Set([code, ...spec.files.read.filter((path) => mine(path) && existsSync(path))])],
      write: [],
    },
    sockets: [folder],
    network: spec.network,
    hosts: [],
    listen:
      spec.network === 'open' && capabilities.some((one) => one === 'network' || one.startsWith('network.listen')),
    devices: [],
    nodes: [],
    uid,
    groups: [],
    limits: { ...DEFAULT_LIMITS, ...spec.limits, tasksMax: TASKS },
    stopTimeoutMs: STOP_MS,
  };
}
