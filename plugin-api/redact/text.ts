/** Secrets inside of running text. Every expression reads a text once, whatever stands in it: each repetition has an end or a class of its own. */
import { ERROR_CODES } from '../errors.ts';
import { isPlain, secrecyOf } from './keys.ts';

export const HIDDEN = '[redacted]';

/** With a dot: a word alone may as well be a secret that somebody called so. */
export const REFERENCE = /^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)+$/;

const shows = (name: string, value: string): boolean => secrecyOf(name) === 'none' || isPlain(name, value);

type Rule = readonly [pattern: RegExp, replacement: string | ((...found: string[]) => string)];

/** What is said behind one of these tells what happened. A name that follows it is one all the same. */
const CODES = Object.keys(ERROR_CODES)
  .filter((code) => secrecyOf(code) !== 'none')
  .join('|');

const RULES: readonly Rule[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}-----)?/g, HIDDEN],
  [/\b(Bearer|Basic|Digest)\s{1,4}[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\b((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n]+/gi, `$1${HIDDEN}`],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, HIDDEN],
  [/\b(?:sk-|ghp_|gho_|github_pat_|glpat-|whsec_|xox[abprs]-|AKIA)[\w-]{12,}/g, HIDDEN],
  // A user and its password before a host.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,256}@/gi, `$1${HIDDEN}@`],
  // "name": "value", and the same in JSON that stands inside of a text of JSON.
  [
    /(")([^"\\]{1,100})("\s{0,8}:\s{0,8}")((?:[^"\\]|\\.)*)/g,
    (all, open, name, between, value) => (shows(name!, value!) ? all! : `${open}${name}${between}${HIDDEN}`),
  ],
  [
    /(\\{1,7}")([^"\\]{1,100})(\\{1,7}"\s{0,8}:\s{0,8}\\{1,7}")((?:[^"\\]|\\[^"\\])*)/g,
    (all, open, name, between, value) => (shows(name!, value!) ? all! : `${open}${name}${between}${HIDDEN}`),
  ],
  // "pin": 1234
  [
    /("|')(\w{1,100})(\1\s{0,8}:\s{0,8})(\d{1,20})/g,
    (all, quote, name, between) => (secrecyOf(name!) === 'all' ? `${quote}${name}${between}${HIDDEN}` : all!),
  ],
  // name=value of queries, cookies, environments and command lines.
  [
    /([A-Za-z][\w.-]{0,99})(=)("[^"]*"|'[^']*'|[^\s&;,"'()<>{}[\]]+)/g,
    (all, name, equals, value) => (shows(name!, value!) ? all! : `${name}${equals}${HIDDEN}`),
  ],
  // --password hunter2
  [
    /(--)([a-z][a-z-]{0,60})( {1,4})([^\s-][^\s]*)/g,
    (all, dashes, name, space, value) => (shows(name!, value!) ? all! : `${dashes}${name}${space}${HIDDEN}`),
  ],
  // name: value of headers and YAML; a plain word behind the colon is more likely the end of a sentence.
  [
    new RegExp(
      `(\\{\\s?)?\\b(?!(?:${CODES}):)([A-Za-z][\\w-]{0,99})(\\s{0,4}:\\s{1,4})([^\\s,;"'()<>{}[\\]]{4,})(?=(\\s?\\})?)`,
      'g',
    ),
    (all, open, name, colon, value, close) =>
      shows(name!, value!) ||
      /^[a-z]+[.!?]?$/.test(value!) ||
      value === HIDDEN ||
      // `{ secret: stt.key }` is a reference, and `{ secret: NAME }` says how to write one.
      (open && close && name === 'secret' && (REFERENCE.test(value!) || value === 'NAME'))
        ? all!
        : `${open ?? ''}${name}${colon}${HIDDEN}`,
  ],
  [/(?<!\d|\d\.)[3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{2,4}(?!\d|\.\d)/g, (digits) => (isCard(digits!) ? HIDDEN : digits!)],
];

/** None of the rules finds anything in a text without one of these. */
const SIGNS = /[=:@"']|--|eyJ|Bearer|Basic|Digest|BEGIN|sk-|gh[po]_|github_pat_|glpat-|whsec_|xox|AKIA|\d{4}/i;
const LONGEST = 64 << 10;

/** What a SKU adds. */
let more: readonly RegExp[] = [];

export function useTexts(patterns: readonly RegExp[]): void {
  more = patterns;
}

/** A text without the secrets that its form gives away. What is longer than 64 KiB is cut there. */
export function redactText(text: string): string {
  const signs = SIGNS.test(text);
  if (!signs && more.length === 0) return text;
  let hidden = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  if (signs) for (const [pattern, replacement] of RULES) hidden = hidden.replace(pattern, replacement as string);
  for (const pattern of more) hidden = hidden.replace(pattern, HIDDEN);
  return hidden;
}

/** The check digit of payment cards (ISO/IEC 7812-1). */
function isCard(text: string): boolean {
  const digits = [...text].filter((one) => one >= '0' && one <= '9').map(Number);
  const sum = digits.reverse().reduce((all, digit, index) => {
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    return all + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
