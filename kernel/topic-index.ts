/**
 * Which subscribers match a topic: a trie of filter segments, and in front of it a cache of whole topics that a generation number keeps true.
 * A topic enters the cache when it is seen the second time, so that topics which never repeat neither pay for it nor push others out.
 * Segments are found by a hash computed while the topic is checked: cutting strings out of it would cost more than the walk.
 */
import { checkTopic } from '@device-core/plugin-api';

/** `mark` belongs to the index: it tells whether a value is in the list under construction already. */
export interface Indexed {
  mark: number;
}

interface Node<T> {
  readonly name: string;
  /** By hash of the name; names with the same hash are chained by `twin`. */
  children: Map<number, Node<T>> | undefined;
  twin: Node<T> | undefined;
  /** The branch of `*`. */
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
/** Bits that remember topics seen once, and after how many they start anew: few are taken for a second sight that are none. */
const SEEN_BITS = 1 << 17;
const SEEN_LIMIT = 1 << 13;
/** After so many topics that were not in the cache only one in sixteen is still looked up there, until one is found. */
const PATIENCE = 512;
const VALID = Uint8Array.from({ length: 128 }, (_, code) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(code)) ? 1 : 0));

export class TopicIndex<T extends Indexed> {
  readonly #root: Node<T> = node('');
  readonly #cache = new Map<string, { generation: number; targets: readonly T[] }>();
  readonly #cacheLimit: number;
  readonly #seen = new Uint8Array(SEEN_BITS >> 3);
  #seenCount = 0;
  #misses = 0;
  #generation = 0;
  #mark = 0;
  // Scratch of one look-up: the topic, where its segments end, their hashes, and the lists found.
  #topic = '';
  readonly #ends = new Int32Array(MAX_SEGMENTS);
  readonly #hashes = new Int32Array(MAX_SEGMENTS);
  #count = 0;
  readonly #lists: (readonly T[])[] = [];

  /** At most `cacheLimit` topics are remembered. */
  constructor(cacheLimit: number) {
    this.#cacheLimit = cacheLimit;
  }

  /** `path` is canonical, from parseFilter(). */
  add(path: readonly string[], value: T): void {
    this.#generation++;
    let at = this.#root;
    for (const segment of path) {
      if (segment === '**') {
        at.below = [...at.below, value];
        return;
      }
      if (segment === '*') at.any ??= node(segment);
      at = segment === '*' ? at.any! : (find(at, segment) ?? attach(at, segment));
    }
    at.here = [...at.here, value];
  }

