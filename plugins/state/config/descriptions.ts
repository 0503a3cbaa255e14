/** Descriptions of all keys, with their values in every layer. */

import { CoreError, maybe } from '@device-core/plugin-api';
import { isLive, isSkuOnly } from '@device-core/plugin-api/inside/manifest-check';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { keyFault } from './keys.ts';
import type { LayerValue } from './layers.ts';
import type { Lock } from './locks.ts';
import { PLUGINS, type PluginSections, type Section } from './plugin-sections.ts';
import { keysOf, type SchemaKey } from './schema-keys.ts';
import type { ConfigStore } from './store.ts';

export type SectionKind = 'app' | 'device' | 'plugin';

export interface SectionInfo {
  readonly kind: SectionKind;
  /** Id of the app or the plugin; `device` for the keys of the device itself. */
  readonly id: string;
  readonly title: string;
  readonly keys: number;
  /** Number of keys that the device or an app overrides. */
  readonly overrides: number;
}

export interface DescribedLayer {
  readonly source: 'app' | 'device' | 'default' | 'sku' | 'builtin';
  readonly value?: unknown;
  readonly hidden?: true;
  readonly revision: number;
  readonly setBy?: string;
  readonly setAt?: number;
  readonly wins: boolean;
  readonly writable: boolean;
  readonly misfit?: string;
}

export interface Description {
  readonly section: { readonly kind: SectionKind; readonly id: string };
  readonly key: string;
  /** Name of the key within its section. */
  readonly name: string;
  readonly schema: JsonSchema;
  readonly secret: boolean;
  readonly value?: unknown;
  readonly source?: DescribedLayer['source'];
  readonly setBy?: string;
  readonly setAt?: number;
  readonly layers: readonly DescribedLayer[];
  /** Value with which the plugin runs, if it is not that of the highest layer. */
  readonly running?: unknown;
  /** Revision for `ifRevision` of `config.set`. */
  readonly revision: number;
  readonly overridden: boolean;
  readonly writable: boolean;
  readonly locked?: Lock;
  /** The SKU alone decides it. */
  readonly skuOnly?: boolean;
  readonly applies: 'live' | 'restart';
}

export interface Wanted {
  readonly app?: string | undefined;
  readonly plugin?: string | undefined;
  readonly device?: boolean | undefined;
  readonly prefix?: string | undefined;
  readonly search?: string | undefined;
  readonly overridesOnly?: boolean | undefined;
  readonly limit: number;
  readonly after?: string | undefined;
}

/** More is not answered at once. */
const MOST_BYTES = 512 * 1024;
/** A schema that is longer is not handed out: the value is edited as JSON. */
const LONGEST_SCHEMA = 16 * 1024;

interface Row {
  readonly kind: SectionKind;
  readonly id: string;
  readonly key: string;
  readonly described: SchemaKey | undefined;
  readonly title: string;
}

export class Descriptions {
  readonly #store: ConfigStore;
  readonly #sections: PluginSections;
  readonly #apps: () => Promise<readonly Pick<AppStatus, 'id' | 'title'>[]>;

  constructor(
    store: ConfigStore,
    sections: PluginSections,
    apps: () => Promise<readonly Pick<AppStatus, 'id' | 'title'>[]>,
  ) {
    this.#store = store;
    this.#sections = sections;
    this.#apps = apps;
  }

