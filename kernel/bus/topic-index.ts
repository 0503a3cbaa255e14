/**
 * Which subscribers match a topic: a trie of filter segments, and in front of it a cache of whole topics that a
 * generation number keeps true. A topic enters the cache when it is seen the second time, so that topics which never
 * repeat neither pay for it nor push others out. Segments are found by a hash computed while the topic is checked:
 * cutting strings out of it would cost more than the walk.
 */
import { checkTopic } from '@device-core/plugin-api';

/** `mark` belongs to the index: it tells whether a value is in the list under construction already. */
export interface Indexed {
  mark: number;
}

interface Node<T> {
  readonly name: string;
  /** By hash of the name, or the first free key from there on in steps of PROBE. */
  children: Map<number, Node<T>> | undefined;
  /** The branch of `*`. */
  any: Node<T> | undefined;
  /** Filters that end here. Lists are replaced, never changed: a message in flight keeps the one it was matched with. */
  here: readonly T[];
  /** Filters that end with `**` here. */
  below: readonly T[];
}

const NONE: readonly never[] = Object.freeze([]);
const DOT = 46;
const PROBE = 0x3779b1;
const MAX_SEGMENTS = 16;
const MAX_LENGTH = 255;
/** After so many topics that were not in the cache only one in sixteen is still looked up there, until one is found. */
const PATIENCE = 512;
const VALID = Uint8Array.from({ length: 128 }, (_, code) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(code)) ? 1 : 0));

export class TopicIndex<T extends Indexed> {
  readonly #root: Node<T> = node('');
  readonly #cache = new Map<string, { generation: number; targets: readonly T[] }>();
  readonly #cacheLimit: number;
  readonly #seenOnce = new Set<string>();
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
      const next: Node<T> = child(at, segment) ?? node(segment);
      if (segment === '*') at.any = next;
      else {
        at.children ??= new Map();
        at.children.set(keyOf(at, segment), next);
      }
      at = next;
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
    if (this.#seenOnce.delete(topic)) {
      if (this.#cache.size >= this.#cacheLimit) this.#cache.clear();
      this.#cache.set(topic, { generation: this.#generation, targets });
    } else {
      if (this.#seenOnce.size >= this.#cacheLimit) this.#seenOnce.clear();
      this.#seenOnce.add(topic);
    }
    return targets;
  }

  #find(topic: string): readonly T[] {
    if (!this.#scan(topic)) checkTopic(topic);
    this.#lists.length = 0;
    this.#walk(this.#root, 0, 0);
    return this.#lists.length > 1 ? this.#merge() : (this.#lists[0] ?? NONE);
  }

  /** Checks, splits and hashes in one pass. False: the topic is not valid, and checkTopic() says why. */
  #scan(topic: string): boolean {
    if (typeof topic !== 'string' || topic.length > MAX_LENGTH) return false;
    let start = 0;
    let count = 0;
    let hash = 0;
    for (let i = 0; i <= topic.length; i++) {
      const code = i === topic.length ? DOT : topic.charCodeAt(i);
      if (code === DOT) {
        if (i === start || count === MAX_SEGMENTS) return false;
        this.#hashes[count] = hash;
        this.#ends[count++] = i;
        start = i + 1;
        hash = 0;
      } else if (code < 128 && VALID[code] === 1) hash = (Math.imul(hash, 31) + code) | 0;
      else return false;
    }
    this.#count = count;
    this.#topic = topic;
    return true;
  }

  #merge(): readonly T[] {
    const mark = ++this.#mark;
    const targets: T[] = [];
    for (let i = 0; i < this.#lists.length; i++) {
      const list = this.#lists[i]!;
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
    let key = this.#hashes[depth]!;
    let next = at.children?.get(key);
    while (next && !isAt(this.#topic, start, end, next.name)) {
      key = (key + PROBE) | 0;
      next = at.children?.get(key);
    }
    if (next) this.#walk(next, depth + 1, end + 1);
    if (at.any) this.#walk(at.any, depth + 1, end + 1);
  }
}

function node<T>(name: string): Node<T> {
  return { name, children: undefined, any: undefined, here: NONE, below: NONE };
}

/** The key of a segment among the children, or the one that it would get. */
function keyOf<T>({ children }: Node<T>, segment: string): number {
  let key = 0;
  for (let i = 0; i < segment.length; i++) key = (Math.imul(key, 31) + segment.charCodeAt(i)) | 0;
  while (children?.has(key) && children.get(key)!.name !== segment) key = (key + PROBE) | 0;
  return key;
}

function child<T>(at: Node<T>, segment: string): Node<T> | undefined {
  return segment === '*' ? at.any : at.children?.get(keyOf(at, segment));
}

function isAt(topic: string, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (topic.charCodeAt(start + i) !== name.charCodeAt(i)) return false;
  return true;
}

/** True: the branch is empty and may go. */
function prune<T>(at: Node<T>, path: readonly string[], depth: number, value: T): boolean {
  const segment = path[depth];
  if (segment === undefined) at.here = at.here.filter((other) => other !== value);
  else if (segment === '**') at.below = at.below.filter((other) => other !== value);
  else {
    const next = child(at, segment);
    if (next && prune(next, path, depth + 1, value)) {
      const key = keyOf(at, segment);
      if (segment === '*') at.any = undefined;
      else if (!at.children!.has((key + PROBE) | 0)) at.children!.delete(key); // else: a way station to another
    }
  }
  return at.here.length === 0 && at.below.length === 0 && !at.any && !at.children?.size;
}
