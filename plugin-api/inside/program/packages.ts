/** A package that the device has to fetch from its repository before it can be installed. */

import { maybe } from '../../kits/maybe.ts';
import type { ProgramClient } from '../../kits/program/client.ts';
import { type Waiting, whenChanged } from './change.ts';
import { PACKAGE_OFFERS, type PackageNoun } from './offered-package.ts';

/** The device looks into its repository before it answers. */
const LOOK_MS = 190_000;

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
  const wanted = { id, ...maybe({ version }), ...(anyway && { anyway }) };
  const begun = await client.post(`/${PACKAGE_OFFERS[noun].channel}/fetch`, wanted, { timeoutMs: LOOK_MS });
  const { body } = await whenChanged(client, begun, waiting);
  return { source: String(body.source), id: String(body.id), version: String(body.version) };
}
