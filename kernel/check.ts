import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  API_VERSION,
  CoreError,
  describeCapability,
  type ErrorCode,
  HOOKS,
  type Isolation,
  type PluginDefinition,
  type PluginManifest,
  parseFilter,
  reasonOf,
  type SkuManifest,
  type SkuPlugin,
} from '@device-core/plugin-api';
import { Ajv } from 'ajv';
import semver from 'semver';
import { unknownCapability } from './capabilities.ts';
import { cyclesOf, type GraphNode, providersOf } from './graph.ts';
import { complaint, type Path, type Problem, pathOf, readManifest, type Source, shown } from './manifests.ts';

/** One plugin of a resolved SKU. */
export interface PluginEntry {
  readonly id: string;
  readonly manifest: PluginManifest;
  /** Absolute path of the module. */
  readonly main: string;
  /** It lives below plugins/ of this Core. */
  readonly tree: boolean;
  readonly isolation: Isolation;
  readonly essential: boolean;
  readonly enabled: boolean;
  /** Defaults filled in, frozen. */
  readonly config: object;
  /** Why it may not start. */
  readonly refused?: { readonly code: ErrorCode; readonly message: string };
  /** The plugin itself, where it is not to be imported. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin of any services and configuration
  readonly definition?: PluginDefinition<any, any>;
}

export interface Resolved {
  /** Absent where the SKU could not be read. */
  readonly sku?: SkuManifest;
  readonly plugins: readonly PluginEntry[];
  readonly problems: readonly Problem[];
}

/** A setting from outside the SKU, `{ plugin: 'http', key: 'port', value: 0 }`; `append` adds to a list. */
export interface Override {
  readonly plugin: string;
  readonly key: string;
  readonly value: unknown;
  readonly append?: boolean;
}

/** Services of the kernel itself, by contract version. */
export const KERNEL_SERVICES = {
  device: '1.0.0',
  grants: '1.0.0',
  'plugin-manager': '1.0.0',
  'event-bus': '1.0.0',
} as const;
const TREE = resolve(import.meta.dirname, '..');
const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

/** Reads a SKU and the manifests of its plugins and finds everything that is wrong with them. No plugin code is imported. */
export function resolveSku(file: string, overrides: readonly Override[] = []): Resolved {
  const check = new SkuCheck(overrides);
  const sku = readManifest<SkuManifest>(resolve(file), 'sku', (source, path, code, message) =>
    check.report('core', source, path, code, message),
  );
  if (!sku) return { plugins: [], problems: check.problems };
  const plugins = check.plugins(sku);
  return { sku: sku.value, plugins, problems: check.problems };
}

class SkuCheck {
  readonly problems: Problem[] = [];
  readonly #overrides: readonly Override[];

  constructor(overrides: readonly Override[]) {
    this.#overrides = overrides;
  }

  report(
    stops: Problem['stops'],
    source: Pick<Source<unknown>, 'file' | 'line'>,
    path: Path,
    code: ErrorCode,
    message: string,
    plugin?: string,
  ): void {
    const about = plugin === undefined ? {} : { plugin };
    this.problems.push({ file: shown(source.file), line: source.line(path), code, message, stops, ...about });
  }

  plugins(sku: Source<SkuManifest>): readonly PluginEntry[] {
    const { auth, simulated, plugins, grants = {} } = sku.value;
    if (auth === 'open' && !simulated) {
      this.report('core', sku, ['auth'], 'SKU_INVALID', 'auth: open is for simulated SKUs only');
    }
    for (const [app, list] of Object.entries(grants)) {
      for (const [index, capability] of list.entries()) {
        if (describeCapability(capability)) continue;
        this.report(
          'nothing',
          sku,
          ['grants', app, index],
          'CAPABILITY_UNKNOWN',
          unknownCapability(capability).message,
        );
      }
    }
    for (const { plugin } of this.#overrides) {
      if (!plugins[plugin])
        this.report(
          'nothing',
          sku,
          ['plugins'],
          'PLUGIN_NOT_FOUND',
          `a setting names plugin ${plugin}, which this SKU has not`,
        );
    }
    const entries = Object.keys(plugins)
      .sort()
      .map((id) => this.#plugin(sku, id));
    this.#graph(
      sku,
      entries.filter(({ enabled, refused }) => enabled && !refused),
    );
    return entries;
  }

