/**
 * Search of the page. A page offers `pages/<id>/entries.ts` with `entries()` and says `entries` in its page.json; the
 * file is fetched and called when the search is opened, never before.
 */
/** In the order in which equally good ones are shown. */
export const KINDS = [
  'question',
  'page',
  'app',
  'plugin',
  'setting',
  'refusal',
  'function',
  'operation',
  'event',
] as const;
export type EntryKind = (typeof KINDS)[number];

export interface Entry {
  readonly kind: EntryKind;
  /** First line of the entry. Text of an app may stand here: it is shown as text. */
  readonly title: string;
  /** A second line, quieter; it is searched, too, and counts less. */
  readonly note?: string;
  /** Link of the entry: `link(...)`. */
  readonly href: string;
  /** Further words that it is found by, in any language; never shown. */
  readonly words?: readonly string[];
  /** A name of parts/icon.ts. */
  readonly icon?: string;
}

export type Entries = () => Promise<readonly Entry[]>;

/** An entry with its words made ready once, not at each letter. */
interface Indexed {
  readonly entry: Entry;
  readonly whole: string;
  /** The deed of `system.backup`: `backup`. */
  readonly tail: string;
  readonly title: readonly string[];
  readonly more: readonly string[];
}
export type Index = readonly Indexed[];

/** Words that tell little in a question; they count little, missing or found. */
const LITTLE = new Set(
  'a an the is are was were be do does did it its this that of on in at to for so my me i what which who why how when where can could not no and or der die das dem den ein eine einer ist sind war wird wurde es dies diese dieser dieses von im in an auf zu fur so mein meine mir ich was wer wie wo wann warum weshalb wieso kann nicht kein und oder le la les l un une des du de d ce cet cette ca est sont etait a ete il elle on je mon ma mes que quoi qu qui quel quelle pourquoi comment ou quand ne pas et'.split(
    ' ',
  ),
);

/** Small letters without accents. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');

/** `displaySurface.patch` is display, surface, patch. */
export function wordsOf(text: string): readonly string[] {
  const apart = text.slice(0, 400).replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return plain(apart)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

export function indexOf(entries: readonly Entry[]): Index {
  return entries.map((entry) => ({
    entry,
    whole: plain(entry.title),
    tail: plain(entry.title).split('.').at(-1)!,
    title: wordsOf(entry.title),
    more: wordsOf([entry.note ?? '', ...(entry.words ?? [])].join(' ').slice(0, 1200)),
  }));
}

/** The best first. Every word must be found, but in a question of plain words most of its weight is enough. */
export function find(index: Index, query: string, most = 30): readonly Entry[] {
  const asked = wordsOf(query).slice(0, 12);
  if (asked.length === 0) return [];
  const whole = plain(query.trim());
  const found: { readonly entry: Entry; readonly score: number }[] = [];
  for (const one of index) {
    const score = scoreOf(one, asked, whole);
    if (score > 0) found.push({ entry: one.entry, score });
  }
  found.sort((a, b) => b.score - a.score || order(a.entry) - order(b.entry) || compare(a.entry.title, b.entry.title));
  return found.slice(0, most).map(({ entry }) => entry);
}

const order = ({ kind }: Entry): number => KINDS.indexOf(kind);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function scoreOf(one: Indexed, asked: readonly string[], whole: string): number {
  let [got, all, score] = [0, 0, 0];
  for (const word of asked) {
    const weight = LITTLE.has(word) ? 0.1 : 1;
    const hit = Math.max(bestOf(word, one.title), inWhole(word, one), 0.6 * bestOf(word, one.more));
    all += weight;
    if (hit > 0) got += weight;
    score += weight * hit;
  }
  const share = got / all;
  if (share < (one.entry.kind === 'question' ? 0.5 : 0.999)) return 0;
  const isNamed = one.whole === whole || one.tail === whole;
  const bonus = isNamed ? 1 : one.whole.startsWith(whole) ? 0.5 : one.whole.includes(whole) ? 0.2 : 0;
  // A title that says more than was asked is a little less what was meant.
  return (score / all) * share + bonus - 0.004 * Math.min(20, one.title.length) + (FAVOUR[one.entry.kind] ?? 0);
}

/** Pages and deeds come before parts of the Core of the same name. */
const FAVOUR: Readonly<Partial<Record<EntryKind, number>>> = { page: 0.7, plugin: -0.05 };

/** `logbytes` is the name `logBytes`, whose words are two. */
const inWhole = (word: string, { whole, tail }: Indexed): number =>
  word === whole || word === tail ? 1 : word.length >= 3 && whole.includes(word) ? 0.5 : 0;

function bestOf(word: string, among: readonly string[]): number {
  let best = 0;
  for (const other of among) {
    const close = closeness(word, other);
    if (close > best) best = close;
    if (best === 1) break;
  }
  return best;
}

/** 1: the same; then the beginning, a part, a slip of the fingers; 0: another word. */
function closeness(word: string, other: string): number {
  if (word === other) return 1;
  if (other.startsWith(word)) return 0.9 - 0.2 * (1 - word.length / other.length);
  if (word.length >= 3 && other.includes(word)) return 0.5;
  if (word.length < 4) return 0;
  const allowed = word.length < 8 ? 1 : 2;
  const { whole, beginning } = slips(word, other, allowed);
  // The beginning of a longer word may be mistyped as well.
  return whole <= allowed ? 0.45 : beginning <= allowed ? 0.35 : 0;
}

/**
 * How many slips of the fingers `a` is from `b`, and from its nearest beginning; looks no further than `allowed`. A
 * letter too many, too few, another one, or two that changed places are one slip. Damerau, "A technique for computer
 * detection and correction of spelling errors", 1964.
 */
export function slips(a: string, b: string, allowed: number): { readonly whole: number; readonly beginning: number } {
  const far = { whole: allowed + 1, beginning: allowed + 1 };
  if (b.length < a.length - allowed) return far;
  const to = b.slice(0, a.length + allowed);
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = a[i - 1] === to[j - 1];
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === to[j - 2] && a[i - 2] === to[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      next[j] = cost;
    }
    if (Math.min(...next) > allowed) return far;
    before = row;
    row = next;
  }
  return { whole: to === b ? row[to.length]! : allowed + 1, beginning: Math.min(...row) };
}
