/**
 * A family of SKUs: a file that `extends` another says only what is different. Lines are merged by plugin id and
 * member, lists are replaced, `remove` takes plugins away. Each value of the result knows the file and line that it
 * came from. The Core, the composer and the tools of an OEM read it alike.
 */
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { CoreError, reasonOf } from '../contract/errors.ts';
import type { SkuManifest, SkuPlugin } from '../contract/manifest.ts';
import { didYouMean } from '../kits/nearest.ts';
import { packageLater } from './lazy-package.ts';
import { parseYaml, type YamlPath } from './yaml.ts';

const yaml = packageLater<typeof import('yaml')>('yaml', import.meta.url);

/** Spot in a file; lines count from 1. */
export interface SkuSpot {
  readonly file: string;
  readonly line: number;
}

/** Places for complaints about a value. */
export interface SkuPlace {
  /** File and line of the member at `path`, or of the nearest parent that is there. */
  at(path: YamlPath): SkuSpot;
}

/** Content of one file of a family. With `extends` a line needs no version where a base has the plugin. */
export interface SkuLayer extends Partial<Omit<SkuManifest, 'plugins'>> {
  /** The base, relative to this file. */
  readonly extends?: string;
  /** Plugins of the bases that this SKU has not. */
  readonly remove?: readonly string[];
  readonly plugins?: Readonly<Record<string, string | Partial<SkuPlugin>>>;
}

/** One file, read. */
export interface SkuFile extends SkuPlace {
  readonly file: string;
  readonly value: SkuLayer;
}

export interface SkuFamily extends SkuPlace {
  readonly file: string;
  /** The flat SKU: without `extends` and `remove`; a `path` of a base is relative to `file`. */
  readonly value: SkuManifest;
  /** `file`, its base, the base of that, and so on. */
  readonly files: readonly string[];
  /** Plugins that a file of the family took away and that none gave back: by id, where it says so. */
  readonly removed: ReadonlyMap<string, () => SkuSpot>;
}

export type RefuseSku = (place: SkuPlace, path: YamlPath, message: string) => void;

/** A family has fewer files than this, or is a mistake. */
const MOST_FILES = 16;

/**
 * The family of `file`, an absolute path. `read` gives a file that fits its schema, or undefined after it has told why
 * there is none. What is wrong with the family goes to `refuse`; undefined where it cannot be used. That the flat SKU
 * fits its schema is not checked here.
 */
export function skuFamily(
  file: string,
  read: (file: string) => SkuFile | undefined,
  refuse: RefuseSku,
): SkuFamily | undefined {
  const chain = chainOf(file, read, refuse);
  const [own, ...bases] = chain ?? [];
  if (!chain || !own) return undefined;
  if (bases.length === 0)
    return { file, value: own.value as SkuManifest, files: [file], removed: new Map(), at: (path) => own.at(path) };
  const merge = new Merge(dirname(file), refuse);
  // A wrong line of a layer was refused; the rest of the family can still be looked at.
  for (const layer of chain.toReversed()) merge.lay(layer);
  return {
    file,
    value: plainOf(merge.root) as unknown as SkuManifest,
    files: chain.map((layer) => layer.file),
    removed: merge.removed,
    at: (path) => spotOf(merge.root, path),
  };
}

/** The flat SKU of a file, for tools that have no schema at hand. Throws SKU_INVALID with file and line. */
export function readSkuFamily(file: string): SkuFamily {
  const fail = (place: SkuPlace, path: YamlPath, reason: string): never => {
    const { file: where, line } = place.at(path);
    throw new CoreError('SKU_INVALID', { file: `${where}:${line}`, reason });
  };
  const family = skuFamily(resolve(file), (path) => readFile(path, fail), fail);
  if (!family) throw new CoreError('SKU_INVALID', { file, reason: 'it cannot be read' });
  return family;
}

