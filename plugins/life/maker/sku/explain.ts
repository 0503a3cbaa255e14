import { readFileSync } from 'node:fs';
import { maybe, nearest, type PluginManifest } from '@device-core/plugin-api';
import type { SkuSpot } from '@device-core/plugin-api/inside/sku-family';
import { manifestInTree, treeManifests } from '@device-core/plugin-api/inside/tree';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { cell, defineProgram, EXIT, Failure, type ProgramOutput } from '@device-core/plugin-api/program';
import { hidden } from './hidden.ts';
import { type Need, needsOf, type Offer, offersOf, waitingWithout } from './needs.ts';
import {
  CHECKOUT,
  placeOf,
  providersOf,
  type ResolvedPlugin,
  type ResolvedSku,
  readableSku,
  shownFile,
} from './resolved.ts';
import { namesOf, type Value, valueNamed } from './values.ts';

interface Args {
  readonly file: string;
  readonly what: string;
}

/** `devicectl sku explain` */
export const program = defineProgram<Args>({
  description:
    'Why a plugin, a service or a setting is as it is: who needs it, who provides it, and which line of which file says so.',
  params: {
    type: 'object',
    required: ['file', 'what'],
    properties: {
      file: { type: 'string', description: 'of the SKU' },
      what: { type: 'string', description: 'a plugin, a service, or a setting: voice, audio-device, voice.language' },
    },
  },
  cli: { fixed: ['file', 'what'] },
  async complete(param, { args }) {
    if (param !== 'what' || args.file === undefined) return [];
    return wordsOf(readableSku(args.file).resolved);
  },
  async run({ out, args }) {
    const { resolved, problems } = readableSku(args.file);
    const found = hidden(explained(resolved, args.what));
    if (out.json) return out.line(JSON.stringify({ ok: true, what: args.what, ...found }));
    if (found.plugin) await told(out, found.plugin);
    if (found.removed) await toldRemoved(out, found.removed);
    if (found.service) await toldService(out, found.service);
    if (found.value) await toldValue(out, found.value);
    if (found.absent) await toldAbsent(out, found.absent);
    if (problems.length > 0)
      await out.line(
        `\n${out.paint('yellow', `the SKU has ${problems.length} problems`)}: devicectl sku check ${args.file}`,
      );
  },
});

interface PluginFacts
  extends Pick<ResolvedPlugin, 'id' | 'version' | 'summary' | 'isolation' | 'essential' | 'enabled'> {
  readonly share?: string;
  readonly at: SkuSpot;
  readonly manifest?: string;
  readonly provides: readonly Offer[];
  readonly requires: readonly Need[];
  readonly optional: readonly Need[];
  readonly capabilities: readonly string[];
  readonly budget: object;
  /** Settings of the SKU, each with its line. */
  readonly set: readonly (SkuSpot & { readonly key: string; readonly value: unknown })[];
  /** Plugins that would wait without it. */
  readonly without: readonly string[];
}

interface ServiceFacts {
  readonly id: string;
  readonly by: readonly { readonly id: string; readonly version: string; readonly at?: SkuSpot }[];
  readonly neededBy: readonly { readonly id: string; readonly range: string; readonly at: SkuSpot }[];
  readonly usedBy: readonly { readonly id: string; readonly range: string; readonly at: SkuSpot }[];
  /** Plugins of the checkout that provide it and are not in the SKU. */
  readonly couldBy: readonly string[];
}

interface Removed extends SkuSpot {
  readonly id: string;
}

interface Absent {
  readonly id: string;
  readonly version: string;
  readonly summary: string;
  readonly provides: readonly string[];
  /** Required services without a provider in the SKU. */
  readonly lacks: readonly string[];
}

interface Found {
  readonly plugin?: PluginFacts;
  readonly removed?: Removed;
  readonly service?: ServiceFacts;
  readonly value?: Value;
  readonly absent?: Absent;
}

