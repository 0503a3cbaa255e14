/**
 * Which subscribers match a topic: a trie of filter segments, and in front of it a cache of whole topics that a generation number keeps true.
 * A topic enters the cache when it is seen the second time, so that topics which never repeat neither pay for it nor push others out.
 */
import { checkTopic } from '@device-core/plugin-api';

/** `mark` belongs to the index: it tells whether a value is in the list under construction already. */
export interface Indexed {
  mark: number;
}

interface Node<T> {
  children: Map<string, Node<T>> | undefined;
  any: Node<T> | undefined;
  /** Filters that end here. Lists are replaced, never changed: a message in flight keeps the one it was matched with. */
  here: readonly T[];
  /** Filters that end with `**` here. */
  below: readonly T[];
}

const NONE: readonly never[] = Object.freeze([]);
const DOT = 46;
const MAX_SEGMENTS = 16;
const MAX_LENGTH = 255;
/** Bits of the filter that remembers topics seen once, and after how many it starts anew: at most one in sixteen is taken for a second sight. */
const SEEN_BITS = 1 << 17;
const SEEN_LIMIT = 1 << 13;
const VALID = Uint8Array.from({ length: 128 }, (_, code) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(code)) ? 1 : 0));

export class TopicIndex<T extends Indexed> {
  readonly #root: Node<T> = node();
  readonly #cache = new Map<string, { generation: number; targets: readonly T[] }>();
  readonly #cacheLimit: number;
  readonly #seen = new Uint8Array(SEEN_BITS >> 3);
  #seenCount = 0;
  #generation = 0;
  #mark = 0;
  // Scratch of one look-up: segments of the topic, and the lists found.
  readonly #segments: string[] = new Array(MAX_SEGMENTS).fill('');
  #count = 0;
  #hash = 0;
  #lists: (readonly T[])[] = [];

  /** At most `cacheLimit` topics are remembered. */
  constructor(cacheLimit = 8192) {
    this.#cacheLimit = cacheLimit;
  }

  /** `path` is canonical, from parseFilter(). */
  add(path: readonly string[], value: T): void {
    this.#generation++;
    const open = path.at(-1) === '**';
    const end = open ? path.length - 1 : path.length;
    let at = this.#root;
    for (let i = 0; i < end; i++) at = descend(at, path[i]!);
    if (open) at.below = [...at.below, value];
    else at.here = [...at.here, value];
  }

  /** Undoes add() with the same arguments; empty branches go. */
  remove(path: readonly string[], value: T): void {
    this.#generation++;
    this.#remove(this.#root, path, 0, value);
  }

  /** Every value with a matching filter, once. The list is never changed afterwards. Throws TOPIC_INVALID. */
  lookup(topic: string): readonly T[] {
    const known = this.#cache.get(topic);
    if (known?.generation === this.#generation) return known.targets;
    if (!this.#scan(topic)) checkTopic(topic);
    const targets = this.#collect();
    if (known) {
      known.generation = this.#generation;
      known.targets = targets;
    } else if (this.#seenBefore()) {
      if (this.#cache.size >= this.#cacheLimit) this.#cache.clear();
      this.#cache.set(topic, { generation: this.#generation, targets });
    }
    return targets;
  }

  /** Splits, checks and hashes in one pass, as validation by regular expression costs more than the walk. False: not valid, checkTopic() says why. */
  #scan(topic: string): boolean {
    if (typeof topic !== 'string' || topic.length > MAX_LENGTH) return false;
    let start = 0;
    let count = 0;
    let hash = 0;
    for (let i = 0; i < topic.length; i++) {
      const code = topic.charCodeAt(i);
      hash = (Math.imul(hash, 31) + code) | 0;
      if (code === DOT) {
        if (i === start || count === MAX_SEGMENTS - 1) return false;
        this.#segments[count++] = topic.slice(start, i);
        start = i + 1;
      } else if (code > 127 || VALID[code] === 0) return false;
    }
    if (start === topic.length) return false;
    this.#segments[count++] = start === 0 ? topic : topic.slice(start);
    this.#count = count;
    this.#hash = hash;
    return true;
  }

  #seenBefore(): boolean {
    const bit = (this.#hash ^ (this.#hash >>> 15)) & (SEEN_BITS - 1);
    const mask = 1 << (bit & 7);
    if (this.#seen[bit >> 3]! & mask) return true;
    if (++this.#seenCount > SEEN_LIMIT) {
      this.#seen.fill(0);
      this.#seenCount = 1;
    }
    this.#seen[bit >> 3]! |= mask;
    return false;
  }

  #collect(): readonly T[] {
    this.#lists.length = 0;
    this.#walk(this.#root, 0);
    if (this.#lists.length === 0) return NONE;
    if (this.#lists.length === 1) return this.#lists[0]!;
    const mark = ++this.#mark;
    const targets: T[] = [];
    for (const list of this.#lists) {
      for (const value of list) {
        if (value.mark === mark) continue;
        value.mark = mark;
        targets.push(value);
      }
    }
    return targets;
  }

  #walk(at: Node<T>, depth: number): void {
    if (depth === this.#count) {
      if (at.here.length > 0) this.#lists.push(at.here);
      return;
    }
    if (at.below.length > 0) this.#lists.push(at.below);
    const next = at.children?.get(this.#segments[depth]!);
    if (next) this.#walk(next, depth + 1);
    if (at.any) this.#walk(at.any, depth + 1);
  }

  /** True: the branch is empty and may go. */
  #remove(at: Node<T>, path: readonly string[], depth: number, value: T): boolean {
    const segment = path[depth];
    if (segment === undefined) at.here = at.here.filter((other) => other !== value);
    else if (segment === '**') at.below = at.below.filter((other) => other !== value);
    else {
      const next = segment === '*' ? at.any : at.children?.get(segment);
      if (next && this.#remove(next, path, depth + 1, value)) {
        if (segment === '*') at.any = undefined;
        else at.children!.delete(segment);
      }
    }
    return at.here.length === 0 && at.below.length === 0 && !at.any && !at.children?.size;
  }
}

function node<T>(): Node<T> {
  return { children: undefined, any: undefined, here: NONE, below: NONE };
}

function descend<T>(at: Node<T>, segment: string): Node<T> {
  if (segment === '*') {
    at.any ??= node();
    return at.any;
  }
  at.children ??= new Map();
  let next = at.children.get(segment);
  if (!next) {
    next = node();
    at.children.set(segment, next);
  }
  return next;
}
