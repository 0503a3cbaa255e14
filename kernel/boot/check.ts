import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  CoreError,
  describeCapability,
  didYouMean,
  type ErrorCode,
  type Isolation,
  maybe,
  type PluginManifest,
  type ProgramDeclaration,
  type SkuManifest,
  type SkuPlugin,
  unknownCapability,
} from '@device-core/plugin-api';
import { type InstalledLine, installedLines, readInstalled } from '@device-core/plugin-api/inside/installed';
import { manifestProblems } from '@device-core/plugin-api/inside/manifest-check';
import { foreignNames, reservedNames } from '@device-core/plugin-api/inside/own-names';
import { readPluginSettings } from '@device-core/plugin-api/inside/plugin-settings';
import type { PluginSettings } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { SkuFamily, SkuPlace } from '@device-core/plugin-api/inside/sku-family';
import { manifestInTree, treeAliases, treeManifests } from '@device-core/plugin-api/inside/tree';
import { isRange, isVersion, satisfies } from '@device-core/plugin-api/inside/versions';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import { provideDenied, useDenied } from '../isolation/border.ts';
import type { PluginEntry, Problem, Resolve, Resolved } from '../resolved.ts';
import type { Setting } from './arguments.ts';
import { checkFlags } from './flags.ts';
import { deepFreeze } from './freeze.ts';
import { type LaidOver, LineConfiguration } from './line-configuration.ts';
import { readManifest, readSku, type Source, shown, topOf } from './manifests.ts';
import { PluginSet } from './plugin-set.ts';
import { isolationProblem, manifestOf, type Report, shareOf, withHeaps } from './sku-line.ts';

/** Lists of plugins: the SKU, or the installed ones of the device. */
type Lines = Source<Pick<SkuManifest, 'plugins'>>;

const TREE = resolve(import.meta.dirname, '../..');
const SAFE_MODE = 'safe-mode';

/**
 * Reads a SKU, the plugins that were installed below `state`, and all manifests, and collects their problems. No plugin
 * code is imported. An installed plugin never replaces one of the SKU, and never stops the Core.
 *
 * A start is lenient: as much of a device as can comes up. A change of one that runs is not: see `Resolve`.
 *
 * `saved` is the SKU of the device that safe mode saves: the lines that it lists in `safeMode` come with their configuration.
 */
export function resolveSku(
  file: string,
  settings: readonly Setting[] = [],
  state?: string,
  change?: Parameters<Resolve>[0],
  saved?: string,
): Resolved {
  const check = new SkuCheck(settings);
  const kept = change?.installed ? change.running.source : undefined;
  const sku =
    kept ?? readSku(resolve(file), (place, path, code, message) => check.report('core', place, path, code, message));
  if (!sku) return { file: resolve(file), plugins: [], problems: check.problems };
  const plugins = check.plugins(sku, state, saved);
  if (change) check.holdAgainst(change.running, plugins);
  check.problems.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  const { problems, given } = check;
  return { file: resolve(file), sku: sku.value, source: sku, plugins, problems, settings: settingsOf(plugins, given) };
}

/** Without its line, which moves with every edit above it. */
const nameOf = ({ file, code, message }: Problem) => `${file} ${code} ${message}`;

class SkuCheck {
  readonly problems: Problem[] = [];
  readonly #tree = treeManifests(TREE);
  readonly #lines = new Map<string, Lines>();
  /** Problems of plugins that miss one that the operator switched off: they are intended. */
  readonly #meant = new Set<string>();
  #sku: Lines | undefined;
  #simulated = false;
  /** Lines of plugins that were installed on the device. */
  #overlaid: Lines | undefined;
  #disabled: readonly string[] = [];
  #over: LaidOver;
  /** Manifests by plugin, of those that declare feature flags. */
  readonly #flags = new Map<string, SkuPlace>();
  /** Configuration in the line of each plugin. */
  readonly given = new Map<string, Readonly<Record<string, unknown>>>();

  constructor(settings: readonly Setting[]) {
    this.#over = { settings, overrides: {}, overridden: topOf('') };
  }

  readonly report: Report = (wouldStop, place, path, code, message, plugin) => {
    const about = plugin === undefined ? {} : { plugin };
    const stops = wouldStop === 'core' && plugin && this.#installed(plugin) ? 'plugin' : wouldStop;
    const { file, line } = place.at(path);
    const problem: Problem = { file: shown(file), line, code, message, stops, ...about };
    this.problems.push(problem);
    return problem;
  };

