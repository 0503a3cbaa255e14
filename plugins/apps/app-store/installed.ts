/** `installed.yaml`, the one truth about apps that were installed: what is in it, and how it is read. Pure. */

import { maybe } from '@device-core/plugin-api';
import { isMap, openList, wrongVersion } from '@device-core/plugin-api/inside/installed';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import type { ListKind } from '../shared/package-store/list-file.ts';

export interface AppVersion {
  readonly version: string;
  /** `sha256:<hex>` of the list of its files. */
  readonly hash: string;
  readonly name: string;
  /** `data.version` of its manifest; 0 where it says nothing. */
  readonly dataVersion: number;
  /** Fingerprint of the trusted key that signed it. */
  readonly signer?: string;
}

/** Former version, with its data. */
export interface FormerVersion extends AppVersion {
  /** The answers of the owner as they were. */
  readonly consents: readonly Consent[];
  /** When its data were copied to `before/<version>`; absent where the form of the data did not change. */
  readonly copiedAt?: number;
}

export interface AppEntry extends AppVersion {
  /** Milliseconds since the Unix epoch. Names this installation. */
  readonly installedAt: number;
  readonly former?: FormerVersion;
  /** Its data have this older form until it was ready once. */
  readonly dataFrom?: number;
  /** Before it runs its data are to be those of `before/<version>`; `none`: it begins without. */
  readonly restore?: string;
}

export interface RolledBack {
  readonly version: string;
  readonly reason: string;
  readonly at: number;
}

/** Data of an app that was removed. */
export interface Retained {
  readonly version: string;
  readonly dataVersion: number;
  readonly signer?: string;
  readonly until: number;
}

export interface Installed {
  readonly apps: Readonly<Record<string, AppEntry>>;
  /** Ids of apps that nobody may start, those of the image among them. */
  readonly disabled: readonly string[];
  /** By app, the last version that did not pass its probation. */
  readonly rolledBack: Readonly<Record<string, RolledBack>>;
  readonly retained: Readonly<Record<string, Retained>>;
  /** By app, for good. */
  readonly uids: Readonly<Record<string, number>>;
  /** No user id below it is given away, unless all above are taken. */
  readonly nextUid: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Other users go through it to the code of their app. */
export const PASSAGE = 0o711;

export const APP_LIST: ListKind<Installed> = {
  noun: 'app',
  head: '# Written by the Core: apps that were installed on this device. Change it with devicectl app.\n',
  nothing: { apps: {}, disabled: [], rolledBack: {}, retained: {}, uids: {}, nextUid: 0 },
  mode: PASSAGE,
  lost: 'no app that was installed is known any more',
  parse: parseInstalled,
};

export function versionOf({ version, hash, name, dataVersion, signer }: AppVersion): AppVersion {
  return { version, hash, name, dataVersion, ...maybe({ signer }) };
}

/** Versions whose code is needed. */
export function versionsOf({ former, ...live }: AppEntry): readonly AppVersion[] {
  return former ? [live, former] : [live];
}

/** The memory of an app whose data stay for a while. */
export function retainedOf({ version, dataVersion, signer }: AppEntry, now: number, days: number): Retained {
  return { version, dataVersion, until: now + days * DAY_MS, ...maybe({ signer }) };
}

/** Reads the text of the file. Throws STATE_CORRUPT with the line, STATE_NEWER. */
export function parseInstalled(text: string, file: string): Installed {
  const { value, disabled, refuse } = openList(text, file, 'app', wrongEntry);
  const { rolledBack = {}, retained = {}, uids = {}, nextUid = 0 } = value;
  for (const [name, map] of Object.entries({ rolledBack, retained, uids }))
    if (!isMap(map)) throw refuse([name], 'is damaged');
  const given = Object.values(uids as object);
  if (given.some((uid) => !Number.isSafeInteger(uid)) || new Set(given).size < given.length)
    throw refuse(['uids'], 'gives a user twice, or none');
  return { apps: value.apps, disabled, rolledBack, retained, uids, nextUid } as unknown as Installed;
}

function wrongApp(version: Record<string, unknown>): string | undefined {
  const { name, dataVersion } = version;
  const wrong = wrongVersion(version);
  if (wrong) return wrong;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,39}$/.test(name)) return 'name';
  return Number.isSafeInteger(dataVersion) ? undefined : 'dataVersion';
}

function wrongEntry(entry: Record<string, unknown>): string | undefined {
  const { installedAt, former } = entry;
  const wrong = wrongApp(entry);
  if (wrong) return wrong;
  if (!Number.isFinite(installedAt)) return 'installedAt';
  if (former === undefined) return undefined;
  return isMap(former) && !wrongApp(former) && Array.isArray(former.consents) ? undefined : 'former';
}
