/** `installed.yaml`, the one truth about apps that were installed: what is in it, and how it is read. Pure. */

import { CoreError, newerForm } from '@device-core/plugin-api';
import { parseYaml, type YamlPath } from '@device-core/plugin-api/kits/yaml';
import type { Consent } from '@device-core/plugin-api/services/prompts';

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

/** What ran before, with what belongs to it. */
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

export const FORM = 1;
export const NOTHING: Installed = { apps: {}, disabled: [], rolledBack: {}, retained: {}, uids: {}, nextUid: 0 };

export function versionOf({ version, hash, name, dataVersion, signer }: AppVersion): AppVersion {
  return { version, hash, name, dataVersion, ...(signer === undefined ? {} : { signer }) };
}

/** Versions whose code is needed. */
export function versionsOf({ former, ...live }: AppEntry): readonly AppVersion[] {
  return former ? [live, former] : [live];
}

/** A copy without this member, or with another value for it. */
export function without<T>(members: Readonly<Record<string, T>>, id: string, instead?: T): Readonly<Record<string, T>> {
  const { [id]: _, ...others } = members;
  return instead === undefined ? others : { ...others, [id]: instead };
}

/** Reads the text of the file. Throws STATE_CORRUPT with the line, STATE_NEWER. */
export function parseInstalled(text: string, file: string): Installed {
  const { value, errors, line } = parseYaml(text);
  const [broken] = errors;
  if (broken) throw new CoreError('STATE_CORRUPT', { file, reason: `line ${broken.line}: ${broken.message}` });
  const refuse = (path: YamlPath, reason: string) =>
    new CoreError('STATE_CORRUPT', { file, reason: `line ${line(path)}: ${path.join('.') || 'it'} ${reason}` });
  const newer = isMap(value) ? newerForm(file, value.format, FORM) : undefined;
  if (newer) throw newer;
  if (!isMap(value) || value.format !== FORM || !isMap(value.apps)) throw refuse([], 'is no list of installed apps');
  for (const [id, app] of Object.entries(value.apps)) {
    const wrong = isMap(app) ? (wrongVersion(app) ?? wrongEntry(app)) : 'it';
    if (wrong) throw refuse(['apps', id], `is damaged in ${wrong}`);
  }
  const { disabled = [], rolledBack = {}, retained = {}, uids = {}, nextUid = 0 } = value;
  if (!Array.isArray(disabled) || disabled.some((id) => typeof id !== 'string'))
    throw refuse(['disabled'], 'is no list of app ids');
  for (const [name, map] of Object.entries({ rolledBack, retained, uids }))
    if (!isMap(map)) throw refuse([name], 'is damaged');
  const given = Object.values(uids as object);
  if (given.some((uid) => !Number.isSafeInteger(uid)) || new Set(given).size < given.length)
    throw refuse(['uids'], 'gives a user twice, or none');
  return { apps: value.apps, disabled, rolledBack, retained, uids, nextUid } as unknown as Installed;
}

function wrongVersion({ version, hash, name, dataVersion }: Record<string, unknown>): string | undefined {
  if (typeof version !== 'string' || !/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return 'version';
  if (typeof hash !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(hash)) return 'hash';
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,39}$/.test(name)) return 'name';
  return Number.isSafeInteger(dataVersion) ? undefined : 'dataVersion';
}

function wrongEntry({ installedAt, former }: Record<string, unknown>): string | undefined {
  if (!Number.isFinite(installedAt)) return 'installedAt';
  if (former === undefined) return undefined;
  return isMap(former) && !wrongVersion(former) && Array.isArray(former.consents) ? undefined : 'former';
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