  plugins(sku: SkuFamily, state?: string, saved?: string): readonly PluginEntry[] {
    const { auth, simulated, plugins, grants = {}, safeMode = [] } = sku.value;
    if (auth === 'open' && !simulated) {
      this.report('core', sku, ['auth'], 'SKU_INVALID', 'auth: open is for simulated SKUs only');
    }
    for (const [app, list] of Object.entries(grants)) {
      for (const [index, capability] of list.entries()) {
        if (describeCapability(capability)) continue;
        const { code, message } = unknownCapability(capability);
        this.report('nothing', sku, ['grants', app, index], code, message);
      }
    }
    for (const [index, id] of safeMode.entries()) {
      if (plugins[id] !== undefined) continue;
      const message = `safe mode is to keep ${id}, but this SKU has no plugin ${id}${didYouMean(id, Object.keys(plugins))}`;
      this.report('nothing', sku, ['safeMode', index], 'PLUGIN_NOT_FOUND', message);
    }
    this.#sku = sku;
    this.#simulated = simulated === true;
    for (const id of Object.keys(plugins)) this.#lines.set(id, sku);
    if (state !== undefined) this.#overlay(state);
    if (saved !== undefined) this.#keep(saved);
    for (const { plugin, key } of this.#over.settings) {
      if (this.#lines.has(plugin)) continue;
      const message = `${plugin}.${key} is set, but this SKU has no plugin ${plugin}${didYouMean(plugin, this.#lines.keys())}`;
      // Safe mode leaves plugins out, and is to start with the command line of the device that it saves.
      this.report(sku.value.id === SAFE_MODE ? 'nothing' : 'core', sku, ['plugins'], 'PLUGIN_NOT_FOUND', message);
    }
    const entries = [...this.#lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, lines]) => this.#plugin(lines, id));
    const able = () => entries.filter(({ id, enabled }) => enabled && !this.#refusal(id).refused);
    const set = new PluginSet({
      root: TREE,
      tree: this.#tree,
      removed: sku.removed,
      disabled: this.#disabled,
      given: this.given,
      report: this.report,
      line: (id) => this.#lines.get(id)!,
      installed: (id) => this.#installed(id),
    });
    set.providers(able());
    const declarers = able().flatMap((entry) => {
      const place = this.#flags.get(entry.id);
      return place ? [{ entry, place, installed: this.#installed(entry.id) }] : [];
    });
    checkFlags(sku, declarers, (place, path, message, plugin) =>
      this.report('plugin', place, path, place === sku ? 'SKU_INVALID' : 'MANIFEST_INVALID', message, plugin),
    );
    for (const problem of set.services(able(), entries)) this.#meant.add(nameOf(problem));
    set.names(able());
    return withHeaps(entries).map((entry) => ({ ...entry, ...this.#refusal(entry.id) }));
  }

  /** Refuses a change for each new problem, even one that stops no start, and for the loss of an essential plugin. */
  holdAgainst(running: Resolved, plugins: readonly PluginEntry[]): void {
    const known = new Set(running.problems.map(nameOf));
    for (const [index, problem] of this.problems.entries()) {
      if (!known.has(nameOf(problem)) && !this.#meant.has(nameOf(problem)))
        this.problems[index] = { ...problem, stops: 'core' };
    }
    for (const { id, essential, enabled } of running.plugins) {
      if (!essential || !enabled || plugins.some((one) => one.id === id && one.enabled)) continue;
      const instead = 'take "essential" from its line first, or start the Core with this SKU';
      const message = `plugin ${id} is essential to the device that runs, and would be gone; ${instead}`;
      this.report('core', this.#sku!, ['plugins', id], 'SKU_INVALID', message, id);
    }
  }

  #installed(id: string): boolean {
    return (this.#lines.get(id) ?? this.#sku) !== this.#sku;
  }

  #overlay(state: string): void {
    const { installed, file, line, problem } = readInstalled(state);
    const at = (path: YamlPath) => ({ file, line: line(path) });
    const lines: Lines = { file, at, value: { plugins: installedLines(installed) } };
    this.#overlaid = lines;
    if (problem) this.report('nothing', lines, [], problem.code, problem.message);
    this.#disabled = installed.disabled;
    const settings = readPluginSettings(state);
    const overridden = topOf(settings.file);
    this.#over = { ...this.#over, overrides: settings.overrides, overridden };
    if (settings.problem) this.report('nothing', overridden, [], settings.problem.code, settings.problem.message);
    for (const id of Object.keys(lines.value.plugins)) {
      if (!this.#lines.has(id)) this.#lines.set(id, lines);
      else this.report('nothing', lines, ['plugins', id], 'PLUGIN_CONFLICT', `${id} of the SKU is used instead`);
    }
  }

  /** Keeps the plugins that the normal SKU lists for safe mode. Its problems stop nothing, and none of its plugins is essential here. */
  #keep(file: string): void {
    const tell = (place: SkuPlace, path: YamlPath, code: ErrorCode, text: string) =>
      this.report('nothing', place, path, code, `safe mode keeps nothing of the SKU: ${text}`);
    const source = readSku(file, tell);
    if (!source) return;
    const { plugins, safeMode = [] } = source.value;
    const lines: Lines = { ...source, value: { plugins: Object.fromEntries(safeMode.flatMap(kept)) } };
    for (const id of Object.keys(lines.value.plugins)) if (!this.#lines.has(id)) this.#lines.set(id, lines);

    function kept(id: string): [string, SkuPlugin][] {
      const line = plugins[id];
      return line === undefined
        ? []
        : [[id, { ...(typeof line === 'string' ? { version: line } : line), essential: false }]];
    }
  }

  /** Why a plugin may not start, once everything about it was asked. */
  #refusal(id: string): Pick<PluginEntry, 'refused'> {
    const found = this.problems.find(({ stops, plugin }) => stops === 'plugin' && plugin === id);
    return found ? { refused: { code: found.code, message: `${found.message} (${found.file}:${found.line})` } } : {};
  }

  #plugin(sku: Lines, id: string): PluginEntry {
    const listed = sku.value.plugins[id] ?? '*';
    const line: SkuPlugin = typeof listed === 'string' ? { version: listed } : listed;
    const tree = line.path === undefined;
    const file = manifestOf(line.path === undefined ? this.#inTree(id) : resolve(dirname(sku.file), line.path));
    const source = this.#manifest(sku, id, file);
    const alias = tree ? treeAliases(TREE).get(id) : undefined;
    const manifest = (alias && source ? { ...source.value, id } : source?.value) ?? {
      id,
      version: '0.0.0',
      summary: 'cannot be read',
      api: '*',
      main: '.',
    };
    const isolation = line.isolation ?? manifest.isolation ?? (tree ? 'inline' : 'process');
    const share = shareOf(line, manifest, isolation);
    this.given.set(id, deepFreeze(structuredClone(line.config ?? {})));
    const config = structuredClone({ ...alias?.config, ...line.config });
    if (line.essential === true && line.enabled === false) {
      const message = `plugin ${id} is essential and switched off; take "essential" from its line, or "enabled: false"`;
      this.report('nothing', sku, ['plugins', id, 'enabled'], 'SKU_INVALID', message, id);
    }
    if (line.share && share === undefined) {
      const message = `plugin ${id} shares worker ${line.share}, and runs at level ${isolation}; say isolation: worker`;
      this.report('plugin', sku, ['plugins', id, 'share'], 'SKU_INVALID', message, id);
    }
    if (source) {
      this.#fits(sku, id, line.version, isolation, manifest);
      new LineConfiguration(manifest, id, this.#over, this.report).complete(sku, config, tree ? 'tree' : 'outside');
    }
    const entry = {
      id,
      manifest,
      main: resolve(dirname(file), manifest.main),
      tree,
      isolation,
      config,
      ...('granted' in line && { granted: (line as InstalledLine).granted }),
      ...(sku === this.#overlaid && { installed: true as const }),
      ...(share !== undefined && { share: { name: share, heapMB: 0 } }),
      ...(manifest.programs && { programs: manifest.programs.map((one) => programOf(file, one)) }),
      budget: { ...manifest.budget, ...line.budget },
      essential: line.essential ?? false,
      enabled: (line.enabled ?? true) && !this.#disabled.includes(id),
    };
    if (source) this.#border(source, entry);
    return entry;
  }

  /** A guest does not start where it cannot have what it needs; the border itself denies what it asks for while it runs. */
  #border(source: Source<PluginManifest>, entry: PluginEntry): void {
    const { id, manifest } = entry;
    for (const section of ['requires', 'provides'] as const)
      for (const service of Object.keys(manifest[section] ?? {})) {
        const denial = section === 'requires' ? useDenied(entry, service, () => true) : provideDenied(entry, service);
        if (!denial) continue;
        const error = new CoreError('SERVICE_DENIED', { plugin: id, service, ...denial });
        this.report('plugin', source, [section, service], error.code as ErrorCode, error.message, id);
      }
  }

  #inTree(id: string): string {
    return manifestInTree(TREE, id, this.#tree) ?? join(TREE, 'manifests/plugins', '<wing>', `${id}.yaml`);
  }

  #manifest(sku: Lines, id: string, file: string): Source<PluginManifest> | undefined {
    if (!existsSync(file)) {
      const near = this.#tree.has(id) ? '' : didYouMean(id, this.#tree.keys());
      const message = `there is no plugin ${id}${near || `: ${shown(file)} does not exist`}`;
      this.report('plugin', sku, ['plugins', id], 'PLUGIN_NOT_FOUND', message, id);
      return undefined;
    }
    const refuse = (place: SkuPlace, path: YamlPath, code: ErrorCode, message: string) =>
      this.report('plugin', place, path, code, message, id);
    const source = readManifest<PluginManifest>(file, 'plugin', refuse);
    if (!source) return undefined;
    const { value } = source;
    const meant = file === manifestInTree(TREE, id, this.#tree) ? basename(file, '.yaml') : id;
    if (value.id !== meant)
      refuse(source, ['id'], 'MANIFEST_INVALID', `the manifest is of plugin ${value.id}, not ${meant}`);
    if (value.flags) this.#flags.set(id, source);
    const foreign = sku === this.#overlaid ? foreignNames(value, reservedNames(TREE)) : [];
    for (const { path, code, message } of [...manifestProblems(value), ...foreign]) refuse(source, path, code, message);
    if (!existsSync(resolve(dirname(file), value.main)))
      refuse(source, ['main'], 'MANIFEST_INVALID', `${value.main} does not exist`);
    for (const [index, { main }] of (value.programs ?? []).entries()) {
      if (existsSync(resolve(dirname(file), main))) continue;
      refuse(source, ['programs', index, 'main'], 'MANIFEST_INVALID', `${main} does not exist`);
    }
    return source;
  }

  /** Is the plugin what the SKU asks for, and can it run where the SKU wants it? */
  #fits(sku: Lines, id: string, range: string, isolation: Isolation, manifest: PluginManifest): void {
    const { version } = manifest;
    const refuse = (member: string, code: ErrorCode, message: string) =>
      this.report('plugin', sku, ['plugins', id, member], code, message, id);
    if (!isRange(range)) refuse('version', 'SKU_INVALID', `${range} is not a semver range`);
    else if (isVersion(version) && !satisfies(version, range)) {
      refuse('version', 'SKU_INVALID', `plugin ${id} is ${version}, the SKU asks for ${range}`);
    }
    if (manifest.simulated && !this.#simulated) {
      const message = `plugin ${id} is for simulated SKUs only; take its line out, or say simulated: true`;
      this.report('core', sku, ['plugins', id], 'SKU_INVALID', message, id);
    }
    const reason = isolationProblem(manifest, isolation);
    if (reason === undefined) return;
    const error = new CoreError('ISOLATION_UNSUPPORTED', { plugin: id, isolation, reason });
    refuse('isolation', error.code, error.message);
  }
}

function settingsOf(
  plugins: readonly PluginEntry[],
  given: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
): readonly PluginSettings[] {
  return plugins.map(({ id, manifest, config, enabled, refused }) => ({
    id,
    summary: manifest.summary,
    given: given.get(id) ?? {},
    inForce: { ...config },
    ...maybe({ schema: manifest.config }),
    ...(manifest.flags && enabled && !refused && { flags: manifest.flags }),
  }));
}

function programOf(manifest: string, program: ProgramDeclaration): ProgramDeclaration {
  return { ...program, main: resolve(dirname(manifest), program.main) };
}