  #plugin(sku: Source<SkuManifest>, id: string): PluginEntry {
    const listed = sku.value.plugins[id] ?? '*';
    const line: SkuPlugin = typeof listed === 'string' ? { version: listed } : listed;
    const at: Path = ['plugins', id];
    const tree = line.path === undefined;
    const file = tree
      ? join(TREE, 'manifests/plugins', `${id}.yaml`)
      : locate(resolve(dirname(sku.file), line.path ?? ''), id);
    const before = this.problems.length;
    const refuse = (path: Path, code: ErrorCode, message: string) =>
      this.report('plugin', sku, path, code, message, id);
    const source = existsSync(file)
      ? readManifest<PluginManifest>(file, 'plugin', (from, path, code, message) =>
          this.report('plugin', from, path, code, message, id),
        )
      : refuse(at, 'PLUGIN_NOT_FOUND', `there is no plugin ${id}: ${shown(file)} does not exist`);
    const manifest = source?.value ?? { id, version: '0.0.0', summary: 'cannot be read', api: '*', main: '.' };
    const isolation = line.isolation ?? manifest.isolation ?? (tree ? 'inline' : 'process');
    if (source) {
      this.#manifest(source, id);
      if (!semver.validRange(line.version))
        refuse([...at, 'version'], 'SKU_INVALID', `${line.version} is not a semver range`);
      else if (semver.valid(manifest.version) && !semver.satisfies(manifest.version, line.version)) {
        refuse(
          [...at, 'version'],
          'SKU_INVALID',
          `plugin ${id} is ${manifest.version}, the SKU asks for ${line.version}`,
        );
      }
      const below = LEVELS.indexOf(isolation) < LEVELS.indexOf(manifest.isolation ?? 'inline');
      const reason = below
        ? `its manifest asks for ${manifest.isolation} at least`
        : 'this Core runs plugins inline only';
      if (below || isolation !== 'inline') {
        refuse(
          [...at, 'isolation'],
          'ISOLATION_UNSUPPORTED',
          new CoreError('ISOLATION_UNSUPPORTED', { plugin: id, isolation, reason }).message,
        );
      }
    }
    const config = source ? this.#config(sku, id, manifest, structuredClone(line.config ?? {})) : {};
    const refused = this.problems.slice(before).find(({ stops }) => stops === 'plugin');
    return {
      id,
      manifest,
      main: resolve(dirname(file), manifest.main),
      tree,
      isolation,
      essential: line.essential ?? false,
      enabled: line.enabled ?? true,
      config,
      ...(refused
        ? { refused: { code: refused.code, message: `${refused.message} (${refused.file}:${refused.line})` } }
        : {}),
    };
  }

  /** What a schema cannot say about a manifest. */
  #manifest(source: Source<PluginManifest>, id: string): void {
    const { value } = source;
    const refuse = (path: Path, message: string, code: ErrorCode = 'MANIFEST_INVALID') =>
      this.report('plugin', source, path, code, message, id);
    if (value.id !== id) refuse(['id'], `the manifest is of plugin ${value.id}, not ${id}`);
    if (!semver.valid(value.version)) refuse(['version'], `${value.version} is not a semver version`);
    if (!semver.validRange(value.api)) refuse(['api'], `${value.api} is not a semver range`);
    else if (!semver.satisfies(API_VERSION, value.api)) {
      const mismatch = new CoreError('API_VERSION_MISMATCH', { plugin: id, range: value.api, version: API_VERSION });
      refuse(['api'], mismatch.message, mismatch.code);
    }
    for (const [service, version] of Object.entries(value.provides ?? {})) {
      if (!semver.valid(version)) refuse(['provides', service], `${version} is not a semver version`);
    }
    for (const section of ['requires', 'optional'] as const) {
      for (const [service, range] of Object.entries(value[section] ?? {})) {
        if (!semver.validRange(range)) refuse([section, service], `${range} is not a semver range`);
      }
    }
    const known: Readonly<Record<string, { readonly owner: string }>> = HOOKS;
    for (const [index, hook] of (value.taps ?? []).entries()) {
      if (!known[hook]) refuse(['taps', index], `there is no hook ${hook}`);
    }
    for (const [index, hook] of (value.hooks ?? []).entries()) {
      if (!known[hook]) refuse(['hooks', index], `there is no hook ${hook}`);
      else if (known[hook].owner !== id) refuse(['hooks', index], `hook ${hook} is owned by ${known[hook].owner}`);
    }
    for (const [index, capability] of (value.capabilities ?? []).entries()) {
      if (!describeCapability(capability))
        refuse(['capabilities', index], unknownCapability(capability).message, 'CAPABILITY_UNKNOWN');
    }
    for (const [index, filter] of (value.publishes ?? []).entries()) {
      try {
        parseFilter(filter);
      } catch (error) {
        refuse(['publishes', index], reasonOf(error), 'FILTER_INVALID');
      }
    }
    if (!existsSync(resolve(dirname(source.file), value.main))) refuse(['main'], `${value.main} does not exist`);
  }

  /** The configuration section with overrides and defaults, frozen. A bad one stops the Core: it would not be what the OEM asked for. */
  #config(sku: Source<SkuManifest>, id: string, manifest: PluginManifest, config: Record<string, unknown>): object {
    const at: Path = ['plugins', id, 'config'];
    for (const { plugin, key, value, append } of this.#overrides) {
      if (plugin === id) set(config, key.split('.'), value, append ?? false);
    }
    const schema = manifest.config ?? { type: 'object', additionalProperties: false };
    try {
      const ajv = new Ajv({ useDefaults: true, allErrors: true, strict: false });
      if (ajv.validate({ ...schema }, config)) return freeze(config);
      for (const error of ajv.errors ?? []) {
        const path = pathOf(error);
        const name = [id, ...path].join('.');
        this.report('core', sku, [...at, ...path], 'SKU_INVALID', `configuration ${name} ${complaint(error)}`, id);
      }
    } catch (error) {
      this.report(
        'plugin',
        sku,
        at,
        'MANIFEST_INVALID',
        `the configuration schema of ${id} does not compile: ${reasonOf(error)}`,
        id,
      );
    }
    return config;
  }

  #graph(sku: Source<SkuManifest>, entries: readonly PluginEntry[]): void {
    const nodes = [...entries.map(graphNode), { id: 'kernel', provides: Object.keys(KERNEL_SERVICES), requires: [] }];
    const providers = providersOf(nodes);
    for (const [service, [first, ...others]] of providers) {
      for (const id of others.filter((other) => other !== 'kernel')) {
        const plugin = id === first || first === undefined ? 'kernel' : first;
        this.report(
          'core',
          sku,
          ['plugins', id],
          'SERVICE_ALREADY_PROVIDED',
          `plugin ${id} provides ${service}, and so does ${plugin}`,
          id,
        );
      }
      if (others.includes('kernel') && first !== undefined) {
        this.report(
          'core',
          sku,
          ['plugins', first],
          'SERVICE_ALREADY_PROVIDED',
          `plugin ${first} provides ${service}, and so does the kernel`,
          first,
        );
      }
    }
    for (const path of cyclesOf(nodes)) {
      const message = new CoreError('DEPENDENCY_CYCLE', { path: path.join(' -> ') }).message;
      this.report('core', sku, ['plugins', path[0] ?? ''], 'DEPENDENCY_CYCLE', message, path[0]);
    }
    const versions = new Map<string, string>(Object.entries(KERNEL_SERVICES));
    for (const { manifest } of entries)
      for (const [id, version] of Object.entries(manifest.provides ?? {})) versions.set(id, version);
    for (const { id, manifest } of entries) {
      for (const [service, range] of Object.entries(manifest.requires ?? {})) {
        const version = versions.get(service);
        if (version && semver.satisfies(version, range)) continue;
        const reason = version
          ? `${providers.get(service)?.[0]} provides ${version}`
          : 'no plugin of this SKU provides it';
        const message = `plugin ${id}: ${new CoreError('SERVICE_MISSING', { service, range, reason }).message}`;
        this.report('nothing', sku, ['plugins', id], 'SERVICE_MISSING', message, id);
      }
    }
  }
}

export function graphNode({ id, manifest }: PluginEntry): GraphNode {
  return { id, provides: Object.keys(manifest.provides ?? {}), requires: Object.keys(manifest.requires ?? {}) };
}

/** The manifest of a plugin outside the tree: the file itself, or the one in the folder. */
function locate(path: string, id: string): string {
  if (!existsSync(path) || !statSync(path).isDirectory()) return path;
  const name = ['plugin.yaml', `${id}.yaml`].find((one) => readdirSync(path).includes(one));
  return join(path, name ?? 'plugin.yaml');
}

function set(
  target: Record<string, unknown>,
  [key = '', ...rest]: readonly string[],
  value: unknown,
  append: boolean,
): void {
  if (rest.length > 0) {
    const inner = target[key];
    target[key] = typeof inner === 'object' && inner !== null ? inner : {};
    set(target[key] as Record<string, unknown>, rest, value, append);
  } else target[key] = append ? [...((target[key] as unknown[] | undefined) ?? []), value] : value;
}

function freeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) freeze(member);
  return Object.freeze(value);
}
