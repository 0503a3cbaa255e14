/** Which names stand for a secret. Whole words of the name decide, so that `monkey`, `spin` and `compass` stay. */

const WORDS: ReadonlySet<string> = new Set(
  (
    'token password passwd passphrase passcode pwd pass pin psk otp secret cookie authorization auth credential apikey privatekey ' +
    'secretkey accesskey jwt bearer signature'
  ).split(' '),
);
/** Of two words, the second of which is `key`: a key alone is the name of a setting more often than a secret. */
const KINDS_OF_KEY: ReadonlySet<string> = new Set(
  'api private access signing encryption master session shared host wifi wpa ssh pre'.split(' '),
);
/** Names whose numbers are secret, too; `tokens: 120` is a count. */
const SECRET_NUMBERS: ReadonlySet<string> = new Set(['pin', 'otp', 'passcode']);

export type Secrecy = 'none' | 'text' | 'all';

/** Names are few and come again with every line. */
const known = new Map<string, Secrecy>();
const MOST_KNOWN = 2_000;
const LONGEST = 100;

/** What of a member of this name is secret: nothing, its texts and what is below it, or its numbers as well. */
export function secrecyOf(name: string): Secrecy {
  if (name.length > LONGEST) return 'none';
  const answer = known.get(name);
  if (answer !== undefined) return answer;
  const found = judge(name);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(name, found);
  return found;
}

function judge(name: string): Secrecy {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word));
  // What is said about a secret is none: tokenCount, passwordLength, secretName, pinNumber stays one.
  const last = words.at(-1);
  if (last !== undefined && ABOUT.has(last)) return 'none';
  if (words.some((word) => SECRET_NUMBERS.has(word))) return 'all';
  if (words.some((word) => WORDS.has(word))) return 'text';
  return words.some((word, index) => word === 'key' && KINDS_OF_KEY.has(words[index - 1] ?? '')) ? 'text' : 'none';
}

const ABOUT: ReadonlySet<string> = new Set(
  'count length size limit name file path expire expiry age kind type'.split(' '),
);