/** A family as the text of one SKU file, for a device that has only this one. The same family gives the same text, wherever it lies. */
export function flatSkuText({ value, files }: SkuFamily): string {
  const { plugins, ...rest } = value;
  const head = `# Flat: made of ${files.map((file) => basename(file)).join(', ')}.\n`;
  const lines = Object.entries(plugins).map(([id, line]) => {
    const { version, ...more } = typeof line === 'string' ? { version: line } : line;
    return [id, Object.keys(more).length === 0 ? version : line] as const;
  });
  const sorted = lines.sort(([a], [b]) => (a < b ? -1 : 1));
  return `${head}${yaml().stringify({ ...rest, plugins: Object.fromEntries(sorted) }, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

/** The file and its bases, as far as they can be read: what there is to watch. */
export function skuFiles(file: string): readonly string[] {
  const files: string[] = [];
  let next: string | undefined = resolve(file);
  while (next !== undefined && !files.includes(next) && files.length < MOST_FILES) {
    files.push(next);
    next = baseOf(next);
  }
  return files;
}

function baseOf(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    // Most SKUs stand alone: their YAML is not parsed for this.
    const value = text.includes('extends') ? parseYaml(text).value : undefined;
    return isMap(value) && typeof value.extends === 'string' ? resolve(dirname(file), value.extends) : undefined;
  } catch {
    return undefined; // gone or unreadable: whoever reads the family says so
  }
}

function readFile(file: string, fail: (place: SkuPlace, path: YamlPath, reason: string) => never): SkuFile {
  const first = { at: () => ({ file, line: 1 }) };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return fail(first, [], `it cannot be read: ${reasonOf(error)}`);
  }
  const { value, errors, line } = parseYaml(text);
  for (const error of errors) fail({ at: () => ({ file, line: error.line }) }, [], error.message);
  const place = { at: (path: YamlPath) => ({ file, line: line(path) }) };
  if (!isMap(value) || !isMap(value.plugins ?? {})) return fail(place, ['plugins'], 'it is no SKU');
  return { file, value: value as SkuLayer, ...place };
}

/** The file and its bases, nearest first. */
function chainOf(
  file: string,
  read: (file: string) => SkuFile | undefined,
  refuse: RefuseSku,
): readonly SkuFile[] | undefined {
  const chain: SkuFile[] = [];
  let next = file;
  for (;;) {
    const layer = read(next);
    if (!layer) return undefined;
    chain.push(layer);
    const { extends: base } = layer.value;
    if (base === undefined) return chain;
    next = resolve(dirname(next), base);
    const known = chain.findIndex((one) => one.file === next);
    const circle = [...chain.slice(known), { file: next }].map((one) => basename(one.file)).join(' -> ');
    const wrong =
      known >= 0
        ? `is a circle: ${circle}`
        : chain.length >= MOST_FILES
          ? `makes a family of more than ${MOST_FILES} files`
          : isFile(next)
            ? undefined
            : `names no file: ${shown(base)} is not there`;
    if (wrong === undefined) continue;
    refuse(layer, ['extends'], `extends ${wrong}`);
    return undefined;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false; // the system has no such name: it is too long, or has a NUL
  }
}

const MOST_SHOWN = 200;

/** In one line, whatever was written. */
const shown = (text: string): string =>
  text.slice(0, MOST_SHOWN).replace(/\p{Cc}/gu, (sign) => JSON.stringify(sign).slice(1, -1));

/** A value of the result: where it was set, and either what it is or its members. */
interface Node {
  readonly layer: SkuFile;
  readonly path: YamlPath;
  readonly leaf?: unknown;
  readonly members?: ReadonlyMap<string, Node>;
}

class Merge {
  root: Node & { readonly members: ReadonlyMap<string, Node> };
  readonly removed = new Map<string, () => SkuSpot>();
  readonly #folder: string;
  readonly #refuse: RefuseSku;

  constructor(folder: string, refuse: RefuseSku) {
    this.#folder = folder;
    this.#refuse = refuse;
    const nobody = { file: '', value: {}, at: () => ({ file: '', line: 1 }) };
    this.root = { layer: nobody, path: [], members: new Map() };
  }

  /** One file over what its bases made. */
  lay(layer: SkuFile): void {
    const { extends: base, remove = [], plugins = {}, ...rest } = layer.value;
    const members = new Map(this.root.members);
    members.set('plugins', this.#plugins(layer, plugins, remove));
    const kept = members.get('safeMode');
    if (kept) members.set('safeMode', without(kept, remove));
    for (const [key, value] of Object.entries(rest)) {
      const own = nodeOf(layer, value, [key]);
      const former = members.get(key);
      members.set(key, former && !key.startsWith('x-') ? over(former, own) : own);
    }
    this.root = { layer, path: [], members };
  }

  #plugins(layer: SkuFile, plugins: NonNullable<SkuLayer['plugins']>, remove: readonly string[]): Node {
    const former = this.root.members.get('plugins');
    const members = new Map(former?.members);
    const ids = [...members.keys()];
    for (const [index, id] of remove.entries()) {
      const wrong = whyNoRemoval(id, members.get(id), plugins, ids);
      if (wrong) {
        this.#refuse(layer, ['remove', index], wrong);
        continue;
      }
      members.delete(id);
      this.removed.set(id, () => layer.at(['remove', index]));
    }
    for (const [id, said] of Object.entries(plugins)) {
      const line = typeof said === 'string' ? { version: said } : said;
      const base = members.get(id);
      if (!base && layer.value.extends !== undefined && line.version === undefined) {
        const near = didYouMean(id, ids);
        const instead = `a line with a version adds a plugin${near}`;
        this.#refuse(layer, ['plugins', id], `no base has a plugin ${id} that could be changed; ${instead}`);
        continue;
      }
      const own = nodeOf(layer, this.#fromHere(layer, line), ['plugins', id]);
      // The line that lists a plugin is the one that brought it.
      members.set(id, base ? { ...over(base, own), layer: base.layer, path: base.path } : own);
      this.removed.delete(id);
    }
    return { layer, path: ['plugins'], members };
  }

  /** A path is relative to the file that says it, and that of the flat SKU to its own. */
  #fromHere(layer: SkuFile, line: Partial<SkuPlugin>): Partial<SkuPlugin> {
    const folder = dirname(layer.file);
    if (line.path === undefined || folder === this.#folder) return line;
    return { ...line, path: relative(this.#folder, resolve(folder, line.path)) || '.' };
  }
}

function whyNoRemoval(
  id: string,
  line: Node | undefined,
  plugins: NonNullable<SkuLayer['plugins']>,
  ids: readonly string[],
): string | undefined {
  if (!line) return `removes plugin ${id}, which no base has${didYouMean(id, ids)}`;
  const essential = line.members?.get('essential');
  if (essential?.leaf !== true || plugins[id] !== undefined) return undefined;
  const { file, line: number } = spotOf(essential, []);
  return `removes plugin ${id}, which is essential (${basename(file)}:${number}); list another ${id} here, or take "essential" from that line`;
}

function nodeOf(layer: SkuFile, value: unknown, path: YamlPath): Node {
  if (!isMap(value)) return { layer, path, leaf: value };
  const members = Object.entries(value).map(([key, one]) => [key, nodeOf(layer, one, [...path, key])] as const);
  return { layer, path, members: new Map(members) };
}

/** Maps by member, all else as it is in the nearer file. */
function over(base: Node, own: Node): Node {
  if (!base.members || !own.members) return own;
  const members = new Map(base.members);
  for (const [key, one] of own.members) {
    const former = members.get(key);
    members.set(key, former ? over(former, one) : one);
  }
  return { layer: own.layer, path: own.path, members };
}

/** A list without some of its items; each keeps its own line. */
function without(list: Node, items: readonly string[]): Node {
  const all = (list.leaf as readonly unknown[]).map((item, index) => [item, index] as const);
  const left = all.filter(([item]) => !items.includes(item as string));
  if (left.length === all.length) return list;
  const node = (index: number): Node => list.members?.get(`${index}`) ?? { ...list, path: [...list.path, index] };
  const members = new Map(left.map(([, index], place) => [`${place}`, node(index)]));
  return { ...list, leaf: left.map(([item]) => item), members };
}

function plainOf({ leaf, members }: Node): unknown {
  if (leaf !== undefined || !members) return leaf;
  return Object.fromEntries([...members].map(([key, node]) => [key, plainOf(node)]));
}

function spotOf(root: Node, path: YamlPath): SkuSpot {
  let node = root;
  let depth = 0;
  for (; depth < path.length; depth++) {
    const next = node.members?.get(String(path[depth]));
    if (!next) break;
    node = next;
  }
  return node.layer.at([...node.path, ...path.slice(depth)]);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
