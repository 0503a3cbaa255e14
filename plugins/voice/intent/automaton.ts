/**
 * The text matcher of one definition: an automaton over words, without empty steps and without cycles. A step takes a
 * word, or all words of a slot. Matching looks at each pair of state and place once, so its time is bounded by their
 * product whatever the templates are.
 */
import type { SlotValue } from '@device-core/plugin-api/services/intents';
import type { Node, Slot } from './tree.ts';

interface State {
  readonly id: number;
  readonly words: ReadonlyMap<string, readonly State[]>;
  readonly slots: readonly { readonly name: string; readonly slot: CompiledSlot; readonly to: State }[];
  readonly final: boolean;
  /** Slots that may still come. */
  readonly slotted: Continuation;
}

interface CompiledSlot {
  readonly slot: Slot;
  /** Words for it; undefined for an open slot. */
  readonly said: State | undefined;
}

/**
 * Meaning of what may follow: nothing else, further numbers alone ("ten minutes [and thirty seconds]"), or anything. In
 * steps, so that the largest of several counts.
 */
export type Continuation = 0 | 1 | 2;
export const NUMBER: Continuation = 1;
const ANY: Continuation = 2;

export type Values = Readonly<Record<string, SlotValue>>;

export interface Reading {
  /** Words that open slots took: less is better, for words that are known say more. */
  readonly open: number;
  /** Distinct slots, at most `MOST_READINGS`. */
  readonly values: readonly Values[];
}

export interface Outcome {
  readonly reading: Reading | undefined;
  /** The words are the beginning of something longer that means something else. */
  readonly goesOn: Continuation;
}

export const MOST_READINGS = 4;
export const MAX_STEPS = 40_000;

export class TooLarge extends Error {}

export class Automaton {
  readonly #start: State;
  /** Words with which a sentence may begin; undefined where digits may, too. */
  readonly first: ReadonlySet<string> | undefined;
  /** Every word that it knows; undefined where an open slot takes any. */
  readonly #vocabulary: ReadonlySet<string> | undefined;

