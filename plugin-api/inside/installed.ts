/**
 * `<var>/plugins/installed.yaml`: plugins that were installed on the device, laid over those of the SKU. The
 * plugin-store writes it, the Core reads it before it runs anything. Files of a version lie in
 * `<var>/plugins/<id>/<version>+<hash>/` and never change.
 */

import { join } from 'node:path';
import { CoreError, reasonOf } from '../contract/errors.ts';
import type { Isolation, SkuPlugin } from '../contract/manifest.ts';
import { newerForm } from '../contract/state-form.ts';
import { readStateSync } from '../kits/durable/read.ts';
import { maybe } from '../kits/maybe.ts';
import { parseYaml, type YamlPath } from './yaml.ts';

export interface InstalledVersion {
  readonly version: string;
  /** Hash of the tree: `sha256:<hex>`. */
  readonly hash: string;
  readonly isolation: Isolation;
  readonly config: Readonly<Record<string, unknown>>;
  /** Powerful services that were granted with it; none in a file of an older Core. */
  readonly granted?: readonly string[];
}

export interface InstalledPlugin extends InstalledVersion {
  readonly enabled: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly installedAt: number;
  /** Caller who installed it and granted its claims; absent in a file of an older Core. */
  readonly installedBy?: string;
  /** Not proven yet. `starts` counts the starts of the Core that did not end in order since. */
  readonly probation?: { readonly starts: number };
  /** The last version that was proven: what a rollback of a proven one brings back. */
  readonly lastGood?: InstalledVersion;
  /** While this one is on probation: what ran before it, proven or not, as it was. It comes back when this one fails. */
  readonly former?: InstalledPlugin;
}

export interface RolledBack {
  readonly version: string;
  readonly reason: string;
  readonly at: number;
  /** Its settings, where no former version keeps separate ones: the next version gets them. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface Installed {
  readonly plugins: Readonly<Record<string, InstalledPlugin>>;
  /** By plugin, the last version that did not pass its probation. */
  readonly rolledBack: Readonly<Record<string, RolledBack>>;
  /** Plugins of the SKU that are switched off until an operator switches them on again. */
  readonly disabled: readonly string[];
}

/** A version that took the Core down this often while on probation is not run again. */
export const PROBATION_STARTS = 3;

/** Versions that ran one before the other without being proven; more are not remembered. */
const MOST_FORMER = 3;

/** Version that comes back when one on probation goes: the last one that ran, as it was. */
export function formerOf({ former, lastGood, enabled, installedAt }: InstalledPlugin): InstalledPlugin | undefined {
  return former ?? (lastGood && { ...lastGood, enabled, installedAt });
}

/** The entry with what ran before it. */
export function followedBy(
  former: InstalledPlugin,
  next: Omit<InstalledPlugin, 'former' | 'lastGood'>,
): InstalledPlugin {
  const { version, hash, isolation, config, granted, lastGood } = former;
  const proven = former.probation ? lastGood : { version, hash, isolation, config, ...maybe({ granted }) };
  return { ...next, former: shortened(former, MOST_FORMER), ...maybe({ lastGood: proven }) };
}

function shortened(plugin: InstalledPlugin, most: number): InstalledPlugin {
  const { former, ...rest } = plugin;
  return former && most > 1 ? { ...rest, former: shortened(former, most - 1) } : rest;
}

/** The version that runs: the newest that did not fail its probation; undefined when there is none to fall back to. */
export function liveVersion(plugin: InstalledPlugin): InstalledPlugin | undefined {
  let live: InstalledPlugin | undefined = plugin;
  while (live && (live.probation?.starts ?? 0) >= PROBATION_STARTS) live = formerOf(live);
  return live;
}

/** Every version whose files are needed. */
export function versionsOf(plugin: InstalledPlugin): readonly InstalledVersion[] {
  const { lastGood, former } = plugin;
  return [plugin, ...(lastGood ? [lastGood] : []), ...(former ? versionsOf(former) : [])];
}

/** Folder of a version below `<var>/plugins/<id>`: named by content, so that other files are always another folder. */
export function versionFolder({ version, hash }: Pick<InstalledVersion, 'version' | 'hash'>): string {
  return `${version.split('+')[0]}+${hash.slice('sha256:'.length, 'sha256:'.length + 12)}`;
}

export function installedFile(state: string): string {
  return join(state, 'plugins', 'installed.yaml');
}

interface Read {
  readonly installed: Installed;
  line(path: YamlPath): number;
}

/** Form of both lists: of plugins and of apps. */
export const LIST_FORM = 1;

interface ListText {
  readonly value: Readonly<Record<string, unknown>>;
  /** Ids that are switched off. */
  readonly disabled: readonly string[];
  readonly line: Read['line'];
  readonly refuse: (path: YamlPath, reason: string) => CoreError;
}

/**
 * Reads what a list of plugins and one of apps have in common; `wrong` names a damaged member of an entry. Throws
 * STATE_CORRUPT with the line, STATE_NEWER.
 */
