/** German numbers in words: one word below a thousand, as they are written. */
import { readDecimal, type Scale, scaledRange } from './number-ranges.ts';
import type { NumberWords } from './number-words.ts';
import { all, any, type Node, optional, word } from './tree.ts';

const SMALL =
  'null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn'.split(
    ' ',
  );
const TENS = ['', '', ...'zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig'.split(' ')];
/** One, before a noun of each gender. */
const ONES = ['eins', 'ein', 'eine', 'einen', 'einer'];
const inside = (value: number): string => (value === 1 ? 'ein' : SMALL[value]!);

function belowHundred(value: number): string {
  if (value < 20) return SMALL[value]!;
  const unit = value % 10;
  return `${unit === 0 ? '' : `${inside(unit)}und`}${TENS[Math.floor(value / 10)]}`;
}

function belowThousand(value: number): string {
  if (value < 100) return belowHundred(value);
  const rest = value % 100;
  return `${inside(Math.floor(value / 100))}hundert${rest === 0 ? '' : belowHundred(rest)}`;
}

const VALUES = new Map(Array.from({ length: 100 }, (_, value) => [belowHundred(value), value] as const));
for (const one of ONES) VALUES.set(one, 1);
VALUES.set('zwo', 2);

const SCALES: readonly Scale[] = [
  {
    size: 1_000_000,
    said: (first, last, counts) =>
      last === 1
        ? all(word('eine'), word('million'))
        : all(counts, first === 1 ? any(word('million'), word('millionen')) : word('millionen')),
    rest: (low) => low,
  },
  {
    size: 1_000,
    said: (first, _, counts) => all(first === 1 ? optional(counts) : counts, word('tausend')),
    rest: (low) => low,
  },
];

function small(from: number, to: number): Node {
  const forms = Array.from({ length: to - from + 1 }, (_, index) => from + index).flatMap((value) => {
    if (value === 1) return ONES;
    // "hundertfünfzig" as well as "einhundertfünfzig".
    const said = belowThousand(value);
    return value >= 100 && value < 200 ? [said, said.slice('ein'.length)] : [said];
  });
  return any(...forms.map(word));
}

/** Written together or apart: `zwei tausend dreihundert`, `zweitausenddreihundert`. */
function whole(text: string): number | undefined {
  for (const [name, size] of [
    [/millionen|million/, 1_000_000],
    [/tausend/, 1_000],
    [/hundert/, 100],
  ] as const) {
    const found = name.exec(text);
    if (!found) continue;
    const before = text.slice(0, found.index);
    const after = text.slice(found.index + found[0].length).replace(/^und/, '');
    const [count, rest] = [before === '' ? 1 : whole(before), after === '' ? 0 : whole(after)];
    return count === undefined || rest === undefined || rest >= size ? undefined : count * size + rest;
  }
  return VALUES.get(text);
}

function spell(value: number): string {
  if (value < 0) return `minus ${spell(-value)}`;
  const [, fraction] = String(Number(value.toFixed(6))).split('.');
  if (fraction !== undefined)
    return `${spell(Math.trunc(value))} komma ${[...fraction].map((digit) => SMALL[Number(digit)]).join(' ')}`;
  if (value < 1_000) return belowThousand(value);
  const isMillions = value >= 1_000_000;
  const size = isMillions ? 1_000_000 : 1_000;
  const count = Math.floor(value / size);
  const millions = count === 1 ? 'eine million' : `${spell(count)} millionen`;
  const name = isMillions ? millions : `${count === 1 ? 'ein' : spell(count)} tausend`;
  return value % size === 0 ? name : `${name} ${spell(value % size)}`;
}

const SIGNS = { minus: 'minus', point: 'komma' };

export const GERMAN_NUMBERS: NumberWords = {
  range: (from, to) => scaledRange(from, to, SCALES, small),
  read: (words) =>
    readDecimal(
      words,
      SIGNS,
      (words) => whole(words.join('')),
      (word) => VALUES.get(word),
    ),
  spell,
  ...SIGNS,
  percent: 'prozent',
  digits: SMALL.slice(0, 10),
  most: 999_999_999,
};
