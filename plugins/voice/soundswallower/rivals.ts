/**
 * A second search, among few sentences: those that the text is mistaken for, and the text itself with a handicap. A
 * score is relative to the best sound that a search looks at, so scores of two searches say nothing about each other.
 */
import type { Rival } from '@device-core/plugin-api/services/speech';
import type { Lexicon } from './lexicon.ts';
import type { Decoder } from './library.ts';
import { Pace } from './pairs.ts';

/** Frames of 20 ms that are kept for it: what is longer is no command of one breath. */
export const MOST_KEPT = 1_000;
const MOST_RIVALS = 64;
/** The library's own default for sentences. */
const WEIGHT = 6.5;
/** Factor of probability by which the text must win, see ADR 0199. The library reads no exponents. */
const HANDICAP = (1e-7).toFixed(20);

/** Words of a text, from one up to before another, that rivals have other words in the place of. */
export interface Place {
  readonly from: number;
  readonly to: number;
  readonly others: ReadonlySet<string>;
  /** The words there are the value of a slot. */
  readonly byValue: boolean;
}

/** `known`: words that may be said. A rival with another one is left out. */
export function placesOf(text: string, rivals: readonly Rival[], known: ReadonlySet<string>): readonly Place[] {
  const own = text.split(' ');
  const places = new Map<string, Place & { readonly others: Set<string> }>();
  const sayable = rivals.filter((rival) => rival.text.split(' ').every((word) => known.has(word)));
  for (const { text: rival, byValue } of sayable.slice(0, MOST_RIVALS)) {
    const other = rival.split(' ');
    const most = Math.min(own.length, other.length);
    let from = 0;
    while (from < most && own[from] === other[from]) from++;
    let after = 0;
    while (after < most - from && own.at(-1 - after) === other.at(-1 - after)) after++;
    const to = own.length - after;
    const key = `${from} ${to} ${byValue}`;
    const place = places.get(key) ?? { from, to, byValue, others: new Set() };
    places.set(key, place);
    place.others.add(other.slice(from, other.length - after).join(' '));
  }
  return [...places.values()];
}

/** The rival that fits nearly as well or better; undefined where the text wins. The decoder has another grammar afterwards. */
export async function closest(
  decoder: Decoder,
  lexicon: Lexicon,
  frames: readonly Float32Array[],
  { prefix, text, places }: { readonly prefix: string; readonly text: string; readonly places: readonly Place[] },
): Promise<string | undefined> {
  const own = text.split(' ');
  const [before, others] = [prefix === '' ? [] : prefix.split(' '), places.flatMap((place) => [...place.others])];
  decoder.teach(
    lexicon.entries(new Set([...before, ...own, ...others.flatMap((one) => one.split(' '))].filter(Boolean))),
  );
  const said = (words: readonly string[]) => [...before, ...words].join(' ');
  const rivals = places.map((place) => said([...own.slice(0, place.from), choice(place), ...own.slice(place.to)]));
  decoder.setGrammar(
    `#JSGF V1.0 UTF-8;\ngrammar contest;\npublic <said> = /${HANDICAP}/ ${said(own)} | /1/ (${rivals.join(' | ')});\n`,
    WEIGHT,
  );
  const pace = new Pace();
  decoder.start();
  for (const frame of frames) {
    decoder.feed(frame);
    await pace.breathe();
  }
  decoder.stop();
  const won = decoder.text();
  return won === '' || won === said(own) ? undefined : won.split(' ').slice(before.length).join(' ');
}

/** Rivals of one place share the words around it, which costs less than a search for each. */
function choice({ others }: Place): string {
  const spoken = [...others].filter((other) => other !== '').map((other) => `(${other})`);
  if (spoken.length === 0) return '';
  const any = spoken.join(' | ');
  return others.has('') ? `[${any}]` : `(${any})`;
}
