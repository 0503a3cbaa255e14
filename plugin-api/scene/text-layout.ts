/** Text in lines: where it breaks, where it ends, and which way it runs. The renderer's own measure says how wide a piece is. */

export interface TextLine {
  readonly text: string;
  readonly width: number;
}

export interface TextLayout {
  readonly lines: readonly TextLine[];
  readonly dir: 'ltr' | 'rtl';
  /** Something was left out: the last line ends in an ellipsis. */
  readonly cut: boolean;
}

export interface TextBounds {
  /** Unbounded if absent. */
  readonly width?: number | undefined;
  /** Most lines. */
  readonly lines?: number | undefined;
  readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
  /** Direction for `auto` if no letter decides. */
  readonly otherwise?: 'ltr' | 'rtl' | undefined;
}

const ELLIPSIS = '…';
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const STRONG = /\p{L}/u;
/** Embeddings, overrides, isolates and marks: what can make a text look like another. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const words = new Intl.Segmenter(undefined, { granularity: 'word' });
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The first strong character says. */
export function directionOf(text: string, otherwise: 'ltr' | 'rtl' = 'ltr'): 'ltr' | 'rtl' {
  for (const character of text) {
    if (RIGHT_TO_LEFT.test(character)) return 'rtl';
    if (STRONG.test(character)) return 'ltr';
  }
  return otherwise;
}

/** Without marks of direction: a text that is spoken, or read line by line. */
export function undirected(text: string): string {
  return text.replace(DIRECTIONS, '');
}

/** A text of somebody else within a sentence: without marks of direction of its own, and without influence on what stands beside it. */
export function isolated(text: string): string {
  return `\u2068${undirected(text)}\u2069`;
}

/**
 * Breaks at words, and inside of one only where it is longer than a line. What does not fit ends in an ellipsis, at a
 * word where there is one.
 */
export function layoutText(text: string, bounds: TextBounds, measure: (piece: string) => number): TextLayout {
  const dir = bounds.dir === 'ltr' || bounds.dir === 'rtl' ? bounds.dir : directionOf(text, bounds.otherwise);
  const most = bounds.lines ?? Number.POSITIVE_INFINITY;
  const width = bounds.width ?? Number.POSITIVE_INFINITY;
  const lines: TextLine[] = [];
  const paragraphs = text.split('\n');
  for (const [index, paragraph] of paragraphs.entries()) {
    let rest = paragraph;
    do {
      const last = lines.length + 1 >= most;
      const fits = fitting(rest, width, measure);
      const more = fits.length < rest.length || (last && index < paragraphs.length - 1);
      if (last && more) {
        lines.push(shortened(rest, width, measure));
        return { lines, dir, cut: true };
      }
      const line = fits.trimEnd();
      lines.push({ text: line, width: line === '' ? 0 : measure(line) });
      rest = rest.slice(fits.length).trimStart();
    } while (rest !== '');
  }
  return { lines, dir, cut: false };
}

/** As much of the beginning as a line holds, at least one character. */
function fitting(text: string, width: number, measure: (piece: string) => number): string {
  if (measure(text) <= width) return text;
  const ends = breaks(text);
  const fit = lastThat(ends, (end) => measure(text.slice(0, end).trimEnd()) <= width);
  if (fit !== undefined) return text.slice(0, fit);
  const inside = pieces(text.slice(0, ends[0]));
  return text.slice(0, lastThat(inside, (end) => measure(text.slice(0, end)) <= width) ?? inside[0]);
}

function shortened(text: string, width: number, measure: (piece: string) => number): TextLine {
  const line = (end: number): string => text.slice(0, end).replace(/[\s.,;:!?\-–—]+$/u, '') + ELLIPSIS;
  const fits = (end: number): boolean => measure(line(end)) <= width;
  const end = lastThat(breaks(text), fits) ?? lastThat(pieces(text), fits) ?? 0;
  const short = line(end);
  return { text: short, width: measure(short) };
}

/** Ends of words. Spaces belong to the word before them. */
function breaks(text: string): readonly number[] {
  const ends: number[] = [];
  for (const { index, segment } of words.segment(text)) {
    const end = index + segment.length;
    // A full stop or a bracket does not begin a line; a word of signs, as letters without a glyph are, does.
    const isSign = /^[\s\p{P}]+$/u.test(segment) && !/^[([{«“‘¿¡]/u.test(segment);
    const isWord = /\S/.test(segment) && /\s/.test(text[index - 1] ?? '') && /\S/.test(text[end] ?? '');
    if (ends.length > 0 && isSign && !isWord) ends[ends.length - 1] = end;
    else ends.push(end);
  }
  return ends;
}

/** Ends of characters, for a word that is longer than a line. */
function pieces(text: string): readonly number[] {
  return [...graphemes.segment(text)].map(({ index, segment }) => index + segment.length);
}

/** The greatest of ascending numbers for which it is true, where it is true for those below, too. */
function lastThat(ends: readonly number[], is: (end: number) => boolean): number | undefined {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is(ends[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? undefined : ends[low - 1];
}
