/**
 * Finds any of many texts in one pass (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994): a window
 * of eight characters jumps ahead as far as its last three allow. What is added counts at once. Those that begin alike
 * are in order, so that many of them cost no more than a few.
 */
import { type Form, headsOf } from './forms.ts';

/** The least length of a text that is looked for. */
export const WINDOW = 8;
/** So much of a text, from its beginning, is hidden although its end is missing: a log cuts what is long. */
export const PART = 24;
const FARTHEST = 6;
const SLOTS = 1 << 16;
/** Texts of one name's scope whose forms have one head: each of them is compared where it is found. */
const MOST_ALIKE = 32;
/** Removed texts that still slow the window down. */
const MOST_STALE = 256;
/** Long forms that were found last, laid out. */
const MOST_WHOLES = 32;

/** Owner of a form. */
interface Owner {
  readonly text: string;
  readonly name: string;
  readonly scope: string;
  readonly whole: Form['whole'];
}

interface Needle {
  readonly head: string;
  owners: Owner[];
}

export interface Found {
  readonly at: number;
  readonly length: number;
  readonly name: string;
}

export interface Told {
  readonly text: string;
  readonly name: string;
  readonly scope: string;
}

export class Needles {
  /** How far the window may jump, by the last three characters in it. */
  readonly #jumps: Uint8Array;
  /** In the order of their characters. */
  readonly #byHead = new Map<string, Needle[]>();
  readonly #wholes = new Map<Owner, string>();
  #stale = 0;
  /** Characters that were compared so far. */
  steps = 0;

  /** `slots` is a power of two. */
  constructor(slots = SLOTS) {
    this.#jumps = new Uint8Array(slots).fill(FARTHEST);
  }

  /** One of at least WINDOW characters, in all its forms. Answers how many forms of others of its scope had to give way. */
  add({ text, name, scope }: Told): number {
    let gone = 0;
    for (const { head, whole } of headsOf(text)) {
      if (head.length < WINDOW) continue;
      const window = head.slice(0, WINDOW);
      const alike = this.#byHead.get(window) ?? [];
      if (alike.length === 0) this.#jumpTo(window);
      this.#byHead.set(window, alike);
      const at = placeOf(alike, head);
      if (alike[at]?.head !== head) alike.splice(at, 0, { head, owners: [] });
      const { owners } = alike[at]!;
      owners.push({ text, name, scope, whole });
      const own = owners.filter((one) => one.scope === scope);
      if (own.length <= MOST_ALIKE) continue;
      owners.splice(owners.indexOf(own[0]!), 1);
      gone += 1;
    }
    return gone;
  }

  remove({ text, name }: Told): void {
    for (const { head } of headsOf(text)) {
      const window = head.slice(0, WINDOW);
      const alike = this.#byHead.get(window);
      const at = alike ? placeOf(alike, head) : 0;
      const needle = alike?.[at];
      if (!alike || needle?.head !== head) continue;
      for (const owner of needle.owners) this.#wholes.delete(owner);
      needle.owners = needle.owners.filter((one) => one.text !== text || one.name !== name);
      if (needle.owners.length === 0) alike.splice(at, 1);
      if (alike.length === 0) this.#byHead.delete(window);
    }
    if (++this.#stale < MOST_STALE) return;
    this.#stale = 0;
    this.#jumps.fill(FARTHEST);
    for (const window of this.#byHead.keys()) this.#jumpTo(window);
  }

  /** Whether find() has to look closer. */
  maybe(text: string): boolean {
    return this.#head(text, 0) >= 0;
  }

  /** The first of them from a place on, as long as it is. Where the text was cut, `least` characters of one are enough. */
  find(text: string, from: number, least = WINDOW): Found | undefined {
    for (let at = this.#head(text, from); at >= 0; at = this.#head(text, at + 1)) {
      const found = this.#longest(text, at, least);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #jumpTo(window: string): void {
    const jumps = this.#jumps;
    for (let last = 2; last < WINDOW; last++) {
      const slot = slotOf(window, last) & (jumps.length - 1);
      jumps[slot] = Math.min(jumps[slot]!, WINDOW - 1 - last);
    }
  }

  /** Index where one of them may begin, or -1. */
  #head(text: string, from: number): number {
    const jumps = this.#jumps;
    const mask = jumps.length - 1;
    const { length } = text;
    for (let last = from + WINDOW - 1; last < length; ) {
      const jump = jumps[slotOf(text, last) & mask]!;
      if (jump > 0) last += jump;
      else if (this.#byHead.has(text.slice(last - WINDOW + 1, last + 1))) return last - WINDOW + 1;
      else last++;
    }
    return -1;
  }

  /**
   * Goes down one character at a time among those that begin alike. Each form with PART characters is found, so none
   * goes farther in vain.
   */
  #longest(text: string, at: number, least: number): Found | undefined {
    const alike = this.#byHead.get(text.slice(at, at + WINDOW))!;
    let [low, high] = [0, alike.length];
    let length = WINDOW;
    let whole: Needle | undefined;
    for (;;) {
      if (alike[low]!.head.length === length) whole = alike[low++];
      if (low === high || at + length === text.length) break;
      const code = text.charCodeAt(at + length);
      const first = this.#place(alike, [low, high, length], code);
      const behind = this.#place(alike, [first, high, length], code + 1);
      if (first === behind) break;
      [low, high, length] = [first, behind, length + 1];
    }
    const part = low < high && (length >= PART || (length >= least && isCut(text, at + length)));
    if (part && whole?.head.length !== length) return { at, length, name: alike[low]!.owners[0]!.name };
    return whole && this.#extended(whole, text, at);
  }

  /** The first whose character is not below this one. */
  #place(alike: readonly Needle[], [low, high, depth]: readonly [number, number, number], code: number): number {
    let [from, to] = [low, high];
    while (from < to) {
      const middle = (from + to) >> 1;
      this.steps++;
      if (alike[middle]!.head.charCodeAt(depth) < code) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #extended({ head, owners }: Needle, text: string, at: number): Found {
    let found: Found = { at, length: head.length, name: owners[0]!.name };
    for (const owner of owners) {
      if (owner.whole === undefined) continue;
      const length = this.#common(this.#whole(owner), text, at);
      if (length > found.length) found = { at, length, name: owner.name };
    }
    return found;
  }

  #whole(owner: Owner): string {
    const whole = this.#wholes.get(owner) ?? owner.whole!();
    this.#wholes.delete(owner);
    this.#wholes.set(owner, whole);
    if (this.#wholes.size > MOST_WHOLES) this.#wholes.delete(this.#wholes.keys().next().value!);
    return whole;
  }

  /** Characters from the beginning of the form that stand here. */
  #common(form: string, text: string, at: number): number {
    const most = Math.min(form.length, text.length - at);
    let length = WINDOW;
    while (length < most && form.charCodeAt(length) === text.charCodeAt(at + length)) length++;
    this.steps += length;
    return length;
  }
}

/** A log writes dots where it cut a text. */
function isCut(text: string, at: number): boolean {
  return at === text.length || text[at] === '…' || text.startsWith('...', at);
}

/** Slot of the three characters that end here. */
function slotOf(text: string, last: number): number {
  return (text.charCodeAt(last - 2) << 10) ^ (text.charCodeAt(last - 1) << 5) ^ text.charCodeAt(last);
}

/** Index of the head, or of its place. */
function placeOf(alike: readonly Needle[], head: string): number {
  let [from, to] = [0, alike.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (alike[middle]!.head < head) from = middle + 1;
    else to = middle;
  }
  return from;
}
