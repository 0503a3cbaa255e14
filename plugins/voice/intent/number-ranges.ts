/** Ranges of numbers as trees, and decimals in words, for every language that counts in thousands. */
import type { NumberWords } from './number-words.ts';
import { all, any, NOTHING, type Node, optional } from './tree.ts';

export interface Scale {
  readonly size: number;
  /** `first` to `last` of it: `counts` is the tree of these numbers. */
  said(first: number, last: number, counts: Node): Node;
  /** The number that follows it, with the words between. */
  rest(low: Node): Node;
}

/** A range as at most three bands `[first, last, low, high]`: counts of the scale, each with the same rests. */
export function bands(
  from: number,
  to: number,
  scale: number,
): readonly (readonly [first: number, last: number, low: number, high: number])[] {
  const [first, low] = [Math.floor(from / scale), from % scale];
  const [last, high] = [Math.floor(to / scale), to % scale];
  if (first === last) return [[first, first, low, high]];
  const begin = low === 0 ? first : first + 1;
  const end = high === scale - 1 ? last : last - 1;
  return [
    ...(low === 0 ? [] : [[first, first, low, scale - 1] as const]),
    ...(begin <= end ? [[begin, end, 0, scale - 1] as const] : []),
    ...(high === scale - 1 ? [] : [[last, last, 0, high] as const]),
  ];
}

/** The range over these scales, the largest first; `small` says what lies below the smallest. */
export function scaledRange(
  from: number,
  to: number,
  scales: readonly Scale[],
  small: (from: number, to: number) => Node,
): Node {
  if (from > to) return any();
  const scale = scales.find(({ size }) => size <= to);
  if (!scale) return small(from, to);
  const { size } = scale;
  const range = (low: number, high: number) => scaledRange(low, high, scales, small);
  const parts: Node[] = from < size ? [range(from, size - 1)] : [];
  for (const [first, last, low, high] of bands(Math.max(from, size), to, size)) {
    const rest = scale.rest(range(Math.max(low, 1), high));
    const tail = high === 0 ? NOTHING : low === 0 ? optional(rest) : rest;
    parts.push(all(scale.said(first, last, range(first, last)), tail));
  }
  return any(...parts);
}

/** A number with sign and decimals: `whole` reads what stands before the point, `digit` one of its decimals. */
export function readDecimal(
  words: readonly string[],
  { minus, point }: Pick<NumberWords, 'minus' | 'point'>,
  whole: (words: readonly string[]) => number | undefined,
  digit: (word: string) => number | undefined,
): number | undefined {
  const negative = words[0] === minus;
  const said = negative ? words.slice(1) : words;
  const at = said.indexOf(point);
  const value = whole(at === -1 ? said : said.slice(0, at));
  const places = at === -1 ? [] : said.slice(at + 1).map(digit);
  if (value === undefined || (at !== -1 && places.length === 0)) return undefined;
  if (places.some((place) => place === undefined || place > 9)) return undefined;
  const size = places.length === 0 ? value : Number(`${value}.${places.join('')}`);
  return negative && size !== 0 ? -size : size;
}
