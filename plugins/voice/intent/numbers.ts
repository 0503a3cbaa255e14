/** Numbers in a sentence: which of them a slot takes, said in words or written in digits. One table of words a language. */
import type { SlotType, SlotValue } from '@device-core/plugin-api/services/intents';
import type { NumberWords } from './number-words.ts';
import { GERMAN_NUMBERS } from './numbers-de.ts';
import { ENGLISH_NUMBERS } from './numbers-en.ts';
import { FRENCH_NUMBERS } from './numbers-fr.ts';
import { all, any, type Node, type Slot, word, wordsNode } from './tree.ts';

export type NumberType = Extract<SlotType, { readonly kind: 'int' | 'number' }>;

const TABLES: ReadonlyMap<string, NumberWords> = new Map([
  ['en', ENGLISH_NUMBERS],
  ['de', GERMAN_NUMBERS],
  ['fr', FRENCH_NUMBERS],
]);
/** So many values of a range with a step are listed one by one. */
const MOST_LISTED = 512;
const PLACES = 1e6;

/** The words of a language, where there is a table of them: else its numbers are read in digits only. */
export function numberWords(language: string): NumberWords | undefined {
  return TABLES.get(language);
}

/** Why a range cannot be a slot; undefined where it can. */
export function rangeFault({ kind, from, to, step }: NumberType, words: NumberWords | undefined): string | undefined {
  const most = words?.most ?? Number.MAX_SAFE_INTEGER;
  if (![from, to, step ?? 1].every(Number.isFinite)) return 'its range is not of numbers';
  if (from > to) return `its range begins at ${from} and ends at ${to}`;
  if (Math.abs(from) > most || Math.abs(to) > most) return `its range goes beyond ${most}`;
  if (kind === 'int' && ![from, to, step ?? 1].every(Number.isInteger)) return 'its range must be of whole numbers';
  if (step === undefined || (kind === 'int' && step === 1)) return undefined;
  if (step <= 0) return 'its step must be above 0';
  const count = (to - from) / step + 1;
  return count > MOST_LISTED + 1e-6
    ? `its range has ${Math.floor(count)} steps, at most ${MOST_LISTED} are allowed`
    : undefined;
}

/** The range must be without fault. */
export function numberSlot(type: NumberType, words: NumberWords | undefined): Slot {
  return {
    type,
    said: words ? saidNumber(type, words) : any(),
    digits: true,
    read(said): SlotValue | undefined {
      const negative = said.length === 2 && said[0] === (words?.minus ?? 'minus');
      const digits = said.length === (negative ? 2 : 1) ? said.at(-1)! : '';
      const value = /^\d+(\.\d+)?$/.test(digits) ? Number(digits) * (negative ? -1 : 1) : words?.read(said);
      return value !== undefined && takes(type, value) ? round(value) + 0 : undefined;
    },
  };
}

/** How a number is said, where there are words for it. */
export function spellNumber(value: number, words: NumberWords): Node {
  const whole = Number.isInteger(value) && value >= 0 && value <= words.most;
  return whole ? words.range(value, value) : wordsNode(words.spell(value).split(' '));
}

function takes({ kind, from, to, step }: NumberType, value: number): boolean {
  if (value < from || value > to || (kind === 'int' && !Number.isInteger(value))) return false;
  if (step === undefined) return true;
  const steps = (value - from) / step;
  return Math.abs(steps - Math.round(steps)) < 1e-6;
}

function saidNumber({ kind, from, to, step }: NumberType, words: NumberWords): Node {
  if (kind === 'int' && (step ?? 1) === 1) return wholes(from, to, words);
  const grid = step ?? 0.1;
  const count = Math.floor((to - from) / grid + 1e-6) + 1;
  if (step !== undefined || count <= MOST_LISTED)
    return any(...Array.from({ length: count }, (_, index) => spellNumber(round(from + index * grid), words)));
  // Too many to list: whole numbers, and tenths between those that are within.
  return any(wholes(Math.ceil(from), Math.floor(to), words), ...tenths(from, to, words));
}

function tenths(from: number, to: number, words: NumberWords): readonly Node[] {
  const tail = all(word(words.point), any(...words.digits.map(word)));
  const above = [Math.max(0, Math.ceil(from)), Math.floor(to) - 1] as const;
  const below = [Math.max(0, Math.ceil(-to)), Math.floor(-from) - 1] as const;
  return [
    ...(above[0] <= above[1] ? [all(words.range(...above), tail)] : []),
    ...(below[0] <= below[1] ? [all(word(words.minus), words.range(...below), tail)] : []),
  ];
}

function wholes(from: number, to: number, words: NumberWords): Node {
  return any(
    ...(to >= 0 ? [words.range(Math.max(0, from), to)] : []),
    ...(from < 0 ? [all(word(words.minus), words.range(Math.max(1, -to), -from))] : []),
  );
}

function round(value: number): number {
  return Math.round(value * PLACES) / PLACES;
}
