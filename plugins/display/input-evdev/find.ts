/** Which node is meant: its number changes with the order in which devices come. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Folders {
  /** `/dev/input` */
  readonly nodes: string;
  /** `/sys/class/input` */
  readonly about: string;
}

export const FOLDERS: Folders = { nodes: '/dev/input', about: '/sys/class/input' };

/** By its path, or by the name that it gives itself, in which `*` stands for anything. */
export type Wanted =
  | { readonly device: string; readonly name?: never }
  | { readonly name: string; readonly device?: never };

export const describeWanted = ({ device, name }: Wanted): string => device ?? `a device named ${name}`;

/** Path of the node; undefined where there is none. Nothing is opened: sysfs tells the names. */
export async function findNode({ device, name }: Wanted, { nodes, about }: Folders): Promise<string | undefined> {
  if (device !== undefined) return device;
  const entries = await readdir(about).catch(() => []);
  const events = entries.filter((entry) => /^event\d+$/.test(entry));
  for (const event of events.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)))) {
    const its = await readFile(join(about, event, 'device/name'), 'utf8').catch(() => undefined);
    if (its !== undefined && matches(its.trim(), name)) return join(nodes, event);
  }
  return undefined;
}

/** Matching works without a regular expression, which a device's name could keep busy for long. */
export function matches(name: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return name === pattern;
  const last = rest.pop()!;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= name.length - last.length;
}
