/** Secrets inside of running text: by their own form, by the name that they stand behind, and by the rules of a SKU. */
import { HIDDEN, hideForms, openKey } from './forms.ts';
import { secretWords } from './keys.ts';
import type { OpenValue } from './open-value.ts';
import { hideNamed, openNamed } from './structure.ts';

export { HIDDEN } from './forms.ts';
export { REFERENCE } from './structure.ts';

const LONGEST = 64 << 10;

/** Expressions that a SKU adds. */
let more: readonly RegExp[] = [];

export function useTexts(patterns: readonly RegExp[]): void {
  more = patterns;
}

/** A text without the secrets that its form gives away. Characters behind the first 64 KiB are cut. */
export function redactText(text: string): string {
  return hideText(text, hasWord(text));
}

/** `named`: a word of a secret stands in it. */
export function hideText(text: string, named: boolean): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  let hidden = hideForms(named ? hideNamed(hideInAddresses(cut, 0)) : cut);
  for (const pattern of more) hidden = hidden.replace(pattern, HIDDEN);
  return hidden;
}

/** The first secret in a text that goes on behind it. */
export function openText(text: string, named: boolean): OpenValue | undefined {
  const key = openKey(text);
  const value = named ? openNamed(text) : undefined;
  return key && value ? (key.at < value.at ? key : value) : (key ?? value);
}

export function hasWord(text: string): boolean {
  const words = secretWords();
  words.lastIndex = 0;
  return words.test(text);
}

/** Parts of an address in percent-encoding, also of an address within an address. */
const ENCODED = /(?<![\w.~!*'()+-])(?:[\w.~!*'()+-]|\\{1,8}')*(?:%[0-9A-Fa-f]{2}(?:[\w.~!*'()+-]|\\{1,8}')*)+/g;
const DEEPEST = 4;

function hideInAddresses(text: string, depth: number): string {
  if (depth === DEEPEST || !text.includes('%')) return text;
  return text.replace(ENCODED, (part) => {
    if (!hasWord(part)) return part;
    const plain = part.replace(/%([0-7][0-9A-Fa-f])/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (plain === part) return part;
    const hidden = hideNamed(hideInAddresses(plain, depth + 1));
    return hidden === plain ? part : encodeURIComponent(hidden.toWellFormed());
  });
}
