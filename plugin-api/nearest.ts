/** The word that somebody meant who wrote another. Pure. */

/** The nearest of `words` by edit distance; undefined where none is near: more than a third of the letters differ. */
export function nearest(wanted: string, words: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const word of words) {
    const distance = editDistance(wanted, word);
    if (!best || distance < best.distance) best = { word, distance };
  }
  return best && best.distance <= Math.max(2, Math.floor(wanted.length / 3)) ? best.word : undefined;
}

/** Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", 1966. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
