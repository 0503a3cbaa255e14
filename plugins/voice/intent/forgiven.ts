/** Words that change nothing of what a sentence asks for, and words that stand for others. One table a language. */

export interface Forgiven {
  /** Phrases at the beginning, at the end: lower case, words apart. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** A word in other words: `what's` is `what is`. */
  readonly rewrites: Readonly<Record<string, string>>;
  /** How the half of `2.5` is said after its whole. */
  readonly half?: string;
}

/** The sentence without them: itself where there are none. Nothing in its middle is left out, for there a word may count. */
export function plainer(words: readonly string[], forgiven: Forgiven): readonly string[] {
  const { rewrites, half } = forgiven;
  const written = words.flatMap((each) => {
    if (Object.hasOwn(rewrites, each)) return rewrites[each]!.split(' ');
    const whole = half === undefined ? undefined : /^(\d+)\.50*$/.exec(each)?.[1];
    return whole === undefined ? [each] : [whole, ...half!.split(' ')];
  });
  let text = written.join(' ');
  for (let former = ''; former !== text; ) {
    former = text;
    const front = forgiven.before.find((phrase) => text.startsWith(`${phrase} `));
    if (front !== undefined) text = text.slice(front.length + 1);
    const back = forgiven.after.find((phrase) => text.endsWith(` ${phrase}`));
    if (back !== undefined) text = text.slice(0, -back.length - 1);
  }
  return text.split(' ');
}
