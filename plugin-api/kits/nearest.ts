/** The word that was meant by another one. Pure. */

/** Longer texts are no slip of a pen, and the cost grows with their length. */
const LONGEST = 128;

/**
 * The nearest of `words` by edit distance; undefined where none is near: more than a third of the letters differ. Words
 * that cannot be near any more cost a few letters each, so that a stranger's words are compared with a table of
 * hundreds in well under a millisecond.
 */
export function nearest(wanted: string, words: Iterable<string>): string | undefined {
  if (wanted.length > LONGEST) return undefined;
  let most = Math.max(2, Math.floor(wanted.length / 3));
  let best: string | undefined;
  for (const word of words) {
    const distance = editDistance(wanted, word, most);
    if (distance > most) continue;
    best = word;
    if (distance === 0) break;
    most = distance - 1; // of several that are as near, the first
  }
  return best;
}

/** `; did you mean WORD?`, or nothing: the end of a message. */
export function didYouMean(wanted: string, words: Iterable<string>): string {
  const near = nearest(wanted, words);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", 1966. Infinity once it is more than `most`. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      next.push(cost);
      if (cost < least) least = cost;
    }
    if (least > most) return Infinity;
    row = next;
  }
  return row[b.length]!;
}
