/** Takes the texts of secrets out of what is about to be written: lines of the log, output of apps. Pure, at once, and it never throws. */
import { Needles, PART, type Told, WINDOW } from './secret-matcher.ts';

export interface ScanBounds {
  /** Texts of one scope that are looked for, old ones among them. */
  readonly texts?: number;
  /** Characters of them in all. */
  readonly characters?: number;
  /** Texts of one secret, the newest: the number of changes to it is unlimited. */
  readonly ofOne?: number;
}

interface Scope {
  /** Keys by text, in the order in which they were last told. */
  readonly texts: Map<string, string>;
  characters: number;
  /** Weak texts of an app or plugin, common ones: looked for in lines of that component, and in the words of others. */
  weak?: Needles;
}

interface Look {
  readonly needles: readonly Needles[];
  /** Characters that are enough where a text was cut. */
  readonly least: number;
  readonly named: boolean;
}

const OF_COMPONENT = /^(app|plugin)\./;
/** Characters of a text that apps and plugins can have taken out of lines of others. */
const STRONG = 12;
const PLAIN_WORDS = /^[\p{L}\s]+$/u;
const FEW_SLOTS = 1 << 12;

/** Numbers that the Core writes at the top of a line: no secret, even with the same digits. */
const OWN_NUMBERS: ReadonlySet<string> = new Set(['level', 'time']);
/** As many as plugins and apps together are ever installed. */
const MOST_SCOPES = 1_000;

/** References call them without it. */
const SHARED = 'shared/';

export class TextScan {
  readonly #mostTexts: number;
  readonly #mostCharacters: number;
  readonly #mostOfOne: number;
  readonly #scopes = new Map<string, Scope>();
  readonly #needles = new Needles();
  /** Weak ones of all scopes. */
  readonly #weak = new Needles(FEW_SLOTS);
  /** Names that every reader of a log may see, one a line. */
  #names = '';
  #forgotten = 0;

  constructor({ texts = 512, characters = 512 << 10, ofOne = 16 }: ScanBounds = {}) {
    this.#mostTexts = texts;
    this.#mostCharacters = characters;
    this.#mostOfOne = ofOne;
  }

