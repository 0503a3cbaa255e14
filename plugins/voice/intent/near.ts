/**
 * How far a text is from a sentence, in words: the cheapest way to change the one into the other. For those who try
 * sentences out; a command is matched exactly (`automaton.ts`).
 */
import type { SlotValue } from '@device-core/plugin-api/services/intents';
import type { Node, Slot } from './tree.ts';
import { wordsOf } from './words.ts';

export interface Near {
  /** Words that differ; a word of another spelling counts by its letters. 0: it is the sentence. */
  readonly distance: number;
  readonly slots: Readonly<Record<string, SlotValue>>;
  /** Differences, in the order of the text. */
  readonly changes: readonly string[];
  /** Its own words, those that are missing too; absent where a slot has no value. */
  readonly said?: readonly string[];
}

/** A way through the sentence up to a place of the text. */
interface Path extends Near {
  /** Words in open slots: of two ways the one that knows more words is better. */
  readonly open: number;
}

type Front = ReadonlyMap<number, Path>;

/** Words by which a text may differ and still be worth telling about: half of it, within these. */
const [LEAST_NEAR, MOST_NEAR] = [2, 3];
const EXTRA = 1;
const MISSING = 1;
const NO_SLOT = 2;
const WRONG_VALUE = 1.5;
/** Words of a value at most. */
const MOST_VALUE = 12;
/** Values of a list that are compared by their letters. */
const MOST_ALIKE = 64;

/** Looks that a question may cost: a device with ten thousand sentences answers all the same. */
export class Looks {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  get spent(): boolean {
    return this.#left <= 0;
  }

  take(): boolean {
    return this.#left-- > 0;
  }
}

/** Undefined where it is no longer near, or the looks are spent. */
export function near(sentence: Node, words: readonly string[], looks: Looks): Near | undefined {
  const search = new Search(words, looks);
  const begin: Front = new Map([[0, { distance: 0, open: 0, slots: {}, changes: [], said: [] }]]);
  return search.extra(search.through(sentence, begin)).get(words.length);
}

class Search {
  readonly #words: readonly string[];
  readonly #looks: Looks;
  readonly #most: number;

  constructor(words: readonly string[], looks: Looks) {
    this.#words = words;
    this.#most = Math.min(MOST_NEAR, Math.max(LEAST_NEAR, Math.ceil(words.length / 2)));
    this.#looks = looks;
  }

  through(node: Node, front: Front): Front {
    if (front.size === 0 || !this.#looks.take()) return new Map();
    if (node.kind === 'all') return node.of.reduce((before, part) => this.through(part, before), front);
    if (node.kind === 'any') {
      const all = new Best(this.#most);
      for (const part of node.of) for (const [at, path] of this.through(part, front)) all.add(at, path);
      return all.front;
    }
    const before = this.extra(front);
    return node.kind === 'word' ? this.#word(node.word, before) : this.#slot(node.name, node.slot, before);
  }

  /** Words of the text that no sentence needs. */
  extra(front: Front): Front {
    const all = new Best(this.#most, front);
    const places = [...front.keys()].sort((one, other) => one - other);
    for (let at = places[0] ?? this.#words.length; at < this.#words.length; at++) {
      const path = all.front.get(at);
      if (path) all.add(at + 1, changed(path, EXTRA, `${quoted(this.#words[at]!)} is too much`));
    }
    return all.front;
  }

  #word(word: string, front: Front): Front {
    const after = new Best(this.#most);
    for (const [at, path] of front) {
      const said = this.#words[at];
      after.add(at, saying(changed(path, MISSING, `${quoted(word)} is missing`), word));
      if (said === word) after.add(at + 1, saying(path, word));
      else if (said !== undefined)
        after.add(
          at + 1,
          saying(changed(path, unlike(said, word), `${quoted(said)} in the place of ${quoted(word)}`), word),
        );
    }
    return after.front;
  }

  #slot(name: string, slot: Slot, front: Front): Front {
    const after = new Best(this.#most);
    for (const [at, path] of front) {
      after.add(at, unsaid(changed(path, NO_SLOT, `{${name}} is missing`)));
      const most = Math.min(this.#words.length, slot.said ? at + MOST_VALUE : this.#words.length);
      let known = false;
      for (let end = at + 1; end <= most && this.#looks.take(); end++) {
        const value = slot.read(this.#words.slice(at, end));
        if (value === undefined) continue;
        known = true;
        const open = path.open + (slot.said ? 0 : end - at);
        after.add(
          end,
          saying({ ...path, open, slots: { ...path.slots, [name]: value } }, ...this.#words.slice(at, end)),
        );
      }
      if (known || at >= this.#words.length) continue;
      this.#alike(name, slot, at, path, after);
      after.add(at + 1, unsaid(changed(path, WRONG_VALUE, `${quoted(this.#words[at]!)} is no value of {${name}}`)));
    }
    return after.front;
  }

  /** A value of a list in another spelling. */
  #alike(name: string, { type }: Slot, at: number, path: Path, after: Best): void {
    if (type.kind !== 'list' || type.values.length > MOST_ALIKE) return;
    for (const { in: text, out } of type.values) {
      const words = wordsOf(text);
      const end = at + words.length;
      if (end > this.#words.length || !this.#looks.take()) continue;
      const [said, own] = [this.#words.slice(at, end).join(' '), words.join(' ')];
      const by = unlike(said, own) * words.length;
      const value = saying({ ...path, slots: { ...path.slots, [name]: out } }, ...words);
      if (by < WRONG_VALUE) after.add(end, changed(value, by, `${quoted(said)} in the place of ${quoted(own)}`));
    }
  }
}

/** The best path to each place. */
class Best {
  readonly front: Map<number, Path>;
  readonly #most: number;

  constructor(most: number, front: Front = new Map()) {
    this.#most = most;
    this.front = new Map(front);
  }

  add(at: number, path: Path): void {
    if (path.distance > this.#most) return;
    const known = this.front.get(at);
    if (!known || path.distance < known.distance || (path.distance === known.distance && path.open < known.open))
      this.front.set(at, path);
  }
}

function changed(path: Path, by: number, change: string): Path {
  return { ...path, distance: path.distance + by, changes: [...path.changes, change] };
}

function saying(path: Path, ...words: readonly string[]): Path {
  return path.said ? { ...path, said: [...path.said, ...words] } : path;
}

function unsaid({ said: _, ...path }: Path): Path {
  return path;
}

function quoted(word: string): string {
  return JSON.stringify(word);
}

/** Letters to change of the longer word's, 0..1. */
export function unlike(one: string, other: string): number {
  const [a, b] = [[...one], [...other]];
  let row = b.map((_, index) => index + 1);
  row.unshift(0);
  for (const [index, letter] of a.entries()) {
    const next = [index + 1];
    for (const [place, own] of b.entries())
      next.push(Math.min(row[place + 1]! + 1, next[place]! + 1, row[place]! + (own === letter ? 0 : 1)));
    row = next;
  }
  return row.at(-1)! / Math.max(a.length, b.length, 1);
}
