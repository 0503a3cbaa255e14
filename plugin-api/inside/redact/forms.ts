/** Secrets that are known by their form alone. Each repetition has an end, or a class that excludes the sign behind it. */
import type { OpenValue } from './open-value.ts';

export const HIDDEN = '[redacted]';

type Form = readonly [pattern: RegExp, replacement: string | ((...found: string[]) => string)];

const FORMS: readonly Form[] = [
  // A key with a passphrase has headers: `Proc-Type: 4,ENCRYPTED`.
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z ]{0,40}-----)?/g,
    HIDDEN,
  ],
  // A word behind a scheme of HTTP is more likely the next one of a sentence: "Basic authentication".
  [
    /\b(Bearer|Basic|Digest|Negotiate)\s{1,4}([\w.~+/=-]{8,})/gi,
    (all, scheme, text) =>
      (/^bearer$/i.test(scheme!) ? /^auth[a-z]+$/i : /^[A-Z]?[a-z]+\.?$/).test(text!) ? all! : `${scheme} ${HIDDEN}`,
  ],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, HIDDEN],
  [/\b(?:sk-|ghp_|gho_|github_pat_|glpat-|whsec_|xox[abprs]-|AKIA)[\w-]{12,}/g, HIDDEN],
  // A user and its password before a host; the password may have an @.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:"'<>]{0,256}:[^\s/"'<>]{1,256}@/gi, `$1${HIDDEN}@`],
  [/(?<!\d|\d\.)[3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{2,4}(?!\d|\.\d)/g, (digits) => (isCard(digits!) ? HIDDEN : digits!)],
];

/** A text without one of these signs has none of the forms. */
const SIGNS = /:\/\/|eyJ|Bearer|Basic|Digest|Negotiate|BEGIN|sk-|gh[po]_|github_pat_|glpat-|whsec_|xox|AKIA|\d{4}/i;

const BEGIN_OF_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[ \t\r]{0,8}(?:\n|$)/y;

/** A private key in PEM whose end the text does not have. */
export function openKey(text: string): OpenValue | undefined {
  const at = text.lastIndexOf('-----BEGIN ');
  if (at < 0 || text.includes('-----END ', at)) return undefined;
  BEGIN_OF_KEY.lastIndex = at;
  if (!BEGIN_OF_KEY.test(text)) return undefined;
  return { at, ends: (line) => (line.includes('-----END ') ? 'with' : 'behind') };
}

export function hideForms(text: string): string {
  if (!SIGNS.test(text)) return text;
  let hidden = text;
  for (const [pattern, replacement] of FORMS) hidden = hidden.replace(pattern, replacement as string);
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
