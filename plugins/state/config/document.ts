/**
 * One YAML file of settings, editable in place so that comments and the order of lines survive a write.
 *
 * The form that the Core writes is one full dotted key a line (`display.brightness: 80`). Nested maps are read, too: a
 * map is nesting unless it is tagged `!value`, which is how a value that is itself a non-empty map is written. Arrays
 * and empty maps are always values; null is "not set".
 */
import { CoreError } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { plainFault } from '@device-core/plugin-api/inside/yaml';
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml';
import { clip, freezeCopy, keyFault, valueFault } from './keys.ts';

const yaml = packageLater<typeof import('yaml')>('yaml', import.meta.url);

const VALUE_TAG = '!value';
/** Markers of directives, and of the beginning and the end of a document. */
const MARKER = /^(?:---|\.\.\.|%|\ufeff)/m;
const customTags = (tags: unknown[]) =>
  [...tags, { tag: VALUE_TAG, collection: 'map', nodeClass: yaml().YAMLMap, identify: () => false }] as never;

/** An empty line, or a comment that begins with the line. */
const LOOSE = /^(?:#.*|[ \t]*)\r?\n$/;

interface Place {
  readonly pair: Pair;
  /** The map that holds the pair, and its ancestors from the root on. */
  readonly chain: readonly YAMLMap[];
  /** The pair of the root that it stands in. */
  readonly root: Pair;
  readonly line: number;
  readonly value: unknown;
}

/** Place of one pair of the root in the text. */
export interface Part {
  /** The written key: a whole one, or the beginning of several. */
  readonly name: string;
  /** Keys that have a value there. */
  readonly keys: readonly string[];
  /** Start of the comments and empty lines that stand before it, start of its own first line. */
  readonly before: number;
  readonly start: number;
}

export class ConfigDocument {
  /** Undefined while it is empty: most devices begin without settings, and need no YAML to read none. */
  #parsed: Document | undefined;
  readonly #places = new Map<string, Place>();

  private constructor(document?: Document) {
    this.#parsed = document;
  }

  get #document(): Document {
    this.#parsed ??= yaml().parseDocument('', { customTags });
    return this.#parsed;
  }

  /** Throws STATE_CORRUPT; its reason starts with the line. */
  static parse(text: string, file: string): ConfigDocument {
    if (text === '') return new ConfigDocument();
    const { isMap, isNode, isScalar, LineCounter, parseDocument, visit } = yaml();
    const lines = new LineCounter();
    const source = parseDocument(text, { customTags, lineCounter: lines, logLevel: 'silent', prettyErrors: false });
    const fail = (line: number, reason: string): never => {
      throw new CoreError('STATE_CORRUPT', { file, reason: `line ${line}: ${reason}`, line });
    };
    const lineOf = (node: unknown): number => (isNode(node) && node.range ? lines.linePos(node.range[0]).line : 1);
    const [error] = source.errors;
    if (error) fail(lines.linePos(error.pos[0]).line, error.message);
    const fault = plainFault(yaml(), source, (offset) => lines.linePos(offset).line, VALUE_TAG);
    if (fault) fail(fault.line, fault.message);
    visit(source, { Alias: (_, node) => fail(lineOf(node), 'aliases are not allowed') });
    const document = new ConfigDocument(source);
    if (source.contents !== null && !isMap(source.contents)) {
      const empty = isScalar(source.contents) && source.contents.value === null;
      if (!empty) fail(lineOf(source.contents), 'the file must hold a map of keys');
    }
    if (isMap(source.contents)) document.#collect(source.contents, '', [], lineOf, fail);
    return document;
  }

  keys(): IterableIterator<string> {
    return this.#places.keys();
  }

  value(key: string): unknown {
    return this.#places.get(key)?.value;
  }

  line(key: string): number | undefined {
    return this.#places.get(key)?.line;
  }

  /**
   * Places of the root's pairs in the parsed text, and the end of the last one: whole lines, each part a document by itself.
   * Undefined if the text cannot be cut so: a root in braces, indented or below a marker of YAML.
   */
  parts(text: string): { readonly parts: readonly Part[]; readonly end: number } | undefined {
    const contents = this.#parsed?.contents;
    if (!contents || !yaml().isMap(contents) || contents.flow || contents.items.length === 0 || MARKER.test(text))
      return undefined;
    const keysOf = Map.groupBy(this.#places.keys(), (key) => this.#places.get(key)!.root);
    const parts: Part[] = [];
    let end = 0;
    for (const pair of contents.items as Pair<Scalar, Node | null>[]) {
      const start = pair.key.range?.[0] ?? -1;
      if (start !== 0 && text[start - 1] !== '\n') return undefined;
      const before = loose(text, end, start);
      parts.push({ name: nameOf(pair.key), keys: keysOf.get(pair) ?? [], before, start });
      end = lineEnd(text, Math.max(pair.key.range?.[1] ?? start, pair.value?.range?.[1] ?? start));
    }
    return { parts, end };
  }

  /** Changes the line in place, or appends one. The line numbers of other keys are those of the text as it was parsed. */
  set(key: string, value: unknown): void {
    const { isMap, isNode, YAMLMap } = yaml();
    const node = this.#document.createNode(value);
    if (isMap(node) && node.items.length > 0) node.tag = VALUE_TAG;
    const place = this.#places.get(key);
    if (place) {
      const former = place.pair.value;
      if (isNode(former) && former.comment) node.comment = former.comment;
      place.pair.value = node;
      this.#places.set(key, { ...place, value });
      return;
    }
    if (!isMap(this.#document.contents)) this.#document.contents = new YAMLMap(this.#document.schema) as never;
    const root = this.#document.contents as unknown as YAMLMap;
    if (root.items.length === 0) root.flow = false;
    const pair = this.#document.createPair(key, node);
    root.items.push(pair);
    this.#places.set(key, { pair, chain: [root], root: pair, line: 0, value });
  }

  delete(key: string): void {
    const place = this.#places.get(key);
    if (!place) return;
    this.#places.delete(key);
    let gone: unknown = place.pair;
    for (const holder of place.chain.toReversed()) {
      const at = holder.items.findIndex((pair) => pair === gone || pair.value === gone);
      if (at >= 0) holder.items.splice(at, 1);
      // A map that has become empty would be read as the value {}, so it goes as well.
      if (holder.items.length > 0) return;
      gone = holder;
    }
  }

  toString(): string {
    const { contents } = this.#document;
    const empty = !yaml().isMap(contents) || contents.items.length === 0;
    if (!empty) return this.#document.toString({ lineWidth: 0 });
    const comments = [this.#document.commentBefore, this.#document.comment].filter(Boolean).join('\n');
    return `${comments === '' ? '' : `${comments.replace(/^/gm, '#')}\n`}{}\n`;
  }

  #collect(
    map: YAMLMap,
    prefix: string,
    parents: readonly YAMLMap[],
    lineOf: (node: unknown) => number,
    fail: (line: number, reason: string) => never,
    root?: Pair,
  ): void {
    const { isAlias, isMap, isNode, isScalar } = yaml();
    const chain = [...parents, map];
    for (const pair of map.items as Pair[]) {
      const line = lineOf(pair.key);
      if (!isScalar(pair.key)) fail(line, 'a key must be a plain text');
      const key = `${prefix}${nameOf(pair.key as Scalar)}`;
      const rootPair = root ?? pair;
      const fault = keyFault(key);
      if (fault)
        fail(
          line,
          `key "${clip(key)}" is not valid: ${fault}${prefix ? ` (a map that is a value is marked with ${VALUE_TAG})` : ''}`,
        );
      const node = pair.value;
      if (isMap(node) && node.tag !== VALUE_TAG && node.items.length > 0) {
        this.#collect(node as YAMLMap, `${key}.`, chain, lineOf, fail, rootPair);
        continue;
      }
      const value: unknown = isNode(node) && !isAlias(node) ? node.toJS(this.#document) : null;
      if (value === null || value === undefined) continue;
      const valueReason = valueFault(value);
      if (valueReason) fail(line, `the value of ${key} is not valid: ${valueReason}`);
      if (this.#places.has(key)) fail(line, `${key} is set twice, first in line ${this.line(key)}`);
      this.#places.set(key, { pair, chain, root: rootPair, line, value: freezeCopy(value) });
    }
    if (prefix === '') this.#refusePrefixes(fail);
  }

  /** Within one file a key is a value or the beginning of other keys, never both. */
  #refusePrefixes(fail: (line: number, reason: string) => never): void {
    for (const [key, place] of this.#places) {
      for (let dot = key.indexOf('.'); dot >= 0; dot = key.indexOf('.', dot + 1)) {
        const parent = key.slice(0, dot);
        if (this.#places.has(parent)) fail(place.line, `${key} stands below ${parent}, which is a value itself`);
      }
    }
  }
}

function nameOf(key: Scalar): string {
  return key.source ?? String(key.value);
}

/** Start of the empty lines and the comments without indentation that stand before `start`, not before `least`. */
function loose(text: string, least: number, start: number): number {
  let from = start;
  while (from > least) {
    const line = text.lastIndexOf('\n', from - 2) + 1;
    if (line < least || !LOOSE.test(text.slice(line, from))) break;
    from = line;
  }
  return from;
}

/** Start of the next line. */
function lineEnd(text: string, offset: number): number {
  if (offset > 0 && text[offset - 1] === '\n') return offset;
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}
