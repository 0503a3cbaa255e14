/** Possible sentences as a tree without cycles: the text matcher and the grammar are two readings of it. */
import type { SlotType, SlotValue } from '@device-core/plugin-api/services/intents';

export type Node =
  /** `typed`: digits, which are read but never spoken: not in the grammar. */
  | { readonly kind: 'word'; readonly word: string; readonly typed?: true }
  | { readonly kind: 'all'; readonly of: readonly Node[] }
  | { readonly kind: 'any'; readonly of: readonly Node[] }
  | { readonly kind: 'slot'; readonly name: string; readonly slot: Slot };

export interface Slot {
  readonly type: SlotType;
  /** Words for it; undefined for an open slot, which takes any words. */
  readonly said: Node | undefined;
  /** The value of words that fit, or undefined. */
  readonly read: (words: readonly string[]) => SlotValue | undefined;
  /** Whether a word of digits is a value of it. */
  readonly digits: boolean;
}

export const NOTHING: Node = { kind: 'all', of: [] };

export const word = (text: string): Node => ({ kind: 'word', word: text });

export function all(...of: readonly Node[]): Node {
  const flat = of.flatMap((node) => (node.kind === 'all' ? node.of : [node]));
  return flat.length === 1 ? flat[0]! : { kind: 'all', of: flat };
}

export function any(...of: readonly Node[]): Node {
  const flat = of.flatMap((node) => (node.kind === 'any' ? node.of : [node]));
  return flat.length === 1 ? flat[0]! : { kind: 'any', of: flat };
}

export const optional = (node: Node): Node => any(node, NOTHING);

export const wordsNode = (words: readonly string[]): Node => all(...words.map(word));

/** Nodes with each occurrence counted, up to a bound. */
export function sizeOf(node: Node, most: number): number {
  let size = 1;
  if (node.kind === 'all' || node.kind === 'any') {
    for (const part of node.of) {
      size += sizeOf(part, most - size);
      if (size > most) return size;
    }
  }
  return size;
}

export function mayBeEmpty(node: Node): boolean {
  if (node.kind === 'all') return node.of.every(mayBeEmpty);
  return node.kind === 'any' && node.of.some(mayBeEmpty);
}

/** An open slot may come first: it would take the beginning of every sentence. */
export function startsOpen(node: Node): boolean {
  if (node.kind === 'word') return false;
  if (node.kind === 'slot') return node.slot.said === undefined;
  if (node.kind === 'any') return node.of.some(startsOpen);
  for (const part of node.of) {
    if (startsOpen(part)) return true;
    if (!mayBeEmpty(part)) return false;
  }
  return false;
}

export interface SlotUse {
  /** Set by every sentence. */
  readonly always: ReadonlySet<string>;
  /** Set by some sentence. */
  readonly ever: ReadonlySet<string>;
  /** One that a sentence sets twice. */
  readonly twice: string | undefined;
}

export function slotsOf(node: Node): SlotUse {
  if (node.kind === 'word') return { always: new Set(), ever: new Set(), twice: undefined };
  if (node.kind === 'slot') return { always: new Set([node.name]), ever: new Set([node.name]), twice: undefined };
  const parts = node.of.map(slotsOf);
  const ever = new Set(parts.flatMap((part) => [...part.ever]));
  let twice = parts.find((part) => part.twice !== undefined)?.twice;
  if (node.kind === 'any') {
    const [first, ...others] = parts;
    const always = [...(first?.always ?? [])].filter((name) => others.every((part) => part.always.has(name)));
    return { always: new Set(always), ever, twice };
  }
  const seen = new Set<string>();
  for (const part of parts) {
    for (const name of part.ever) {
      if (seen.has(name)) twice ??= name;
      seen.add(name);
    }
  }
  return { always: new Set(parts.flatMap((part) => [...part.always])), ever, twice };
}

/**
 * Positions at which words of a tree without slots that begin at `at` can end. For small trees: the automaton is for
 * the large ones.
 */
export function endsOf(node: Node, words: readonly string[], at: number): ReadonlySet<number> {
  if (node.kind === 'word') return new Set(words[at] === node.word ? [at + 1] : []);
  if (node.kind === 'slot') return new Set();
  if (node.kind === 'any') return new Set(node.of.flatMap((part) => [...endsOf(part, words, at)]));
  let ends: ReadonlySet<number> = new Set([at]);
  for (const part of node.of) ends = new Set([...ends].flatMap((end) => [...endsOf(part, words, end)]));
  return ends;
}
