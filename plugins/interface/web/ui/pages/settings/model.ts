/** Answers of the Core about settings, and the two ways to write one. */
import { api } from '../../core/api.ts';
import { numberText } from '../../core/format.ts';
import type { Schema } from '../../form/schema.ts';
import { words } from './text.ts';

export type Kind = 'app' | 'device' | 'plugin';
export type Source = 'app' | 'device' | 'default' | 'sku' | 'builtin';

export interface Section {
  readonly kind: Kind;
  readonly id: string;
  readonly title: string;
  readonly keys: number;
  readonly overrides: number;
}

export interface Layer {
  readonly source: Source;
  readonly value?: unknown;
  readonly hidden?: true;
  readonly revision: number;
  readonly setBy?: string;
  readonly setAt?: number;
  readonly wins: boolean;
  readonly writable: boolean;
  readonly misfit?: string;
}

export interface Setting {
  readonly section: { readonly kind: Kind; readonly id: string };
  readonly key: string;
  readonly name: string;
  readonly schema: Schema;
  readonly secret: boolean;
  readonly value?: unknown;
  readonly source?: Source;
  /** Time of the layer in force, ms since the Unix epoch. */
  readonly setAt?: number;
  readonly layers: readonly Layer[];
  readonly running?: unknown;
  readonly revision: number;
  readonly overridden: boolean;
  readonly writable: boolean;
  /** The SKU alone decides it. */
  readonly skuOnly?: boolean;
  readonly locked?: { readonly pattern: string; readonly reason?: string };
  readonly applies: 'live' | 'restart';
}

export interface Settings {
  readonly keys: readonly Setting[];
  readonly next?: string;
}

const SOURCES = {
  app: 'sourceApp',
  device: 'sourceDevice',
  default: 'sourceDefault',
  sku: 'sourceSku',
  builtin: 'sourceBuiltin',
} as const;
export const sourceText = (source: Source): string => words(SOURCES[source]);

export const identity = ({ section, key }: Setting): string => `${section.kind}/${section.id}/${key}`;

export function titleOf({ schema, name }: Setting): string {
  return typeof schema.title === 'string' && schema.title.trim() !== '' ? schema.title : name;
}

const SHOWN = 80;
/** A value in one line. */
export function valueText(value: unknown): string {
  if (typeof value === 'boolean') return words(value ? 'yes' : 'no');
  if (typeof value === 'number') return numberText(value, 6);
  if (value === '') return words('empty');
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? words('empty'));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)} …` : text;
}

/** For a key that nobody describes: of the type that it has. */
export function schemaFor({ schema, value }: Setting): Schema {
  if (Object.keys(schema).length > 0) return schema;
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? { type } : {};
}

const path = (key: string): string => `/config/${encodeURIComponent(key)}`;
const scope = ({ section: { kind, id } }: Setting): { readonly app?: string } => (kind === 'app' ? { app: id } : {});

/** Rejects with CONFIG_CONFLICT where somebody wrote since `revision`. */
export async function write(setting: Setting, value: unknown, revision: number): Promise<void> {
  await api.put(path(setting.key), { value, ifRevision: revision, ...scope(setting) });
}

export async function giveBack(
  setting: Setting,
  { source, revision }: Pick<Layer, 'source' | 'revision'>,
): Promise<void> {
  await api.delete(path(setting.key), { layer: source, ifRevision: revision, ...scope(setting) });
}

/** Puts a layer back as it was. */
export async function restore(setting: Setting, source: Source, former: Layer | undefined): Promise<void> {
  const to = source === 'app' ? scope(setting) : {};
  if (former === undefined) await api.delete(path(setting.key), { layer: source, ...to });
  else await api.put(path(setting.key), { value: former.value ?? null, ...to });
}

/** The layer that a write of this setting goes to. */
export const layerOfWrites = ({ section }: Setting): 'app' | 'device' => (section.kind === 'app' ? 'app' : 'device');
