/** How an English word that no dictionary has is probably said, in the phones of the CMU dictionary. */

/** The longest spelling at a place counts; a blank stands for the end or the beginning of the word. */
const RULES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ' kn': 'N',
    ' wr': 'R',
    ' ps': 'S',
    ' x': 'Z',
    ' gn': 'N',
    ' wh': 'W',
    ' mc': 'M AH K',
    tion: 'SH AH N',
    sion: 'ZH AH N',
    ture: 'CH ER',
    'ous ': 'AH S',
    'ough ': 'OW',
    ought: 'AO T',
    augh: 'AO',
    igh: 'AY',
    eigh: 'EY',
    'ing ': 'IH NG',
    'ed ': 'D',
    'es ': 'Z',
    'ey ': 'IY',
    'ie ': 'IY',
    'y ': 'IY',
    'le ': 'AH L',
    'er ': 'ER',
    'or ': 'ER',
    'ar ': 'ER',
    'a ': 'AH',
    'o ': 'OW',
    'e ': '',
    'ake ': 'EY K',
    'ade ': 'EY D',
    'ate ': 'EY T',
    'ame ': 'EY M',
    'ane ': 'EY N',
    'ale ': 'EY L',
    'ave ': 'EY V',
    'ike ': 'AY K',
    'ide ': 'AY D',
    'ite ': 'AY T',
    'ime ': 'AY M',
    'ine ': 'AY N',
    'ile ': 'AY L',
    'ive ': 'AY V',
    'oke ': 'OW K',
    'ode ': 'OW D',
    'ote ': 'OW T',
    'ome ': 'OW M',
    'one ': 'OW N',
    'ole ': 'OW L',
    'ove ': 'OW V',
    'ube ': 'UW B',
    'ude ': 'UW D',
    'ute ': 'UW T',
    'une ': 'UW N',
    'ule ': 'UW L',
    sch: 'S K',
    tch: 'CH',
    ch: 'CH',
    sh: 'SH',
    th: 'TH',
    ph: 'F',
    gh: 'G',
    ck: 'K',
    ng: 'NG',
    nk: 'NG K',
    qu: 'K W',
    dge: 'JH',
    wh: 'W',
    ce: 'S EH',
    ci: 'S IH',
    cy: 'S IY',
    ge: 'JH EH',
    gi: 'JH IH',
    bb: 'B',
    cc: 'K',
    dd: 'D',
    ff: 'F',
    gg: 'G',
    kk: 'K',
    ll: 'L',
    mm: 'M',
    nn: 'N',
    pp: 'P',
    rr: 'R',
    ss: 'S',
    tt: 'T',
    zz: 'Z',
    ai: 'EY',
    ay: 'EY',
    au: 'AO',
    aw: 'AO',
    ea: 'IY',
    ee: 'IY',
    ei: 'IY',
    eu: 'Y UW',
    ew: 'Y UW',
    ie: 'IY',
    oa: 'OW',
    oi: 'OY',
    oy: 'OY',
    oo: 'UW',
    ou: 'AW',
    ow: 'AW',
    ue: 'UW',
    ui: 'UW',
    ar: 'AA R',
    er: 'ER',
    ir: 'ER',
    or: 'AO R',
    ur: 'ER',
    ya: 'Y AA',
    yo: 'Y OW',
    a: 'AE',
    b: 'B',
    c: 'K',
    d: 'D',
    e: 'EH',
    f: 'F',
    g: 'G',
    h: 'HH',
    i: 'IH',
    j: 'JH',
    k: 'K',
    l: 'L',
    m: 'M',
    n: 'N',
    o: 'AA',
    p: 'P',
    q: 'K',
    r: 'R',
    s: 'S',
    t: 'T',
    u: 'AH',
    v: 'V',
    w: 'W',
    x: 'K S',
    y: 'IH',
    z: 'Z',
  }),
);
const LONGEST = 5;
const MOST_LETTERS = 40;

/** Phones with blanks between them; undefined for what is no word of Latin letters. */
export function pronounce(word: string): string | undefined {
  const plain = word
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/['’.-]/g, '')
    .toLowerCase();
  if (!/^[a-z]+$/.test(plain) || plain.length > MOST_LETTERS) return undefined;
  const text = ` ${plain} `;
  const phones: string[] = [];
  for (let at = 0; at < text.length; ) {
    const rule = longestAt(text, at);
    if (rule?.phones) phones.push(rule.phones);
    // The blank before a word belongs to few of the rules; the one after it is not spelled out by the others.
    at += rule?.length ?? 1;
  }
  // Nothing is left of a single silent letter.
  return phones.join(' ') || 'AH';
}

function longestAt(text: string, at: number): { readonly phones: string; readonly length: number } | undefined {
  for (let length = Math.min(LONGEST, text.length - at); length > 0; length--) {
    const phones = RULES.get(text.slice(at, at + length));
    // At least one sound before a silent end: `he`, `be`.
    if (phones !== undefined && !(phones === '' && at <= 2)) return { phones, length };
  }
  return undefined;
}
