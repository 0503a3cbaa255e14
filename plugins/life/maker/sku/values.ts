/** A value of a SKU by the name that people call it: `voice.order.vad`, `http.isolation`, `grants.com.example.app`, `auth`. */
import { readFileSync } from 'node:fs';
import type { PluginManifest } from '@device-core/plugin-api';
import { isObject, memberAt } from '@device-core/plugin-api/inside/schema-reader';
import type { SkuSpot } from '@device-core/plugin-api/inside/sku-family';
import { parseYaml, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import type { ResolvedPlugin, ResolvedSku } from './resolved.ts';

export interface Said extends SkuSpot {
  readonly value: unknown;
}

export interface Value {
  readonly key: string;
  /** In force. */
  readonly value: unknown;
  /** Every file of the family that says it, the nearest first; none: it is a default. */
  readonly said: readonly Said[];
  readonly plugin?: string;
  /** Description in the schema of the plugin. */
  readonly description?: string;
}

const LINE_MEMBERS = new Set(['version', 'path', 'isolation', 'share', 'budget', 'essential', 'enabled']);

/** Undefined where nothing is called so. */
export function valueNamed(resolved: ResolvedSku, key: string): Value | undefined {
  const parts = key.replace(/^plugins\./, '').split('.');
  const [first = ''] = parts;
  const plugin = resolved.plugins.find(({ id }) => id === first);
  if (plugin && parts.length > 1) return ofPlugin(resolved, plugin, parts.slice(1));
  const found = walk(resolved.sku, parts);
  return found && { key, value: found.value, said: saidOf(resolved, found.path) };
}

function ofPlugin(resolved: ResolvedSku, plugin: ResolvedPlugin, parts: readonly string[]): Value | undefined {
  const { id, config } = plugin;
  const line = ['plugins', id];
  const name = (path: YamlPath) => [id, ...path].join('.');
  const [first = '', ...rest] = parts;
  const inside = first === 'config' && rest.length > 0 ? rest : parts;
  const found = first === 'config' && rest.length === 0 ? { value: config, path: [] } : walk(config, inside);
  if (found) {
    const description = descriptionOf(plugin, found.path);
    const said = saidOf(resolved, [...line, 'config', ...found.path]);
    return { key: name(found.path), value: found.value, said, plugin: id, ...(description && { description }) };
  }
  if (LINE_MEMBERS.has(first)) {
    const of = walk(plugin, parts);
    return { key: name(parts), value: of?.value, said: saidOf(resolved, [...line, ...parts]), plugin: id };
  }
  // A key without value and default is a setting all the same, if the schema knows it.
  const description = descriptionOf(plugin, inside);
  return description === undefined
    ? undefined
    : { key: name(inside), value: undefined, said: [], plugin: id, description };
}

/** Names of members may have dots. */
function walk(
  from: unknown,
  parts: readonly string[],
): { readonly value: unknown; readonly path: string[] } | undefined {
  if (parts.length === 0) return { value: from, path: [] };
  if (typeof from !== 'object' || from === null) return undefined;
  for (let count = 1; count <= parts.length; count++) {
    const key = parts.slice(0, count).join('.');
    if (!Object.hasOwn(from, key)) continue;
    const rest = walk((from as Record<string, unknown>)[key], parts.slice(count));
    if (rest) return { value: rest.value, path: [key, ...rest.path] };
  }
  return undefined;
}

function saidOf({ files }: ResolvedSku, path: readonly string[]): readonly Said[] {
  return files.flatMap((file) => {
    const { value, line } = parseYaml(readFileSync(file, 'utf8'));
    const found = member(value, path);
    return found === undefined ? [] : [{ file, line: line(path), value: found }];
  });
}

function member(from: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return from;
  // A line that is a text is its version.
  if (typeof from === 'string' && key === 'version' && rest.length === 0) return from;
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, key)) return undefined;
  return member((from as Record<string, unknown>)[key], rest);
}

function descriptionOf({ file }: ResolvedPlugin, path: readonly string[]): string | undefined {
  if (file === undefined || path.length === 0) return undefined;
  const manifest = parseYaml(readFileSync(file, 'utf8')).value as Pick<PluginManifest, 'config'> | undefined;
  const schema = memberAt(manifest?.config, path);
  return isObject(schema)
    ? String(schema.description ?? '')
        .replaceAll(/\s+/g, ' ')
        .trim()
    : undefined;
}

/** Every name that a value of the SKU has: for whoever mistypes one, and for completion. */
export function namesOf({ plugins, sku }: ResolvedSku): readonly string[] {
  const below = plugins.flatMap(({ id, config }) => Object.keys(config).map((key) => `${id}.${key}`));
  const grants = Object.keys(sku.grants ?? {}).map((app) => `grants.${app}`);
  return [...Object.keys(sku).filter((key) => key !== 'plugins'), ...grants, ...below];
}
