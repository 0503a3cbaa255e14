import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { type AppSpec, SERVICE, type SkuNode } from '@device-core/plugin-api/inside/app-spec';

/** A refusal of the warden, with the reason: nothing was done. */
export class Refused extends Error {}

/** Limits of the device: `/etc/<service>/warden.json`, root's alone. Paths are absolute. */
export interface WardenConfig {
  readonly form: 1;
  readonly service: string;
  /** `<run>` and `<state>` of the Core: `/run/device`, `/var/lib/device`. */
  readonly run: string;
  readonly state: string;
  /** Folders with code; further files that a guest may read; further programs that it may run. */
  readonly code: readonly string[];
  readonly read: readonly string[];
  readonly programs: readonly string[];
  /** First and last user, by kind. */
  readonly uids: Readonly<Record<AppSpec['kind'], readonly [first: number, last: number]>>;
  readonly nodes: Readonly<Record<string, SkuNode>>;
  readonly ceilings: Readonly<Partial<AppSpec['limits']>>;
  /** Guests that may be there at the same time. */
  readonly most: number;
}

/** Throws Refused for a file that another user could have written, or that is no configuration. */
export function readConfig(path: string, owner = 0): WardenConfig {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { uid, mode } = fstatSync(fd);
  const text = readFileSync(fd, 'utf8');
  closeSync(fd);
  if (uid !== owner || (mode & 0o022) !== 0) throw new Refused(`${path} could have been written by another than root`);
  const config = JSON.parse(text) as WardenConfig;
  const { form, service, run, state, code, read, programs, uids, most } = config;
  const paths = [run, state, ...code, ...read, ...programs];
  const ranges = [uids.app, uids.plugin].every(([first, last]) => first >= 1_000 && last <= 65_000);
  const told = form === 1 && SERVICE.test(service) && ranges && Number.isInteger(most);
  if (!told || !paths.every((one) => /^\/./.test(one))) throw new Refused(`${path} is no configuration of a warden`);
  return config;
}