/** A plugin and its service are often called alike: then both are told. */
function explained(resolved: ResolvedSku, what: string): Found {
  const plugin = resolved.plugins.find(({ id }) => id === what);
  const removed = resolved.removed.find(({ id }) => id === what);
  const service = serviceOf(resolved, what);
  const value = plugin || service ? undefined : valueNamed(resolved, what);
  const found: Found = {
    ...(plugin && { plugin: factsOf(resolved, plugin) }),
    ...(removed && { removed }),
    ...maybe({ service, value }),
  };
  if (plugin || value) return found;
  const absent = absentOf(resolved, what);
  if (absent) return { ...found, absent };
  if (removed || service) return found;
  const near = nearest(what, wordsOf(resolved));
  throw new Failure(EXIT.answered, 'NOT_FOUND', `the SKU has no plugin, service or setting ${what}`, {
    hint: near && `did you mean ${near}?`,
  });
}

function wordsOf(resolved: ResolvedSku): readonly string[] {
  const services = [...providersOf(resolved).keys(), ...resolved.plugins.flatMap((one) => Object.keys(one.requires))];
  return [...new Set([...resolved.plugins.map(({ id }) => id), ...services, ...namesOf(resolved)])];
}

function factsOf(resolved: ResolvedSku, plugin: ResolvedPlugin): PluginFacts {
  const { id, version, summary, isolation, share, essential, enabled, at, file, capabilities, budget } = plugin;
  const line = resolved.sku.plugins[id];
  return {
    id,
    version,
    summary,
    isolation,
    ...maybe({ share }),
    essential,
    enabled,
    at,
    ...maybe({ manifest: file }),
    provides: offersOf(resolved, plugin.provides),
    requires: needsOf(resolved, plugin.requires),
    optional: needsOf(resolved, plugin.optional),
    capabilities,
    budget,
    set: plugin.set.map(({ path, file: where, line: number }) => ({
      key: path.join('.'),
      file: where,
      line: number,
      value: typeof line === 'object' ? path.reduce<unknown>((map, key) => Object(map)[key], line) : line,
    })),
    without: waitingWithout(resolved, id),
  };
}

function serviceOf(resolved: ResolvedSku, id: string): ServiceFacts | undefined {
  const by = providersOf(resolved).get(id) ?? [];
  const asking = (member: 'requires' | 'optional') =>
    resolved.plugins.flatMap((one) => {
      const range = one[member][id];
      return range === undefined ? [] : [{ id: one.id, range, at: one.at }];
    });
  const [neededBy, usedBy] = [asking('requires'), asking('optional')];
  const placeOfPlugin = (plugin: string) => resolved.plugins.find((one) => one.id === plugin)?.at;
  const inTree = by.length > 0 ? [] : manifestsOf().filter(({ provides }) => provides?.[id] !== undefined);
  if (by.length + neededBy.length + usedBy.length + inTree.length === 0) return undefined;
  return {
    id,
    by: by.map((one) => {
      const at = placeOfPlugin(one.id);
      return { ...one, ...maybe({ at }) };
    }),
    neededBy,
    usedBy,
    couldBy: inTree.map((one) => one.id),
  };
}

function absentOf(resolved: ResolvedSku, id: string): Absent | undefined {
  const file = manifestInTree(CHECKOUT, id);
  if (file === undefined) return undefined;
  const { version, summary, provides = {}, requires = {} } = manifestIn(file);
  const there = providersOf(resolved);
  return {
    id,
    version,
    summary,
    provides: Object.keys(provides),
    lacks: Object.keys(requires).filter((service) => !there.has(service)),
  };
}

const manifestIn = (file: string): PluginManifest => parseYaml(readFileSync(file, 'utf8')).value as PluginManifest;
const manifestsOf = (): readonly PluginManifest[] => [...treeManifests(CHECKOUT).values()].map(manifestIn);

const none = 'nobody';
const listed = (ids: readonly string[]): string => (ids.length === 0 ? none : ids.join(', '));

