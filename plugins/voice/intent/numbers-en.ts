/** English numbers in words: what may be said for a range, what words mean, and how a number is read out. */
import { bands, type Scale, scaledRange } from './number-ranges.ts';
import type { NumberWords } from './number-words.ts';
import { all, any, NOTHING, type Node, optional, word } from './tree.ts';

const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = ['', '', ...'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')];
const SCALES = [
  [1_000_000, 'million'],
  [1_000, 'thousand'],
  [100, 'hundred'],
] as const;
const VALUES = new Map([
  ...SMALL.map((name, value) => [name, value] as const),
  ...TENS.map((name, ten) => [name, ten * 10] as const),
]);
VALUES.set('oh', 0);
VALUES.set('a', 1);

const COUNTED: readonly Scale[] = SCALES.map(([size, name]) => ({
  size,
  // "a hundred" as well as "one hundred".
  said: (first, _, counts) => all(first === 1 ? any(word('a'), counts) : counts, word(name)),
  rest: (low) => all(optional(word('and')), low),
}));

/** Whole numbers of a range that is not negative, below 10^9. */
function range(from: number, to: number): Node {
  return scaledRange(from, to, COUNTED, belowHundred);
}

function belowHundred(from: number, to: number): Node {
  if (to < 20) return any(...SMALL.slice(from, to + 1).map(word));
  const parts: Node[] = [];
  if (from < 20) parts.push(range(from, 19));
  for (const [first, last, low, high] of bands(Math.max(from, 20), to, 10)) {
    const tens = any(...TENS.slice(first, last + 1).map(word));
    const rest = range(Math.max(low, 1), high);
    parts.push(all(tens, high === 0 ? NOTHING : low === 0 ? optional(rest) : rest));
  }
  return any(...parts);
}

function read(words: readonly string[]): number | undefined {
  const negative = words[0] === 'minus';
  let total = 0;
  let group = 0;
  let fraction = '';
  let point = false;
  for (const each of negative ? words.slice(1) : words) {
    const value = VALUES.get(each);
    if (point) {
      if (value === undefined || value > 9) return undefined;
      fraction += value;
    } else if (each === 'point') point = true;
    else if (each === 'hundred') group *= 100;
    else if (each === 'thousand' || each === 'million') {
      total += group * (each === 'thousand' ? 1_000 : 1_000_000);
      group = 0;
    } else if (value !== undefined) group += value;
    else if (each !== 'and') return undefined;
  }
  const size = total + group + (fraction === '' ? 0 : Number(`0.${fraction}`));
  return negative && size !== 0 ? -size : size;
}

function spell(value: number): string {
  if (value < 0) return `minus ${spell(-value)}`;
  const [, fraction] = String(Number(value.toFixed(6))).split('.');
  if (fraction !== undefined)
    return `${spell(Math.trunc(value))} point ${[...fraction].map((digit) => SMALL[Number(digit)]).join(' ')}`;
  if (value < 20) return SMALL[value]!;
  if (value < 100) return [TENS[Math.floor(value / 10)], ...(value % 10 === 0 ? [] : [SMALL[value % 10]])].join(' ');
  const [scale, name] = SCALES.find(([scale]) => scale <= value)!;
  const rest = value % scale;
  return `${spell(Math.floor(value / scale))} ${name}${rest === 0 ? '' : ` ${spell(rest)}`}`;
}

export const ENGLISH_NUMBERS: NumberWords = {
  range,
  read,
  spell,
  minus: 'minus',
  percent: 'percent',
  point: 'point',
  digits: SMALL.slice(0, 10),
  most: 999_999_999,
};