export function openList(
  text: string,
  file: string,
  noun: 'plugin' | 'app',
  wrong: (entry: Record<string, unknown>) => string | undefined,
): ListText {
  const { value, errors, line } = parseYaml(text);
  const [broken] = errors;
  if (broken) throw new CoreError('STATE_CORRUPT', { file, reason: `line ${broken.line}: ${broken.message}` });
  const refuse = (path: YamlPath, reason: string) =>
    new CoreError('STATE_CORRUPT', { file, reason: `line ${line(path)}: ${path.join('.') || 'it'} ${reason}` });
  const newer = isMap(value) ? newerForm(file, value.format, LIST_FORM) : undefined;
  if (newer) throw newer;
  const member = `${noun}s`;
  if (!isMap(value) || value.format !== LIST_FORM || !isMap(value[member]))
    throw refuse([], `is no list of installed ${member}`);
  for (const [id, entry] of Object.entries(value[member])) {
    const part = isMap(entry) ? wrong(entry) : 'it';
    if (part) throw refuse([member, id], `is damaged in ${part}`);
  }
  const { disabled = [] } = value;
  if (!Array.isArray(disabled) || disabled.some((id) => typeof id !== 'string'))
    throw refuse(['disabled'], `is no list of ${noun} ids`);
  return { value, disabled, line, refuse };
}

/** The damaged one of the members that every version of a package has. */
export function wrongVersion({ version, hash }: Record<string, unknown>): string | undefined {
  if (typeof version !== 'string' || !/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return 'version';
  return typeof hash === 'string' && /^sha256:[0-9a-f]{64}$/.test(hash) ? undefined : 'hash';
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads the text of the file. Throws STATE_CORRUPT with the line, STATE_NEWER. */
export function parseInstalled(text: string, file: string): Read {
  const { value, disabled, line, refuse } = openList(text, file, 'plugin', wrongPlugin);
  const { plugins, rolledBack = {} } = value as unknown as Installed;
  const strange = Object.keys(plugins).find((id) => !/^[a-z][a-z0-9-]{0,39}$/.test(id));
  if (strange !== undefined) throw refuse(['plugins', strange], 'is no plugin id');
  return { installed: { plugins, rolledBack, disabled }, line };
}

function wrongMember(version: Record<string, unknown>): string | undefined {
  const { isolation, config, granted = [] } = version;
  const wrong = wrongVersion(version);
  if (wrong) return wrong;
  if (!['inline', 'worker', 'process'].includes(isolation as string)) return 'isolation';
  if (!Array.isArray(granted) || granted.some((one) => typeof one !== 'string')) return 'granted';
  return isMap(config) ? undefined : 'config';
}

function wrongPlugin(plugin: Record<string, unknown>): string | undefined {
  const { enabled, probation, lastGood, former } = plugin;
  const wrong = wrongMember(plugin);
  if (wrong) return wrong;
  if (typeof enabled !== 'boolean') return 'enabled';
  if (probation !== undefined && !(isMap(probation) && Number.isInteger(probation.starts))) return 'probation';
  if (lastGood !== undefined && (!isMap(lastGood) || wrongMember(lastGood))) return 'lastGood';
  return former === undefined || (isMap(former) && !wrongPlugin(former)) ? undefined : 'former';
}

/** Content of a list file, and its fault. */
export interface ListRead<T> {
  /** Undefined where nothing was ever installed, and where a newer Core wrote the file. */
  readonly found: T | undefined;
  /** The file that was read: it, or its last good copy. */
  readonly from: string;
  readonly problem: CoreError | undefined;
}

/** Reads a list, or its last good copy where it is damaged. Never throws. */
export function readList<T>(file: string, parse: (text: string, file: string) => T): ListRead<T> {
  let problem: CoreError | undefined;
  for (const from of [file, `${file}.last-good`]) {
    try {
      const text = readStateSync(from);
      if (text !== undefined) return { found: parse(text, from), from, problem };
      if (from === file) break; // nothing was ever installed
    } catch (error) {
      const known = error instanceof CoreError ? error : undefined;
      problem ??= known ?? new CoreError('STATE_CORRUPT', { file, reason: reasonOf(error) });
      if (known?.code !== 'STATE_NEWER') continue;
      problem = known;
      break; // what lies beside it is older than what was installed
    }
  }
  return { found: undefined, from: file, problem };
}

/** Reads the list of plugins. Nothing is installed where there is none. */
export function readInstalled(state: string): Read & { readonly file: string; readonly problem?: CoreError } {
  const { found, from, problem } = readList(installedFile(state), parseInstalled);
  const { installed, line } = found ?? {
    installed: { plugins: {}, rolledBack: {}, disabled: [] },
    line: () => 1,
  };
  return { installed, line, file: from, ...maybe({ problem }) };
}

/** A line of an installed plugin: beside the members of a SKU, what was granted to it. */
export interface InstalledLine extends SkuPlugin {
  readonly granted: readonly string[];
}

/** The lines that it adds to the SKU. A path is relative to the file. */
export function installedLines({ plugins }: Installed): Readonly<Record<string, InstalledLine>> {
  const lines: Record<string, InstalledLine> = {};
  for (const [id, plugin] of Object.entries(plugins)) {
    const live = liveVersion(plugin);
    if (!live) continue;
    const { version, isolation, config, enabled, granted = [] } = live;
    lines[id] = { version, path: `${id}/${versionFolder(live)}`, isolation, enabled, config, granted };
  }
  return lines;
}
