/** Does a plugin fit among those that are there? */
import { fileURLToPath } from 'node:url';
import { CoreError, type Isolation, type PluginManifest } from '@device-core/plugin-api';
import { foreignNames, looksLike, reservedNames } from '@device-core/plugin-api/inside/own-names';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { type PluginStatus, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { processes } from '@device-core/plugin-api/inside/services/processes';
import { manifestInTree, treeManifests } from '@device-core/plugin-api/inside/tree';
import { satisfies } from '@device-core/plugin-api/inside/versions';
import { device } from '@device-core/plugin-api/services/device';
import { LEVELS } from './claims.ts';

const KERNEL = new Map([device, eventBus, grants, pluginManager, processes].map(({ id, version }) => [id, version]));
const RESERVED: readonly string[] = ['core', 'kernel', 'operator', 'plugin', 'app', 'anonymous'];
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));
const TREE = treeManifests(CHECKOUT);

export interface Surroundings {
  /** Every plugin of the running set. */
  readonly running: readonly PluginStatus[];
  /** Ids that were installed on the device. */
  readonly installed: ReadonlySet<string>;
  /** The least that the SKU allows. */
  readonly leastIsolation: Isolation;
}

/** Throws PLUGIN_CONFLICT, SERVICE_ALREADY_PROVIDED, SERVICE_MISSING, ISOLATION_UNSUPPORTED. */
export function checkFit(manifest: PluginManifest, isolation: Isolation, around: Surroundings): void {
  const { id, provides = {}, requires = {} } = manifest;
  const others = around.running.filter((one) => one.id !== id);
  checkName(id, around);
  const [foreign] = foreignNames(manifest, reservedNames(CHECKOUT));
  if (foreign) {
    const reason = `${foreign.message} (${foreign.path.join('.')} in plugin.yaml)`;
    throw new CoreError('PLUGIN_CONFLICT', { verb: 'install', plugin: id, reason });
  }
  checkIsolation(manifest, isolation, around.leastIsolation);
  for (const service of Object.keys(provides)) {
    const other = KERNEL.has(service) ? 'the kernel' : others.find((one) => service in one.provides)?.id;
    if (other) throw new CoreError('SERVICE_ALREADY_PROVIDED', { service, plugin: other });
  }
  for (const [service, range] of Object.entries(requires)) {
    const provider = others.find((one) => service in one.provides);
    const version = KERNEL.get(service) ?? provider?.provides[service];
    if (version !== undefined && satisfies(version, range)) continue;
    const reason =
      version === undefined ? 'no plugin provides it' : `${provider?.id ?? 'the kernel'} provides ${version}`;
    throw new CoreError('SERVICE_MISSING', { service, range, reason });
  }
  checkDependents(id, `install ${manifest.version} of`, provides, around);
}

/** Throws PLUGIN_CONFLICT when plugins need a service that would be gone. */
export function checkDependents(
  id: string,
  verb: string,
  provides: Readonly<Record<string, string>>,
  { running }: Pick<Surroundings, 'running'>,
): void {
  const given = Object.keys(running.find((one) => one.id === id)?.provides ?? {});
  for (const other of running) {
    if (other.id === id || other.state === 'stopped') continue;
    for (const service of given) {
      const range = other.requires[service];
      const version = provides[service];
      if (range === undefined || (version !== undefined && satisfies(version, range))) continue;
      const reason = `plugin ${other.id} needs its service ${service} ${range}`;
      throw new CoreError('PLUGIN_CONFLICT', { verb, plugin: id, reason });
    }
  }
}

function checkName(id: string, { running, installed }: Surroundings): void {
  const refuse = (reason: string) => new CoreError('PLUGIN_CONFLICT', { verb: 'install', plugin: id, reason });
  if (RESERVED.includes(id)) throw refuse('the name is reserved');
  if (isOfTree(id)) throw refuse('a plugin of the Core has this id');
  if (!installed.has(id) && running.some((one) => one.id === id)) throw refuse('a plugin of the SKU has this id');
  const near = [...TREE.keys(), ...running.map((one) => one.id), ...installed].find(
    (other) => other !== id && looksLike(other) === looksLike(id),
  );
  if (near !== undefined) throw refuse(`its id looks like that of plugin ${near}`);
}

/** Is it a plugin that comes with the Core, whether this SKU has it or not? */
export function isOfTree(id: string): boolean {
  return manifestInTree(CHECKOUT, id, TREE) !== undefined;
}

function checkIsolation(
  { id, isolation: floor = 'inline' }: PluginManifest,
  isolation: Isolation,
  least: Isolation,
): void {
  const refuse = (reason: string) => new CoreError('ISOLATION_UNSUPPORTED', { plugin: id, isolation, reason });
  const below = (one: Isolation) => LEVELS.indexOf(isolation) < LEVELS.indexOf(one);
  if (below(floor)) throw refuse(`its manifest asks for ${floor} at least`);
  if (below(least)) throw refuse(`this device runs installed plugins at level ${least} at least`);
}
