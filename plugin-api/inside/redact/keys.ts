/** Names that stand for a secret. Whole words of the name decide, so that `monkey`, `spin` and `compass` stay. */

const WORDS: ReadonlySet<string> = new Set(
  (
    'token password passwd passphrase passcode pwd pass pin psk otp secret cookie authorization auth credential apikey privatekey ' +
    'secretkey accesskey jwt bearer signature cred passwort kennwort motdepasse'
  ).split(' '),
);
/** Words before `key`: a key alone is the name of a setting more often than a secret. */
const KINDS_OF_KEY: ReadonlySet<string> = new Set(
  'api private access signing encryption master session shared host wifi wpa ssh pre'.split(' '),
);
/** Words that may end another one without a sign between: `PGPASSWORD`, `accesstoken`. */
const ENDINGS = /(?:password|passwd|passphrase|passcode|secret|token|apikey|credential|cookie|passwort|kennwort)$/;
/** Names whose numbers are secret, too; `tokens: 120` is a count. */
const SECRET_NUMBERS: ReadonlySet<string> = new Set(['pin', 'otp', 'passcode']);

export type Secrecy = 'none' | 'text' | 'all';

/** Names are few and come again with every line. */
const known = new Map<string, Secrecy>();
const MOST_KNOWN = 2_000;
const LONGEST = 100;

/** The secrecy of a member: of nothing, of its texts and all below it, or of its numbers as well. */
export function secrecyOf(name: string): Secrecy {
  if (name.length > LONGEST) return 'none';
  const answer = known.get(name);
  if (answer !== undefined) return answer;
  const found = judge(name);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(name, found);
  return found;
}

/** Names that a SKU adds, each as words that stand side by side. */
let more: readonly (readonly string[])[] = [];

export function useNames(names: readonly (readonly string[])[]): void {
  more = names;
  known.clear();
  words = undefined;
}

let words: RegExp | undefined;

/** Finds in a text each place where a word of a secret may stand. One expression for all texts, with the place where it goes on. */
export function secretWords(): RegExp {
  words ??= new RegExp(
    [...WORDS, `(?:${[...KINDS_OF_KEY].join('|')})[ _.-]?key`, ...more.map((some) => some.join('[^A-Za-z0-9]{0,2}'))]
      .toSorted()
      .join('|'),
    'gi',
  );
  return words;
}

/** Its words, small and in the singular. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word));
}

const addedNames = (words: readonly string[]): boolean =>
  more.some((some) => words.some((_, at) => some.every((word, index) => words[at + index] === word)));

function judge(name: string): Secrecy {
  const words = wordsOf(name);
  if (addedNames(words)) return 'all';
  // A property of a secret is none: tokenCount, passwordLength, secretName. But pinNumber is one.
  const last = words.at(-1);
  if (last !== undefined && ABOUT.has(last)) return 'none';
  if (words.some((word) => SECRET_NUMBERS.has(word))) return 'all';
  if (words.some(isSecretWord)) return 'text';
  return words.some((word, index) => word === 'key' && KINDS_OF_KEY.has(words[index - 1] ?? '')) ? 'text' : 'none';
}

/** `password2` as well, though not `pin2` of a header with pins. */
function isSecretWord(word: string): boolean {
  return WORDS.has(word) || ENDINGS.test(word.replace(/\d{1,4}$/, ''));
}

/** A setting about signatures says `off`, `warn` or `required`. A signature is longer. */
const CHOICE = /^[a-z]{2,12}$/;
/** Versions of a plugin or service whose name has such a word: `requires: { secrets: ^1.0.0 }`. */
const RANGE = /^(?:\*|[\^~]?\d{1,4}\.\d{1,4}\.\d{1,4})$/;

/** A text that no secret of this name is: a choice about signatures, a version of what keeps secrets. */
export function isPlain(name: string, value: unknown): boolean {
  if (typeof value !== 'string' || !(CHOICE.test(value) || RANGE.test(value))) return false;
  const words = wordsOf(name);
  if (addedNames(words) || words.includes('key')) return false;
  const secret = words.filter(isSecretWord);
  const plain = CHOICE.test(value) ? 'signature' : 'secret';
  return secret.every((word) => word === plain);
}

const ABOUT: ReadonlySet<string> = new Set(
  'count length size limit name file path expire expiry age kind type'.split(' '),
);