  /** Throws TooLarge. */
  constructor(nodes: readonly Node[]) {
    const maker = new Maker();
    this.#start = maker.automaton(nodes);
    this.#vocabulary = maker.open ? undefined : maker.words;
    const digits = this.#start.slots.some(({ slot }) => slot.slot.digits);
    const slotted = this.#start.slots.flatMap(({ slot }) => [...(slot.said?.words.keys() ?? [])]);
    this.first = digits ? undefined : new Set([...this.#start.words.keys(), ...slotted]);
  }

  match(words: readonly string[]): Outcome {
    // Most sentences differ by a word: that is seen before any state is.
    if (!words.every((word) => this.#knows(word))) return { reading: undefined, goesOn: 0 };
    const run = new Run(words);
    const reading = run.from(this.#start, 0);
    return { reading, goesOn: run.goesOn };
  }

  #knows(word: string): boolean {
    return !this.#vocabulary || this.#vocabulary.has(word) || /^\d|^(minus|moins)$/.test(word);
  }
}

/** Backwards: each part is made for the state that follows it, so that no empty steps are needed. */
class Maker {
  readonly words = new Set<string>();
  open = false;
  #states = 0;
  #steps = 0;
  readonly #slots = new Map<Slot, CompiledSlot>();

  automaton(nodes: readonly Node[]): State {
    const end = this.#state(new Map(), [], true);
    return this.#union(nodes.map((node) => this.#make(node, end)));
  }

  #make(node: Node, to: State): State {
    switch (node.kind) {
      case 'word':
        this.words.add(node.word);
        return this.#state(new Map([[node.word, [to]]]), [], false);
      case 'all':
        return node.of.reduceRight((next, part) => this.#make(part, next), to);
      case 'any':
        return this.#union(node.of.map((part) => this.#make(part, to)));
      case 'slot':
        return this.#state(new Map(), [{ name: node.name, slot: this.#slot(node.slot), to }], false);
    }
  }

  #slot(slot: Slot): CompiledSlot {
    const known = this.#slots.get(slot);
    if (known) return known;
    this.open ||= slot.said === undefined;
    const made = { slot, said: slot.said && this.automaton([slot.said]) };
    this.#slots.set(slot, made);
    return made;
  }

  #union(states: readonly State[]): State {
    const distinct = [...new Set(states)];
    if (distinct.length === 1) return distinct[0]!;
    const words = new Map<string, State[]>();
    for (const state of distinct) {
      for (const [word, to] of state.words) {
        const targets = words.get(word) ?? [];
        targets.push(...to.filter((one) => !targets.includes(one)));
        words.set(word, targets);
      }
    }
    const slots = distinct.flatMap((state) => state.slots);
    return this.#state(
      words,
      slots,
      distinct.some(({ final }) => final),
    );
  }

  #state(words: State['words'], slots: State['slots'], final: boolean): State {
    this.#steps += 1 + words.size + slots.length;
    if (this.#steps > MAX_STEPS)
      throw new TooLarge(`it has more than ${MAX_STEPS} steps: write less in one definition`);
    const bySlots = slots.map(({ slot, to }) => (slot.slot.digits ? larger(NUMBER, to.slotted) : ANY));
    const byWords = [...words.values()].flat().map(({ slotted }) => slotted);
    return { id: this.#states++, words, slots, final, slotted: [...bySlots, ...byWords].reduce(larger, 0) };
  }
}

function larger(one: Continuation, other: Continuation): Continuation {
  return one > other ? one : other;
}

interface Ends {
  readonly at: readonly { readonly end: number; readonly value: SlotValue }[];
  readonly goesOn: Continuation;
}

class Run {
  readonly #words: readonly string[];
  readonly #readings = new Map<number, Reading | undefined>();
  readonly #ends = new Map<CompiledSlot, Map<number, Ends>>();
  goesOn: Continuation = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  /** How the words from `at` on bring a state to its end; undefined where they do not. */
  from(state: State, at: number): Reading | undefined {
    const key = state.id * (this.#words.length + 1) + at;
    if (this.#readings.has(key)) return this.#readings.get(key);
    const reading = this.#read(state, at);
    this.#readings.set(key, reading);
    return reading;
  }

  #read(state: State, at: number): Reading | undefined {
    if (at === this.#words.length) {
      // "What time is it [now]" asks the same without its last word: that is not waited for.
      this.#may(state.final ? state.slotted : ANY);
      return state.final ? { open: 0, values: [{}] } : undefined;
    }
    const best = new Best();
    for (const to of state.words.get(this.#words[at]!) ?? []) best.add(this.from(to, at + 1));
    for (const { name, slot, to } of state.slots) {
      const ends = this.#endsOf(slot, at);
      this.#may(ends.goesOn);
      for (const { end, value } of ends.at) best.add(this.from(to, end), slot.said ? 0 : end - at, { [name]: value });
    }
    return best.reading;
  }

  #may(goesOn: Continuation): void {
    this.goesOn = larger(goesOn, this.goesOn);
  }

  #endsOf(slot: CompiledSlot, at: number): Ends {
    const known = this.#ends.get(slot)?.get(at);
    if (known) return known;
    const found = slot.said ? this.#said(slot.slot, slot.said, at) : this.#open(slot.slot, at);
    const places = this.#ends.get(slot) ?? new Map<number, Ends>();
    this.#ends.set(slot, places.set(at, found));
    return found;
  }

  #open({ read }: Slot, at: number): Ends {
    const ends = this.#words.slice(at).map((_, index) => at + index + 1);
    return { at: ends.map((end) => ({ end, value: read(this.#words.slice(at, end))! })), goesOn: ANY };
  }

  #said(slot: Slot, start: State, at: number): Ends {
    const ends: number[] = [];
    let states: readonly State[] = [start];
    let place = at;
    for (; place < this.#words.length && states.length > 0; place++) {
      const next = new Set(states.flatMap((state) => state.words.get(this.#words[place]!) ?? []));
      states = [...next];
      if (states.some(({ final }) => final)) ends.push(place + 1);
    }
    if (slot.digits) for (const end of this.#digits(at)) if (!ends.includes(end)) ends.push(end);
    const values = ends.flatMap((end) => {
      const value = slot.read(this.#words.slice(at, end));
      return value === undefined ? [] : [{ end, value }];
    });
    const within = place === this.#words.length && states.some(({ words }) => words.size > 0);
    return { at: values, goesOn: !within ? 0 : slot.digits ? NUMBER : ANY };
  }

  /** `21`, `minus 21`: whether it is a value says the slot. */
  #digits(at: number): readonly number[] {
    if (/^\d/.test(this.#words[at]!)) return [at + 1];
    return /^\d/.test(this.#words[at + 1] ?? '') ? [at + 2] : [];
  }
}

/** The readings with the fewest open words, each once. */
class Best {
  #open = Number.POSITIVE_INFINITY;
  readonly #values = new Map<string, Values>();

  add(reading: Reading | undefined, open = 0, values: Values = {}): void {
    if (!reading || reading.open + open > this.#open) return;
    if (reading.open + open < this.#open) this.#values.clear();
    this.#open = reading.open + open;
    for (const rest of reading.values) {
      const whole = { ...values, ...rest };
      if (this.#values.size < MOST_READINGS) this.#values.set(keyOf(whole), whole);
    }
  }

  get reading(): Reading | undefined {
    return this.#values.size === 0 ? undefined : { open: this.#open, values: [...this.#values.values()] };
  }
}

/** Equal for equal slots, whatever the order in which they were said. */
export function keyOf(values: Values): string {
  return JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));
}
