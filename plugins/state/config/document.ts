/**
 * One YAML file of settings, editable in place so that comments and the order of lines survive a write.
 *
 * The form that the Core writes is one full dotted key a line (`display.brightness: 80`). Nested maps are read, too: a map is nesting unless it
 * is tagged `!value`, which is how a value that is itself a non-empty map is written. Arrays and empty maps are always values; null is "not set".
 */
import { CoreError } from '@device-core/plugin-api';
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  YAMLMap,
} from 'yaml';
import { clip, freezeCopy, keyFault, valueFault } from './keys.ts';

const VALUE_TAG = '!value';
const customTags = (tags: unknown[]) =>
  [...tags, { tag: VALUE_TAG, collection: 'map', nodeClass: YAMLMap, identify: () => false }] as never;

interface Place {
  readonly pair: Pair;
  /** The map that holds the pair, and its ancestors from the root on. */
  readonly chain: readonly YAMLMap[];
  readonly line: number;
  readonly value: unknown;
}

export class ConfigDocument {
  readonly #document: Document;
  readonly #places = new Map<string, Place>();

  private constructor(document: Document) {
    this.#document = document;
  }

  /** Throws STATE_CORRUPT whose reason starts with the line. */
  static parse(text: string, file: string): ConfigDocument {
    const lines = new LineCounter();
    const source = parseDocument(text, { customTags, lineCounter: lines, logLevel: 'silent', prettyErrors: false });
    const fail = (line: number, reason: string): never => {
      throw new CoreError('STATE_CORRUPT', { file, reason: `line ${line}: ${reason}`, line });
    };
    const lineOf = (node: unknown): number => (isNode(node) && node.range ? lines.linePos(node.range[0]).line : 1);
    const error = source.errors[0] ?? source.warnings[0];
    if (error) fail(lines.linePos(error.pos[0]).line, error.message);
    visit(source, {
      Alias: (_, node) => fail(lineOf(node), 'aliases are not allowed'),
      Node: (_, node) => {
        const tag = (node as Node & { tag?: string }).tag;
        if (tag !== undefined && tag !== VALUE_TAG) fail(lineOf(node), `the tag ${tag} is not allowed`);
      },
    });
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

  /** Changes the line in place, or appends one. The line numbers of other keys are those of the text as it was parsed. */
  set(key: string, value: unknown): void {
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
    this.#places.set(key, { pair, chain: [root], line: 0, value });
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
    const empty = !isMap(contents) || contents.items.length === 0;
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
  ): void {
    const chain = [...parents, map];
    for (const pair of map.items as Pair[]) {
      const line = lineOf(pair.key);
      if (!isScalar(pair.key)) fail(line, 'a key must be a plain text');
      const scalar = pair.key as { source?: string; value: unknown };
      const key = `${prefix}${scalar.source ?? String(scalar.value)}`;
      const fault = keyFault(key);
      if (fault)
        fail(
          line,
          `key "${clip(key)}" is not valid: ${fault}${prefix ? ` (a map that is a value is marked with ${VALUE_TAG})` : ''}`,
        );
      const node = pair.value;
      if (isMap(node) && node.tag !== VALUE_TAG && node.items.length > 0) {
        this.#collect(node as YAMLMap, `${key}.`, chain, lineOf, fail);
        continue;
      }
      const value: unknown = isNode(node) && !isAlias(node) ? node.toJS(this.#document) : null;
      if (value === null || value === undefined) continue;
      const valueReason = valueFault(value);
      if (valueReason) fail(line, `the value of ${key} is not valid: ${valueReason}`);
      if (this.#places.has(key)) fail(line, `${key} is set twice, first in line ${this.line(key)}`);
      this.#places.set(key, { pair, chain, line, value: freezeCopy(value) });
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
