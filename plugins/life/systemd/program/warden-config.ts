/** `/etc/<service>/warden.json`: what the warden allows, from the SKU. It believes this file alone, never the Core. */
import { dirname } from 'node:path';
import type { SkuManifest } from '@device-core/plugin-api';
import type { Values } from './render.ts';

/** Users of guests; the first and last of each kind. */
const UIDS = { app: [40_000, 49_999], plugin: [50_000, 59_999] } as const;
/** Guests at the same time. */
const MOST = 128;

interface Config {
  readonly nodes?: unknown;
  readonly ceilings?: unknown;
  readonly folders?: unknown;
}

export function wardenConfigOf(
  { plugins }: SkuManifest,
  { service, prefix, slots = false }: Values,
  node: string,
): object {
  const line = plugins.apps;
  const {
    nodes = {},
    ceilings = {},
    folders = [],
  }: Config = (typeof line === 'object' ? line.config : undefined) ?? {};
  const state = `/var/lib/${service}`;
  // Whichever slot runs: both are root's, and what is in them was signed.
  const trees = slots ? [`${prefix}/a`, `${prefix}/b`] : [prefix];
  const own = Array.isArray(folders) ? folders.filter((one) => typeof one === 'string' && one.startsWith('/')) : [];
  return {
    form: 1,
    service,
    run: `/run/${service}`,
    state,
    // An app that the SKU names by its folder has its code below these folders.
    code: [
      `${state}/app-store`,
      `${state}/apps`,
      // Plugins that were installed on the device, and those of the Core itself.
      `${state}/plugins`,
      ...trees.map((tree) => `${tree}/plugins`),
      ...trees.map((tree) => `${tree}/apps`),
      ...own.map((folder) => dirname(folder)),
    ],
    // System folders are readable by all users in any case: `static` apps see none of them.
    read: ['/usr', prefix],
    programs: [...(slots ? trees.map((tree) => `${tree}/bin/node`) : [node]), '/usr/bin/python3', '/usr/bin/node'],
    uids: UIDS,
    nodes,
    ceilings,
    most: MOST,
  };
}
