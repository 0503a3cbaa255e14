/** Differences of two SKUs. Pure. */

import { isDeepStrictEqual } from 'node:util';
import { maybe } from '@device-core/plugin-api';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import type { SkuSpot } from '@device-core/plugin-api/inside/sku-family';
import type { ResolvedPlugin, ResolvedSku } from './resolved.ts';

/**
 * A value that differs; undefined where one side has none. `at` is the line of the second SKU that sets it, or of the
 * first where it is gone.
 */
export interface Change {
  readonly key: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly at?: SkuSpot;
}

export interface Only {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface Difference {
  /** `id version` of each. */
  readonly plugins: Only;
  /** By `plugin.member`: version, isolation, share, essential, enabled and budget of plugins that both have. */
  readonly lines: readonly Change[];
  /** By `plugin.member`, of plugins that both have; what the plugin has by itself counts, too. */
  readonly config: readonly Change[];
  /** By member of the SKU: title, auth, safe mode, ... */
  readonly sku: readonly Change[];
  /** `app: capability`. */
  readonly grants: Only;
  /** `plugin: capability`. */
  readonly capabilities: Only;
  readonly services: Only;
}

const LINE = ['version', 'isolation', 'share', 'essential', 'enabled', 'budget'] as const;
/** Members with a row elsewhere, and members that two SKUs never share. */
const OWN = new Set(['skuVersion', 'id', 'title', 'plugins', 'grants']);

export function differenceOfSkus(a: ResolvedSku, b: ResolvedSku): Difference {
  const both = b.plugins.flatMap((to) => {
    const from = a.plugins.find(({ id }) => id === to.id);
    return from ? [{ from, to }] : [];
  });
  const names = ({ plugins }: ResolvedSku) => plugins.map(({ id, version }) => ({ id, name: `${id} ${version}` }));
  const only = (one: ResolvedSku, other: ResolvedSku) =>
    names(one).flatMap(({ id, name }) => (other.plugins.some((plugin) => plugin.id === id) ? [] : [name]));
  const grants = ({ sku }: ResolvedSku) =>
    Object.entries(sku.grants ?? {}).flatMap(([app, list]) => list.map((one) => `${app}: ${one}`));
  const capabilities = ({ plugins }: ResolvedSku) =>
    plugins.flatMap(({ id, capabilities: list, enabled }) => (enabled ? list.map((one) => `${id}: ${one}`) : []));
  const services = ({ plugins }: ResolvedSku) =>
    plugins.flatMap(({ provides, enabled }) => (enabled ? Object.keys(provides) : []));
  return {
    plugins: { added: only(b, a), removed: only(a, b) },
    lines: both.flatMap(({ from, to }) => lineChanges(from, to)),
    config: both.flatMap(({ from, to }) =>
      changes(from.config, to.config, [], (path) => ({
        key: [to.id, ...path].join('.'),
        at: spotOf(to, path) ?? spotOf(from, path),
      })),
    ),
    sku: changes(withoutOwn(a), withoutOwn(b), [], (path) => ({
      key: path.join('.'),
      at: spotIn(b, path) ?? spotIn(a, path),
    })),
    grants: onlyOf(grants(a), grants(b)),
    capabilities: onlyOf(capabilities(a), capabilities(b)),
    services: onlyOf(services(a), services(b)),
  };
}

export function isSame({ plugins, grants, capabilities, services, lines, config, sku }: Difference): boolean {
  const lists = [plugins, grants, capabilities, services].flatMap(({ added, removed }) => [...added, ...removed]);
  return lists.length + lines.length + config.length + sku.length === 0;
}

function onlyOf(a: readonly string[], b: readonly string[]): Only {
  return { added: b.filter((one) => !a.includes(one)).sort(), removed: a.filter((one) => !b.includes(one)).sort() };
}

const withoutOwn = ({ sku }: ResolvedSku): object =>
  Object.fromEntries(Object.entries(sku).filter(([key]) => !OWN.has(key)));

function lineChanges(from: ResolvedPlugin, to: ResolvedPlugin): readonly Change[] {
  return LINE.flatMap((member) => {
    if (isDeepStrictEqual(from[member], to[member])) return [];
    const at = to.set.find(({ path }) => path[0] === member) ?? to.at;
    return [change(`${to.id}.${member}`, from[member], to[member], at)];
  });
}

/** Maps member by member, all else as a whole. */
function changes(
  from: unknown,
  to: unknown,
  path: readonly string[],
  tell: (path: readonly string[]) => { readonly key: string; readonly at: SkuSpot | undefined },
): readonly Change[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (!isObject(from) || !isObject(to)) {
    const { key, at } = tell(path);
    return [change(key, from, to, at)];
  }
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return keys.flatMap((key) => changes(from[key], to[key], [...path, key], tell));
}

function change(key: string, from: unknown, to: unknown, at: SkuSpot | undefined): Change {
  return {
    key,
    ...maybe({ from, to }),
    ...(at && { at: { file: at.file, line: at.line } }),
  };
}

const spotOf = ({ set }: ResolvedPlugin, path: readonly string[]): SkuSpot | undefined =>
  set.find((one) => one.path[0] === 'config' && begins(path, one.path.slice(1)));
const spotIn = ({ set }: ResolvedSku, path: readonly string[]): SkuSpot | undefined =>
  set.find((one) => begins(path, one.path));

/** One of the two is the beginning of the other: the value, or a map that it is in, is set there. */
const begins = (path: readonly string[], other: readonly (string | number)[]): boolean =>
  path.every((part, index) => index >= other.length || other[index] === part);
