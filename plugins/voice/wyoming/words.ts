/** Text without its case and marks, and names of languages and phrases as others write them. */

/** Text as intents want it, without the phrase that the device was called by. */
export function commandOf(text: string, prefix: readonly string[]): string {
  const words = wordsOf(text);
  const called = prefix
    .map(wordsOf)
    .filter((phrase) => phrase.length > 0 && phrase.every((word, index) => word === words[index]))
    .reduce((longest, phrase) => Math.max(longest, phrase.length), 0);
  return called === 0 ? text.trim().toLowerCase() : words.slice(called).join(' ');
}

/** `hey_jarvis_v0.1`, `Hey, Jarvis!` and `hey jarvis` are one phrase. */
export function phraseOf(name: string): string {
  return wordsOf(name.replace(/[_-]v\d+(\.\d+)*$/i, '').replaceAll(/[_-]/g, ' ')).join(' ');
}

/** `en_US` as BCP 47 has it. */
export function tagOf(language: string): string {
  return language.replaceAll('_', '-');
}

/** The one of `known` that serves `asked`: itself, or another of the same first part. `known` stays as it is written. */
export function languageFor(asked: string, known: readonly string[]): string | undefined {
  const wanted = tagOf(asked).toLowerCase();
  const same = known.find((one) => tagOf(one).toLowerCase() === wanted);
  return same ?? known.find((one) => baseOf(one) === baseOf(asked));
}

export function baseOf(language: string): string {
  return tagOf(language).toLowerCase().split('-')[0]!;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}']+/gu) ?? [];
}
