/** Text as intents want it, without the phrase that the device was called by. */
export function command(text: string, prefix: readonly string[]): string {
  const words = wordsOf(text);
  const called = prefix
    .map(wordsOf)
    .filter((phrase) => phrase.length > 0 && phrase.every((word, index) => word === words[index]))
    .toSorted((one, other) => other.length - one.length)[0];
  if (!called) return text.trim().toLowerCase();
  return words.slice(called.length).join(' ');
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}
