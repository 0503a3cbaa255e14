/** French numbers in words, without hyphens: `soixante et onze`, `quatre vingt dix neuf`. */
import { readDecimal, type Scale, scaledRange } from './number-ranges.ts';
import type { NumberWords } from './number-words.ts';
import { all, any, type Node, optional, word, wordsNode } from './tree.ts';

const SMALL =
  'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf'
    .split(' ')
    .map((name) => name.replace('-', ' '));
const TENS = [
  '',
  '',
  'vingt',
  'trente',
  'quarante',
  'cinquante',
  'soixante',
  'soixante',
  'quatre vingt',
  'quatre vingt',
];

function belowHundred(value: number): string {
  if (value < 20) return SMALL[value]!;
  const ten = Math.floor(value / 10);
  // Seventy and ninety go on from sixty and eighty.
  const rest = (value % 10) + (ten === 7 || ten === 9 ? 10 : 0);
  if (rest === 0) return ten === 8 ? 'quatre vingts' : TENS[ten]!;
  const and = (rest === 1 || rest === 11) && ten < 8 ? ' et ' : ' ';
  return `${TENS[ten]}${and}${SMALL[rest]}`;
}

/** "vingt et une" before a feminine noun as well. */
function formsOf(value: number): readonly string[] {
  const said = belowHundred(value);
  return /\bun$/.test(said) ? [said, `${said}e`] : [said];
}

const VALUES = new Map(
  Array.from({ length: 100 }, (_, value) => value).flatMap((value) =>
    formsOf(value).map((form) => [form, value] as const),
  ),
);
VALUES.set('quatre vingt', 80);

const hundreds = (first: number, last: number, counts: Node): Node =>
  last === 1 ? word('cent') : all(first === 1 ? optional(counts) : counts, any(word('cent'), word('cents')));
const SCALES: readonly Scale[] = [
  {
    size: 1_000_000,
    said: (_, __, counts) => all(counts, any(word('million'), word('millions'))),
    rest: (low) => low,
  },
  {
    size: 1_000,
    said: (first, _, counts) => all(first === 1 ? optional(counts) : counts, word('mille')),
    rest: (low) => low,
  },
  { size: 100, said: hundreds, rest: (low) => low },
];

function small(from: number, to: number): Node {
  const forms = Array.from({ length: to - from + 1 }, (_, index) => formsOf(from + index)).flat();
  return any(...forms.map((form) => wordsNode(form.split(' '))));
}

function whole(words: readonly string[]): number | undefined {
  for (const [name, size] of [
    [/^millions?$/, 1_000_000],
    [/^mille$/, 1_000],
    [/^cents?$/, 100],
  ] as const) {
    const at = words.findIndex((each) => name.test(each));
    if (at === -1) continue;
    const [before, after] = [words.slice(0, at), words.slice(at + 1)];
    const [count, rest] = [before.length === 0 ? 1 : whole(before), after.length === 0 ? 0 : whole(after)];
    return count === undefined || rest === undefined || rest >= size ? undefined : count * size + rest;
  }
  return VALUES.get(words.join(' '));
}

function spell(value: number): string {
  if (value < 0) return `moins ${spell(-value)}`;
  const [, fraction] = String(Number(value.toFixed(6))).split('.');
  if (fraction !== undefined)
    return `${spell(Math.trunc(value))} virgule ${[...fraction].map((digit) => SMALL[Number(digit)]).join(' ')}`;
  if (value < 100) return belowHundred(value);
  const size = [1_000_000, 1_000, 100].find((scale) => scale <= value)!;
  const [count, rest] = [Math.floor(value / size), value % size];
  const tail = rest === 0 ? '' : ` ${spell(rest)}`;
  if (size === 1_000_000) return `${spell(count)} million${count === 1 ? '' : 's'}${tail}`;
  if (size === 1_000) return `${count === 1 ? '' : `${spell(count)} `}mille${tail}`;
  return `${count === 1 ? '' : `${spell(count)} `}cent${count > 1 && rest === 0 ? 's' : ''}${tail}`;
}

const SIGNS = { minus: 'moins', point: 'virgule' };

export const FRENCH_NUMBERS: NumberWords = {
  range: (from, to) => scaledRange(from, to, SCALES, small),
  read: (words) => readDecimal(words, SIGNS, whole, (word) => VALUES.get(word)),
  spell,
  ...SIGNS,
  percent: 'pour cent',
  digits: SMALL.slice(0, 10),
  most: 999_999_999,
};