async function told(out: ProgramOutput, plugin: PluginFacts): Promise<void> {
  const { id, version, summary, at, isolation, share, essential, enabled } = plugin;
  await out.line(out.paint('bold', `plugin ${id} ${version}: ${summary}`));
  const runs = share === undefined ? isolation : `${isolation}, which it shares as ${share}`;
  const fact = (name: string, text: string) => out.line(`  ${name.padEnd(12)}${text}`);
  await fact('listed', placeOf(at));
  await fact(
    'runs',
    `${runs}${essential ? '; the Core is failed without it' : ''}${enabled ? '' : '; it is switched off'}`,
  );
  if (plugin.manifest !== undefined) await fact('manifest', shownFile(plugin.manifest));
  for (const { service, version: offered, neededBy, usedBy } of plugin.provides) {
    const used = usedBy.length === 0 ? '' : `; ${usedBy.join(', ')} would use it`;
    await fact('provides', `${service} ${offered}, needed by ${listed(neededBy)}${used}`);
  }
  for (const { service, range, by } of plugin.requires) await fact('requires', `${service} ${range}, of ${listed(by)}`);
  for (const { service, range, by } of plugin.optional) await fact('may use', `${service} ${range}, of ${listed(by)}`);
  if (plugin.capabilities.length > 0) await fact('may', plugin.capabilities.join(', '));
  await fact('without it', plugin.without.length === 0 ? 'nothing waits' : `${plugin.without.join(', ')} wait`);
  const set = plugin.set.filter(({ key }) => key !== 'version');
  if (set.length === 0) return;
  await out.line('');
  await out.table(
    ['SETS', 'VALUE', 'LINE'],
    set.map(({ key, value, ...spot }) => [key, cell(value), placeOf(spot)]),
  );
}

async function toldRemoved(out: ProgramOutput, removed: Removed): Promise<void> {
  await out.line(`${out.paint('bold', `plugin ${removed.id}`)} is removed: ${placeOf(removed)}`);
}

async function toldService(out: ProgramOutput, { id, by, neededBy, usedBy, couldBy }: ServiceFacts): Promise<void> {
  await out.line(out.paint('bold', `service ${id}`));
  const rows = [
    ...by.map((one) => ['provides', one.id, one.version, one.at === undefined ? '' : placeOf(one.at)]),
    ...neededBy.map((one) => ['requires', one.id, one.range, placeOf(one.at)]),
    ...usedBy.map((one) => ['may use', one.id, one.range, placeOf(one.at)]),
  ];
  await out.table(['', 'PLUGIN', 'VERSION', 'LISTED'], rows, {
    empty: '  no plugin of this SKU provides or asks for it',
  });
  if (by.length > 0) return;
  const could = couldBy.length === 0 ? 'no plugin of the checkout does' : `${couldBy.join(' or ')} would`;
  await out.line(`${out.paint('yellow', 'no plugin provides it')}: ${could}`);
}

async function toldValue(out: ProgramOutput, { key, value, said, description }: Value): Promise<void> {
  await out.line(`${out.paint('bold', key)} is ${value === undefined ? 'not set' : cell(value)}`);
  if (description) await out.line(`  ${cell(description)}`);
  const [first, ...others] = said;
  if (!first) return out.line('  not set: it is the default of the plugin');
  await out.line(`  set by ${placeOf(first)}`);
  for (const one of others) await out.line(`  over ${placeOf(one)}: ${cell(one.value)}`);
}

async function toldAbsent(out: ProgramOutput, { id, version, summary, provides, lacks }: Absent): Promise<void> {
  await out.line(`${out.paint('bold', `plugin ${id} ${version}`)} of the checkout is not in this SKU: ${summary}`);
  if (provides.length > 0) await out.line(`  it would provide ${provides.join(', ')}`);
  if (lacks.length > 0) await out.line(`  it would wait for ${lacks.join(', ')}`);
  const [major = '1'] = version.split('.');
  await out.line(`  the line that adds it: ${id}: ^${major}.0.0`);
}
