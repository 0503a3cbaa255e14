/**
 * English words that no dictionary has, as their letters suggest: names of people, rooms and products. Rough, but a
 * recogniser forgives much.
 */

/** A rule: letters, what stands for them, what must come before and after. The first that fits is taken; longer ones come first. */
type Rule = readonly [letters: string, phones: string, after?: RegExp | undefined, before?: RegExp];

const VOWEL = '[aeiouy]';
const CONSONANT = '[^aeiouy]';
/** A consonant and a last e: the vowel before it says its name. */
const SILENT_E = new RegExp(`^${CONSONANT}(e|es|ed|ing)$`);
const FRONT = /^[eiy]/;
const END = /^$/;

const RULES: readonly Rule[] = [
  ['tion', 'SH AH N'],
  ['sion', 'ZH AH N'],
  ['eigh', 'EY'],
  ['ough', 'OW'],
  ['augh', 'AO'],
  ['tch', 'CH'],
  ['sch', 'SH'],
  ['igh', 'AY'],
  ['ear', 'IH R'],
  ['air', 'EH R'],
  ['our', 'AO R'],
  ['oor', 'AO R'],
  ['dge', 'JH'],
  ['que', 'K', END],
  ['eau', 'OW'],
  ['ch', 'CH'],
  ['sh', 'SH'],
  ['th', 'TH'],
  ['ph', 'F'],
  ['wh', 'W'],
  ['qu', 'K W'],
  ['ck', 'K'],
  ['gh', 'G', undefined, /^$/],
  ['gh', ''],
  ['kn', 'N', undefined, /^$/],
  ['wr', 'R', undefined, /^$/],
  ['ng', 'NG G', /^[aeiou]/],
  ['ng', 'NG'],
  ['nk', 'NG K'],
  ['ee', 'IY'],
  ['ea', 'IY'],
  ['ei', 'AY'],
  ['ie', 'IY'],
  ['ey', 'IY', END],
  ['ey', 'EY'],
  ['ai', 'EY'],
  ['ay', 'EY'],
  ['au', 'AO'],
  ['aw', 'AO'],
  ['oa', 'OW'],
  ['oo', 'UW'],
  ['ou', 'AW'],
  ['ow', 'OW', END],
  ['ow', 'AW'],
  ['oi', 'OY'],
  ['oy', 'OY'],
  ['ue', 'UW', END],
  ['ew', 'UW'],
  ['ar', 'AA R'],
  ['er', 'ER'],
  ['ir', 'ER'],
  ['ur', 'ER'],
  ['or', 'AO R'],
  ['le', 'AH L', END, /[^aeiouy]$/],
  ['es', 'IH Z', END, /(s|x|z|ch|sh)$/],
  ['es', 'Z', END, /[^aeiouyptkf]$/],
  ['es', 'S', END, /[ptkf]$/],
  ['ed', 'IH D', END, /[td]$/],
  ['ed', 'D', END, /[^aeiouy]$/],
  ['e', '', END, /[aeiouy].*$/],
  ['e', 'IY', END],
  ['a', 'EY', SILENT_E],
  ['e', 'IY', SILENT_E],
  ['i', 'AY', SILENT_E],
  ['o', 'OW', SILENT_E],
  ['u', 'UW', SILENT_E],
  ['a', 'AH', END],
  ['a', 'AE'],
  ['e', 'EH'],
  ['i', 'IY', END],
  ['i', 'IH'],
  ['o', 'OW', END],
  ['o', 'AA'],
  ['u', 'UW', END],
  ['u', 'AH'],
  ['y', 'Y', new RegExp(`^${VOWEL}`), /^$/],
  ['y', 'AY', END, /^[^aeiouy]+$/],
  ['y', 'IY', END],
  ['y', 'IH'],
  ['c', 'S', FRONT],
  ['c', 'K'],
  ['g', 'JH', FRONT],
  ['g', 'G'],
  ['x', 'Z', undefined, /^$/],
  ['x', 'K S'],
  ['s', 'Z', END, /[aeiouybdglmnrv]$/],
  ['b', 'B'],
  ['d', 'D'],
  ['f', 'F'],
  ['h', 'HH'],
  ['j', 'JH'],
  ['k', 'K'],
  ['l', 'L'],
  ['m', 'M'],
  ['n', 'N'],
  ['p', 'P'],
  ['q', 'K'],
  ['r', 'R'],
  ['s', 'S'],
  ['t', 'T'],
  ['v', 'V'],
  ['w', 'W'],
  ['z', 'Z'],
];

const NAMES: Readonly<Record<string, string>> = {
  a: 'EY',
  b: 'B IY',
  c: 'S IY',
  d: 'D IY',
  e: 'IY',
  f: 'EH F',
  g: 'JH IY',
  h: 'EY CH',
  i: 'AY',
  j: 'JH EY',
  k: 'K EY',
  l: 'EH L',
  m: 'EH M',
  n: 'EH N',
  o: 'OW',
  p: 'P IY',
  q: 'K Y UW',
  r: 'AA R',
  s: 'EH S',
  t: 'T IY',
  u: 'Y UW',
  v: 'V IY',
  w: 'D AH B AH L Y UW',
  x: 'EH K S',
  y: 'W AY',
  z: 'Z IY',
};

/** Phones of the English model; undefined for what is not written in Latin letters. */
export function pronounceEnglish(word: string): string | undefined {
  const plain = word
    .normalize('NFD')
    .replace(/[\u0300-\u036f']/g, '')
    .toLowerCase();
  if (!/^[a-z]+$/.test(plain)) return undefined;
  // Without a vowel it is an abbreviation, which is spelled.
  if (!/[aeiouy]/.test(plain)) return [...plain].map((letter) => NAMES[letter]).join(' ');
  return applyRules(plain, RULES);
}

/** From left to right. A letter that no rule knows is silent; a doubled consonant is one sound. */
export function applyRules(word: string, rules: readonly Rule[]): string {
  const phones: string[] = [];
  for (let at = 0; at < word.length; ) {
    const rest = word.slice(at);
    const done = word.slice(0, at);
    const rule = rules.find(
      ([letters, , after, before]) =>
        rest.startsWith(letters) &&
        (after === undefined || after.test(rest.slice(letters.length))) &&
        (before === undefined || before.test(done)),
    );
    if (rule?.[1]) phones.push(rule[1]);
    const length = rule?.[0].length ?? 1;
    const letter = rest[length - 1];
    at += length;
    if (letter !== undefined && !/[aeiouy]/.test(letter)) while (word[at] === letter) at++;
  }
  return phones.join(' ');
}