  async sections(): Promise<readonly SectionInfo[]> {
    const rows = await this.#rows({});
    return [...Map.groupBy(rows, ({ kind, id }) => `${kind}/${id}`).values()].map((of) => {
      const [{ kind, id, title }] = of as [Row, ...Row[]];
      return { kind, id, title, keys: of.length, overrides: of.filter((row) => this.#overridden(row)).length };
    });
  }

  /** Throws PLUGIN_NOT_FOUND. */
  async list(wanted: Wanted): Promise<{ readonly keys: readonly Description[]; readonly next?: string }> {
    const { prefix, search, overridesOnly = false, after, limit } = wanted;
    const words = search?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];
    const keys: Description[] = [];
    let bytes = 0;
    let last: string | undefined;
    for (const row of await this.#rows(wanted)) {
      const place = placeOf(row);
      if (after !== undefined && place <= after) continue;
      if (prefix !== undefined && row.key !== prefix && !row.key.startsWith(`${prefix}.`)) continue;
      if (overridesOnly && !this.#overridden(row)) continue;
      if (words.length > 0 && !words.every((word) => textOf(row).includes(word))) continue;
      const described = this.#describe(row);
      bytes += JSON.stringify(described).length;
      if (keys.length > 0 && (keys.length >= limit || bytes > MOST_BYTES)) return { keys, next: last! };
      keys.push(described);
      last = place;
    }
    return { keys };
  }

  /** Every key there is, in one order. */
  async #rows({ app, plugin, device = false }: Pick<Wanted, 'app' | 'device' | 'plugin'>): Promise<readonly Row[]> {
    const all = app === undefined && plugin === undefined && !device;
    const rows: Row[] = [];
    if (all || device)
      for (const key of this.#deviceKeys())
        rows.push({
          kind: 'device',
          id: 'device',
          key,
          described: this.#store.schemas.device.key(key),
          title: 'device',
        });
    if (all || app !== undefined) {
      const titles = new Map((await this.#apps()).map((one) => [one.id, one.title]));
      for (const id of app === undefined ? this.#store.appIds() : [app])
        rows.push(...this.#appRows(id, titles.get(id) ?? id));
    }
    if (all) for (const section of this.#sections.all) rows.push(...this.#pluginRows(section));
    else if (plugin !== undefined) {
      const section = this.#sections.get(plugin);
      if (!section) throw new CoreError('PLUGIN_NOT_FOUND', { plugin });
      rows.push(...this.#pluginRows(section));
    }
    return rows
      .map((row) => [placeOf(row), row] as const)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, row]) => row);
  }

  #deviceKeys(): readonly string[] {
    return this.#store.ownKeys(undefined).filter((key) => key !== PLUGINS && !key.startsWith(`${PLUGINS}.`));
  }

  #appRows(id: string, title: string): readonly Row[] {
    const described = new Map(keysOf(this.#store.schemas.ofApp(id)?.schema ?? {}).map((one) => [one.name, one]));
    const keys = new Set([...described.keys(), ...this.#store.ownKeys(id)]);
    return [...keys].map((key) => ({ kind: 'app', id, key, title, described: described.get(key) }));
  }

  #pluginRows({ id, summary, keys }: Section): readonly Row[] {
    return keys.map((one) => ({
      kind: 'plugin',
      id,
      key: `${PLUGINS}.${id}.${one.name}`,
      title: summary,
      described: one,
    }));
  }

  #overridden(row: Row): boolean {
    return this.#layers(row).layers.some((layer) => isOverride(layer.source));
  }

  #layers(row: Row): {
    readonly layers: readonly Omit<DescribedLayer, 'wins'>[];
    readonly winner: number;
    readonly lock?: Lock;
  } {
    const found = this.#store.layersOf(row.kind === 'app' ? row.id : undefined, row.key);
    const section = row.kind === 'plugin' ? this.#sections.get(row.id) : undefined;
    if (!section) return found;
    const layers: Omit<DescribedLayer, 'wins'>[] = found.layers.map((layer) => this.#checked(row.key, layer));
    const member = row.described!.name;
    const path = member.split('.');
    const given = at(section.given, path);
    const { default: builtIn } = row.described!.schema;
    if (given !== undefined) layers.push({ source: 'sku', value: given, revision: 0, writable: false });
    if (builtIn !== undefined) layers.push({ source: 'builtin', value: builtIn, revision: 0, writable: false });
    const { lock } = found;
    const winner = layers.findIndex(({ source, misfit }) => misfit === undefined && !(lock && isOverride(source)));
    return { layers, winner, ...maybe({ lock }) };
  }

  /** A value of a former version of the plugin is left out by the Core. */
  #checked(key: string, layer: LayerValue): LayerValue {
    const misfit = this.#sections.fault(key, layer.value);
    return misfit === undefined ? layer : { ...layer, misfit };
  }

  #describe(row: Row): Description {
    const { kind, id, key, described } = row;
    const { layers, winner, lock } = this.#layers(row);
    const secret = described?.secret ?? false;
    const schema = described?.schema ?? {};
    const name = kind === 'plugin' ? described!.name : key;
    const section = kind === 'plugin' ? this.#sections.get(id) : undefined;
    const skuOnly = section !== undefined && isSkuOnly(section.schema, name);
    const inForce = section && at(section.inForce, name.split('.'));
    const winning = layers[winner];
    // A default within a group that is not set holds once the group is set.
    const idle = inForce === undefined && winning?.source === 'builtin';
    const differs = section !== undefined && !idle && !same(inForce, winning?.value);
    return {
      section: { kind, id },
      key,
      name,
      secret,
      schema:
        JSON.stringify(schema).length > LONGEST_SCHEMA
          ? { description: 'Its schema is too long to be shown.' }
          : schema,
      ...(winning && { source: winning.source, ...(!secret && { value: winning.value }) }),
      ...(winning?.setBy !== undefined && { setBy: winning.setBy }),
      ...(winning?.setAt !== undefined && { setAt: winning.setAt }),
      layers: layers.map(({ value, ...layer }, index) => ({
        ...layer,
        ...(secret ? { hidden: true as const } : { value }),
        wins: index === winner,
      })),
      ...(differs && !secret && { running: inForce ?? null }),
      revision: winning?.revision ?? 0,
      overridden: layers.some((layer) => isOverride(layer.source)),
      writable: lock === undefined && !skuOnly && keyFault(key) === undefined,
      ...maybe({ locked: lock }),
      ...(skuOnly && { skuOnly }),
      applies: kind === 'plugin' && !isLive(section?.schema, name) ? 'restart' : 'live',
    };
  }
}

const isOverride = (source: DescribedLayer['source']): boolean => source === 'app' || source === 'device';

/** Sort key of a row; also the cursor at the end of a page of the answer. */
const placeOf = ({ kind, id, key }: Row): string => `${kind}/${id}/${key}`;

function textOf({ key, id, title, described }: Row): string {
  const { title: own, description } = (described?.schema ?? {}) as { title?: unknown; description?: unknown };
  return [key, id, title, own, description]
    .filter((one) => typeof one === 'string')
    .join(' ')
    .toLowerCase();
}

function at(value: unknown, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name)
        ? (found as Record<string, unknown>)[name]
        : undefined;
  return found;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