  /** Undoes add() with the same arguments; branches left empty go. */
  remove(path: readonly string[], value: T): void {
    this.#generation++;
    prune(this.#root, path, 0, value);
  }

  /** Every value with a matching filter, once. The list is never changed afterwards. Throws TOPIC_INVALID. */
  lookup(topic: string): readonly T[] {
    if (this.#misses > PATIENCE && (++this.#misses & 15) !== 0) return this.#find(topic);
    const known = this.#cache.get(topic);
    if (known) {
      this.#misses = 0;
      if (known.generation === this.#generation) return known.targets;
      known.targets = this.#find(topic);
      known.generation = this.#generation;
      return known.targets;
    }
    this.#misses++;
    const targets = this.#find(topic);
    if (this.#seenBefore()) {
      if (this.#cache.size >= this.#cacheLimit) this.#cache.clear();
      this.#cache.set(topic, { generation: this.#generation, targets });
    }
    return targets;
  }

  #find(topic: string): readonly T[] {
    if (!this.#scan(topic)) checkTopic(topic);
    const lists = this.#lists;
    lists.length = 0;
    this.#walk(this.#root, 0, 0);
    if (lists.length === 0) return NONE;
    return lists.length === 1 ? lists[0]! : this.#merge();
  }

  /** Checks, splits and hashes in one pass. False: the topic is not valid, and checkTopic() says why. */
  #scan(topic: string): boolean {
    if (typeof topic !== 'string' || topic.length > MAX_LENGTH) return false;
    let start = 0;
    let count = 0;
    let hash = 0;
    for (let i = 0; i < topic.length; i++) {
      const code = topic.charCodeAt(i);
      if (code === DOT) {
        if (i === start || count === MAX_SEGMENTS - 1) return false;
        this.#hashes[count] = hash;
        this.#ends[count++] = i;
        start = i + 1;
        hash = 0;
      } else if (code < 128 && VALID[code] === 1) hash = (Math.imul(hash, 31) + code) | 0;
      else return false;
    }
    if (start === topic.length) return false;
    this.#hashes[count] = hash;
    this.#ends[count++] = topic.length;
    this.#count = count;
    this.#topic = topic;
    return true;
  }

  #merge(): readonly T[] {
    const lists = this.#lists;
    const mark = ++this.#mark;
    const targets: T[] = [];
    for (let i = 0; i < lists.length; i++) {
      const list = lists[i]!;
      for (let j = 0; j < list.length; j++) {
        const value = list[j]!;
        if (value.mark === mark) continue;
        value.mark = mark;
        targets.push(value);
      }
    }
    return targets;
  }

  #walk(at: Node<T>, depth: number, start: number): void {
    if (depth === this.#count) {
      if (at.here.length > 0) this.#lists.push(at.here);
      return;
    }
    if (at.below.length > 0) this.#lists.push(at.below);
    const end = this.#ends[depth]!;
    let next = at.children?.get(this.#hashes[depth]!);
    while (next && !isAt(this.#topic, start, end, next.name)) next = next.twin;
    if (next) this.#walk(next, depth + 1, end + 1);
    if (at.any) this.#walk(at.any, depth + 1, end + 1);
  }

  #seenBefore(): boolean {
    let hash = 0;
    for (let i = 0; i < this.#count; i++) hash = Math.imul(hash ^ this.#hashes[i]!, 0x9e3779b1);
    const seen = this.#take(hash >>> 15);
    if (this.#take(hash & (SEEN_BITS - 1)) && seen) return true;
    if (++this.#seenCount > SEEN_LIMIT) {
      this.#seen.fill(0);
      this.#seenCount = 0;
    }
    return false;
  }

  /** Sets a bit, and tells whether it was set. */
  #take(bit: number): boolean {
    const byte = this.#seen[bit >> 3]!;
    this.#seen[bit >> 3] = byte | (1 << (bit & 7));
    return (byte & (1 << (bit & 7))) !== 0;
  }
}

function node<T>(name: string): Node<T> {
  return { name, children: undefined, twin: undefined, any: undefined, here: NONE, below: NONE };
}

function hashOf(segment: string): number {
  let hash = 0;
  for (let i = 0; i < segment.length; i++) hash = (Math.imul(hash, 31) + segment.charCodeAt(i)) | 0;
  return hash;
}

function isAt(topic: string, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (topic.charCodeAt(start + i) !== name.charCodeAt(i)) return false;
  return true;
}

function find<T>(at: Node<T>, segment: string): Node<T> | undefined {
  let next = at.children?.get(hashOf(segment));
  while (next && next.name !== segment) next = next.twin;
  return next;
}

function attach<T>(at: Node<T>, segment: string): Node<T> {
  const hash = hashOf(segment);
  const child = node<T>(segment);
  at.children ??= new Map();
  child.twin = at.children.get(hash);
  at.children.set(hash, child);
  return child;
}

function detach<T>({ children }: Node<T>, child: Node<T>): void {
  const hash = hashOf(child.name);
  let before = children?.get(hash);
  while (before && before !== child && before.twin !== child) before = before.twin;
  if (before !== child) before!.twin = child.twin;
  else if (child.twin) children!.set(hash, child.twin);
  else children!.delete(hash);
}

/** True: the branch is empty and may go. */
function prune<T>(at: Node<T>, path: readonly string[], depth: number, value: T): boolean {
  const segment = path[depth];
  if (segment === undefined) at.here = at.here.filter((other) => other !== value);
  else if (segment === '**') at.below = at.below.filter((other) => other !== value);
  else {
    const next = segment === '*' ? at.any : find(at, segment);
    if (next && prune(next, path, depth + 1, value)) {
      if (segment === '*') at.any = undefined;
      else detach(at, next);
    }
  }
  return at.here.length === 0 && at.below.length === 0 && !at.any && !at.children?.size;
}
