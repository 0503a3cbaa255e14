/** Text in the pieces in which it is spoken. */

export interface Clause {
  readonly text: string;
  /** Silence behind it. */
  readonly pauseMs: number;
}

const SENTENCE_PAUSE_MS = 250;
const CLAUSE_PAUSE_MS = 120;
/** A clause that is this long already is cut at the next word: nobody shall wait for the first sound of a text without punctuation. */
const LONGEST = 160;
/** Shorter pieces go with the next one: a voice sounds chopped otherwise. */
const SHORTEST = 12;
/** Words that end with a dot and go on. */
const ABBREVIATION = /(?:^|\s)(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|a\.m|p\.m)\.$/i;
/** The end of a sentence or of a clause, where white space or the end of the text follows. */
const BREAK = /[.!?…]+["')\]]*(?=\s|$)|[,;:]["')\]]*(?=\s|$)|\s[-–—]+(?=\s)|\n+/gu;

/** Cuts a text at its punctuation, so that the first clause is heard while the others are made. Nothing but white space is lost. */
export function clausesOf(text: string): readonly Clause[] {
  const clauses: Clause[] = [];
  let from = 0;
  const take = (to: number, pauseMs: number): void => {
    for (const piece of shortened(text.slice(from, to))) clauses.push({ text: piece, pauseMs: 0 });
    const last = clauses.pop();
    if (last) clauses.push({ ...last, pauseMs: Math.max(last.pauseMs, pauseMs) });
    from = to;
  };
  for (const { 0: mark, index } of text.matchAll(BREAK)) {
    const to = index + mark.length;
    const piece = text.slice(from, to).trim();
    const sentence = /^[.!?…\n]/u.test(mark);
    if (mark[0] === '.' && ABBREVIATION.test(piece)) continue;
    if (!sentence && piece.length < SHORTEST) continue;
    take(to, sentence ? SENTENCE_PAUSE_MS : CLAUSE_PAUSE_MS);
  }
  take(text.length, 0);
  return clauses;
}

/** Pieces of bounded length, cut between words where there are any. */
function* shortened(text: string): Generator<string> {
  let rest = text.trim();
  while (rest.length > LONGEST) {
    const space = rest.lastIndexOf(' ', LONGEST);
    const cut = space > SHORTEST ? space : LONGEST;
    yield rest.slice(0, cut).trim();
    rest = rest.slice(cut).trim();
  }
  if (rest.length > 0) yield rest;
}
