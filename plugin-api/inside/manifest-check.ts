/** Rules for a plugin manifest beyond its schema; the Core and checkManifest() share them. Pure. */
import { describeCapability, unknownCapability } from '../contract/capabilities.ts';
import { CoreError, type ErrorCode, reasonOf } from '../contract/errors.ts';
import { flagFault } from '../contract/flag-declaration.ts';
import { HOOKS } from '../contract/hooks.ts';
import type { PluginManifest } from '../contract/manifest.ts';
import type { PluginPage } from '../contract/plugin-page.ts';
import { parseFilter } from '../contract/topics.ts';
import { API_VERSION } from '../contract/version.ts';
import { isRange, isVersion, satisfies } from './versions.ts';

export {
  isLive,
  isLiveChange,
  isSkuOnly,
  LIVE,
  PLAIN_TEXT,
  SCHEMA_WORDS,
  SKU_ONLY,
  textFault,
  UNIQUE_ITEM_PROPERTIES,
} from './schema-words.ts';

export interface ManifestProblem {
  /** Path in the manifest. */
  readonly path: readonly (string | number)[];
  readonly code: ErrorCode;
  readonly message: string;
}

/** Versions and ranges, hooks that exist and belong to it, capabilities, topic filters. Empty when all is well. */
export function manifestProblems(manifest: PluginManifest): readonly ManifestProblem[] {
  const { id, version, api } = manifest;
  const problems: ManifestProblem[] = [];
  const report = (path: ManifestProblem['path'], message: string, code: ErrorCode = 'MANIFEST_INVALID') =>
    problems.push({ path, code, message });

  if (!isVersion(version)) report(['version'], `${version} is not a semver version`);
  if (!isRange(api)) report(['api'], `${api} is not a semver range`);
  else if (!satisfies(API_VERSION, api)) {
    const mismatch = new CoreError('API_VERSION_MISMATCH', { plugin: id, range: api, version: API_VERSION });
    report(['api'], mismatch.message, mismatch.code);
  }
  for (const [service, provided] of Object.entries(manifest.provides ?? {})) {
    if (!isVersion(provided)) report(['provides', service], `${provided} is not a semver version`);
  }
  for (const section of ['requires', 'optional'] as const) {
    for (const [service, range] of Object.entries(manifest[section] ?? {})) {
      if (!isRange(range)) report([section, service], `${range} is not a semver range`);
    }
  }
  const hooks: Readonly<Record<string, { readonly owner: string }>> = HOOKS;
  for (const [index, hook] of (manifest.taps ?? []).entries()) {
    if (!hooks[hook]) report(['taps', index], `there is no hook ${hook}`);
  }
  for (const [index, hook] of (manifest.hooks ?? []).entries()) {
    if (!hooks[hook]) report(['hooks', index], `there is no hook ${hook}`);
    else if (hooks[hook].owner !== id) report(['hooks', index], `hook ${hook} is owned by ${hooks[hook].owner}`);
  }
  for (const [index, capability] of (manifest.capabilities ?? []).entries()) {
    if (describeCapability(capability)) continue;
    report(['capabilities', index], unknownCapability(capability).message, 'CAPABILITY_UNKNOWN');
  }
  for (const [index, filter] of (manifest.publishes ?? []).entries()) {
    try {
      parseFilter(filter);
    } catch (error) {
      report(['publishes', index], reasonOf(error), 'FILTER_INVALID');
    }
  }
  const programs = new Set<string>();
  for (const [index, { command, aliases = [], main: module }] of (manifest.programs ?? []).entries()) {
    for (const words of [command, ...aliases]) {
      if (programs.has(words)) report(['programs', index], `the command ${words} is declared twice`);
      programs.add(words);
    }
    // Only code that the operator took with the plugin runs.
    if (!isBelow(manifest.main, module)) report(['programs', index, 'main'], `${module} is not in the folder of main`);
  }
  for (const [file, { reads, writes }] of Object.entries(manifest.state ?? {}))
    if (!reads.includes(writes)) report(['state', file], `form ${writes} is written and cannot be read`);
  for (const [name, declared] of Object.entries(manifest.flags ?? {})) {
    const fault = flagFault(name, declared);
    if (fault) report(['flags', name, ...fault.path], fault.message);
  }
  pageProblems(manifest.pages ?? [], (path, message) => report(['pages', ...path], message));
  return problems;
}

const SHOWS = ['values', 'chart', 'table'] as const;

function pageProblems(
  pages: readonly PluginPage[],
  report: (path: ManifestProblem['path'], message: string) => void,
): void {
  const ids = new Set<string>();
  for (const [at, { id, panels }] of pages.entries()) {
    if (ids.has(id)) report([at, 'id'], `the page ${id} is declared twice`);
    ids.add(id);
    for (const [index, panel] of panels.entries()) {
      const shows = SHOWS.filter((one) => panel[one] !== undefined);
      const place = [at, 'panels', index];
      if (shows.length > 0 && !panel.from) report(place, `the panel shows ${shows.join(', ')}, and says not from what`);
      if (panel.from && shows.length === 0) report(place, 'the panel has a source, and shows nothing of it');
      if (shows.length === 0 && !panel.text && !panel.buttons && !panel.form) report(place, 'the panel is empty');
      try {
        for (const topic of [panel.from?.event ?? [], panel.from?.after ?? []].flat()) parseFilter(topic);
      } catch (error) {
        report(place, reasonOf(error));
      }
    }
  }
}

/** Both relative to the manifest: does `module` lie in the folder of `main` or below? */
function isBelow(main: string, module: string): boolean {
  const parts = (path: string) => path.split('/').filter((part) => part !== '.' && part !== '');
  const folder = parts(main).slice(0, -1);
  const rest = parts(module);
  return folder.every((part, at) => rest[at] === part) && !rest.slice(folder.length).includes('..');
}
