/** A package that an operator names: a file or a folder, or what the repository of the device has under an id. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PACKAGE_OFFERS, type PackageNoun, packageNamed } from '../packages/offered.ts';
import { type Waiting, whenChanged } from './change.ts';
import type { ProgramClient } from './client.ts';

/** The device looks into its repository before it answers. */
const LOOK_MS = 190_000;

export type NamedPackage =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'repository'; readonly id: string; readonly version?: string };

/** What lies there under that name comes first, and what looks like a path is one. */
export async function namedPackage(noun: PackageNoun, text: string): Promise<NamedPackage> {
  const path = resolve(text);
  const isPath = text.includes('/') || text.endsWith(PACKAGE_OFFERS[noun].suffix);
  const named = isPath || (await isThere(path)) ? undefined : packageNamed(noun, text);
  return named ? { kind: 'repository', ...named } : { kind: 'path', path };
}

export interface Fetched {
  /** Absolute path on the device. */
  readonly source: string;
  readonly id: string;
  readonly version: string;
}

/** Has the device fetch it, and waits. Rejects with a Failure. */
export async function fetchPackage(
  client: ProgramClient,
  noun: PackageNoun,
  { id, version, anyway }: { readonly id: string; readonly version?: string; readonly anyway?: boolean | undefined },
  waiting: Waiting = {},
): Promise<Fetched> {
  const wanted = { id, ...(version !== undefined && { version }), ...(anyway && { anyway }) };
  const begun = await client.post(`/${PACKAGE_OFFERS[noun].channel}/fetch`, wanted, { timeoutMs: LOOK_MS });
  const { body } = await whenChanged(client, begun, waiting);
  return { source: String(body.source), id: String(body.id), version: String(body.version) };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