  /** Texts that are looked for, and those that had to give way. */
  get size(): { readonly texts: number; readonly forgotten: number } {
    const texts = [...this.#scopes.values()].reduce((sum, scope) => sum + scope.texts.size, 0);
    return { texts, forgotten: this.#forgotten };
  }

  /** Names of apps, plugins and the like, from now on instead of those before: a text that is a part of one is not looked for. */
  setNames(names: Iterable<string>): void {
    this.#names = [...names].join('\n');
    for (const scope of this.#scopes.values())
      for (const text of [...scope.texts.keys()]) if (this.#names.includes(text)) this.#drop(scope, text);
  }

  /** True for a part of a name: such a secret could take the names of others, or its own, out of the log. */
  isName(key: string, text: string): boolean {
    return key.slice(0, key.indexOf('/')).includes(text) || this.#names.includes(text);
  }

  /**
   * Adds a text at once; `key` is `<scope>/<name>`. One of fewer than eight characters is not looked for: it would stand in each line for
   * another reason. The oldest text of a full scope gives way, so that no scope pushes out another's.
   */
  add(key: string, text: string): void {
    if (text.length < WINDOW || this.isName(key, text)) return;
    const name = key.slice(0, key.indexOf('/'));
    const scope: Scope = this.#scopes.get(name) ?? { texts: new Map(), characters: 0 };
    const known = scope.texts.get(text);
    scope.texts.delete(text);
    scope.texts.set(text, known ?? key);
    this.#scopes.set(name, scope);
    if (known !== undefined) return;
    scope.characters += text.length;
    const told = toldOf(text, key);
    if (isWeak(told)) scope.weak ??= new Needles(FEW_SLOTS);
    for (const needles of this.#homesOf(scope, told)) this.#forgotten += needles.add(told);
    const ofOne = [...scope.texts].filter(([, one]) => one === key);
    if (ofOne.length > this.#mostOfOne) this.#remove(scope, ofOne[0]![0]);
    if (scope.texts.size > this.#mostTexts || scope.characters > this.#mostCharacters) this.#forget(scope);
    if (this.#scopes.size > MOST_SCOPES) this.#forgetScope();
  }

  /** Finished line of the Core's log. It stays JSON with any secret. */
  line(line: string): string {
    if (!this.#needles.maybe(line) && !this.#weak.maybe(line)) return line;
    const value = parsed(line);
    if (value === undefined) return this.text(line);
    const { plugin, app } = Object(value) as { readonly plugin?: unknown; readonly app?: unknown };
    const own = [`plugin.${plugin}`, `app.${app}`].flatMap((scope) => this.#scopes.get(scope)?.weak ?? []);
    return this.#through(line, value, { needles: [this.#needles, ...own], least: WINDOW, named: true });
  }

  /** Any text of the Core. */
  text(text: string): string {
    return hiddenIn(text, { needles: [this.#needles, this.#weak], least: WINDOW, named: true });
  }

  /** The same for the words of others: whose secret it is is not told, and a few characters from its beginning are not enough. */
  lineOfOthers(line: string): string {
    const value = parsed(line);
    return value === undefined ? this.textOfOthers(line) : this.#through(line, value, this.#others);
  }

  textOfOthers(text: string): string {
    return hiddenIn(text, this.#others);
  }

  get #others(): Look {
    return { needles: [this.#needles, this.#weak], least: PART, named: false };
  }

  #through(line: string, value: unknown, look: Look): string {
    const hidden = inside(value, look, true);
    return hidden === value ? line : JSON.stringify(hidden);
  }

  /** A quarter goes at once. The newest stays, however long it is. */
  #forget(scope: Scope): void {
    for (const text of [...scope.texts.keys()]) {
      const fits = scope.texts.size <= this.#mostTexts * 0.75 && scope.characters <= this.#mostCharacters * 0.75;
      if (fits || scope.texts.size === 1) break;
      this.#remove(scope, text);
    }
  }

  #forgetScope(): void {
    const [[name, scope]] = this.#scopes as unknown as [[string, Scope]];
    this.#scopes.delete(name);
    for (const text of [...scope.texts.keys()]) this.#remove(scope, text);
  }

  #remove(scope: Scope, text: string): void {
    this.#drop(scope, text);
    this.#forgotten++;
  }

  /** Nothing of others is laid out anew. */
  #drop(scope: Scope, text: string): void {
    const told = toldOf(text, scope.texts.get(text)!);
    for (const needles of this.#homesOf(scope, told)) needles.remove(told);
    scope.texts.delete(text);
    scope.characters -= text.length;
  }

  #homesOf({ weak }: Scope, told: Told): readonly Needles[] {
    return isWeak(told) ? [this.#weak, weak!] : [this.#needles];
  }
}

/** True for a text that could take common words out of the log of the Core. */
function isWeak({ text, scope }: Told): boolean {
  return OF_COMPONENT.test(scope) && (text.length < STRONG || PLAIN_WORDS.test(text));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // no JSON has it
  }
}

function hiddenIn(text: string, { needles, least, named }: Look): string {
  let whole = text;
  for (const one of needles) {
    let hidden = '';
    let from = 0;
    for (let found = one.find(whole, 0, least); found !== undefined; found = one.find(whole, from, least)) {
      hidden += `${whole.slice(from, found.at)}${named ? `[secret ${found.name}]` : '[secret]'}`;
      from = found.at + found.length;
    }
    if (from > 0) whole = hidden + whole.slice(from);
  }
  return whole;
}

/** The same value where nothing was found in it. */
function inside(value: unknown, look: Look, top = false): unknown {
  if (typeof value === 'string') return hiddenIn(value, look);
  if (typeof value === 'number') {
    const written = String(value);
    const hidden = hiddenIn(written, look);
    return hidden === written ? value : hidden;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const hidden = value.map((one) => inside(one, look));
    return hidden.some((one, index) => one !== value[index]) ? hidden : value;
  }
  let changed = false;
  const members = Object.entries(value).map(([key, one]): [string, unknown] => {
    if (top && OWN_NUMBERS.has(key) && typeof one === 'number') return [key, one];
    const member: [string, unknown] = [hiddenIn(key, look), inside(one, look)];
    changed ||= member[0] !== key || member[1] !== one;
    return member;
  });
  return changed ? Object.fromEntries(members) : value;
}

function toldOf(text: string, key: string): Told {
  const name = key.startsWith(SHARED) ? key.slice(SHARED.length) : key;
  return { text, name, scope: key.slice(0, key.indexOf('/')) };
}
