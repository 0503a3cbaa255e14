/**
 * The text of a settings file, cut into the pairs of its root, so that one key can be changed without the others being
 * read or written anew: what stands around a changed value stays byte for byte. Changes follow each other and can be
 * taken back until they are settled.
 */
import { CoreError } from '@device-core/plugin-api';
import { ConfigDocument } from './document.ts';
import { isBelow } from './keys.ts';

/** One pair of the root with its whole lines, or the whole of a file that cannot be cut. */
interface Piece {
  /** Its key in the text; undefined for a whole file. */
  readonly name: string | undefined;
  /** Comments and empty lines that stand before it and go with it. */
  readonly before: string;
  readonly body: string;
  /** Keys that have a value in it. */
  readonly keys: readonly string[];
  /** The body is what this class writes for the value: nothing in it has to be kept. */
  readonly plain: boolean;
}

/** The place of a piece among the others. */
interface Slot {
  piece: Piece | undefined;
}

export interface Limits {
  readonly maxKeys: number;
  readonly maxBytes: number;
}

export class SettingsText {
  readonly #path: string;
  /** Comments before the first pair and after the last: they stay when all pairs go. */
  readonly #header: string;
  readonly #tail: string;
  readonly #slots = new Set<Slot>();
  readonly #places = new Map<string, Slot>();
  /** Number of keys with each beginning. */
  readonly #beginnings = new Map<string, number>();
  /** There is no file yet. */
  #blank: boolean;
  readonly #changes: { readonly slot: Slot; readonly former: Piece | undefined }[] = [];
  #bytes: number;

  constructor(path: string, text: string, document: ConfigDocument) {
    this.#path = path;
    this.#blank = text === '';
    const layout = document.parts(text);
    const cut = layout?.parts ?? [];
    const empty = !layout && [...document.keys()].length === 0;
    this.#header = empty ? commentsOf(text) : text.slice(0, cut[0]?.start ?? 0);
    this.#tail = layout ? ended(text.slice(layout.end)) : '';
    this.#bytes = Buffer.byteLength(this.#header) + Buffer.byteLength(this.#tail);
    for (const [index, { name: written, keys, before, start }] of cut.entries()) {
      // The same string as in the keys: a file has up to thousands of them.
      const name = keys.find((key) => key === written) ?? written;
      const body = ended(text.slice(start, cut[index + 1]?.before ?? layout?.end));
      this.#add({ name, before: index === 0 ? '' : text.slice(before, start), body, keys, plain: false });
    }
    if (!layout && !empty)
      this.#add({ name: undefined, before: '', body: text, keys: [...document.keys()], plain: false });
    this.settle();
  }

  toString(): string {
    return this.#joined(({ piece }) => piece);
  }

  /** The text without the changes since the last settle(); '' where there was none. */
  settled(): string {
    if (this.#blank) return '';
    const formers = new Map<Slot, Piece | undefined>();
    for (const { slot, former } of this.#changes) if (!formers.has(slot)) formers.set(slot, former);
    return this.#joined((slot) => (formers.has(slot) ? formers.get(slot) : slot.piece));
  }

  #joined(pieceOf: (slot: Slot) => Piece | undefined): string {
    const parts = [this.#header];
    for (const slot of this.#slots) {
      const piece = pieceOf(slot);
      if (piece) parts.push(piece.before, piece.body);
    }
    if (parts.length === 1) parts.push('{}\n');
    parts.push(this.#tail);
    return parts.join('');
  }

  /**
   * Sets or (null) unsets one key. Throws CONFIG_VALUE_INVALID and has changed nothing where the key, its value or the
   * whole does not fit.
   */
  set(key: string, value: unknown, { maxKeys, maxBytes }: Limits): void {
    const fail = (reason: string): never => {
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason });
    };
    const known = this.#places.get(key);
    if (value === null) {
      if (known) this.#change(known, without(known.piece!, key, this.#path));
      return;
    }
    const other = this.#inTheWay(key);
    if (other !== undefined)
      fail(`${other} is set in the same scope, and a key is a value or the beginning of other keys, never both`);
    const count = this.#places.size;
    if (!known && count >= maxKeys) fail(`its scope holds ${count} keys already, the most allowed`);
    // A pair without a value holds the place of its key, and a file that cannot be cut that of all.
    const [first] = this.#slots;
    const whole = first?.piece && first.piece.name === undefined ? first : undefined;
    const slot = known ?? this.#slots.values().find(({ piece }) => piece?.name === key) ?? whole;
    const piece = written(slot?.piece, key, value, this.#path) ?? fail('it cannot be written as YAML without loss');
    const bytes = this.#bytes + sizeOf(piece) - sizeOf(slot?.piece);
    if (bytes > maxBytes) fail(`its scope would have ${bytes} bytes, at most ${maxBytes} are allowed`);
    if (slot) this.#change(slot, piece);
    else this.#add(piece);
  }

  /** Makes the changes since the last settle() undone. */
  takeBack(): void {
    const blank = this.#blank;
    for (const { slot, former } of this.#changes.reverse()) this.#put(slot, former);
    this.settle();
    this.#blank = blank;
  }

  settle(): void {
    if (this.#changes.length > 0) this.#blank = false;
    for (const { slot } of this.#changes) if (!slot.piece) this.#slots.delete(slot);
    this.#changes.length = 0;
  }

  #add(piece: Piece): void {
    const slot: Slot = { piece: undefined };
    this.#slots.add(slot);
    this.#change(slot, piece);
  }

  #change(slot: Slot, piece: Piece | undefined): void {
    this.#changes.push({ slot, former: slot.piece });
    this.#put(slot, piece);
  }

  #put(slot: Slot, piece: Piece | undefined): void {
    const former = slot.piece;
    this.#bytes += sizeOf(piece) - sizeOf(former);
    for (const key of former?.keys ?? []) {
      this.#places.delete(key);
      for (const beginning of beginningsOf(key)) this.#count(beginning, -1);
    }
    slot.piece = piece;
    for (const key of piece?.keys ?? []) {
      this.#places.set(key, slot);
      for (const beginning of beginningsOf(key)) this.#count(beginning, 1);
    }
  }

  #count(beginning: string, by: number): void {
    const count = (this.#beginnings.get(beginning) ?? 0) + by;
    if (count > 0) this.#beginnings.set(beginning, count);
    else this.#beginnings.delete(beginning);
  }

  /** A key that is a beginning of this one, or that begins with it. */
  #inTheWay(key: string): string | undefined {
    const above = beginningsOf(key).find((beginning) => this.#places.has(beginning));
    if (above !== undefined || !this.#beginnings.has(key)) return above;
    return this.#places.keys().find((other) => other !== key && isBelow(other, key));
  }
}

/** The piece without a key; undefined where nothing is left of it. */
function without(piece: Piece, key: string, path: string): Piece | undefined {
  if (piece.name === key) return undefined;
  const document = ConfigDocument.parse(piece.body, path);
  document.delete(key);
  const keys = piece.keys.filter((other) => other !== key);
  if (keys.length === 0 && piece.name !== undefined) return undefined;
  return { ...piece, keys, body: document.toString() };
}

/** The piece with a value, read back to be sure that it says what is meant: undefined where it does not. */
function written(piece: Piece | undefined, key: string, value: unknown, path: string): Piece | undefined {
  const named = piece === undefined || piece.name === key;
  const fresh = named && (piece === undefined || piece.plain || piece.keys.length === 0);
  const simple = fresh ? simpleLine(key, value) : undefined;
  if (simple !== undefined)
    return { name: piece ? piece.name : key, before: piece?.before ?? '', body: simple, keys: [key], plain: true };
  const plain = plainText(key, value);
  let body = plain;
  if (!fresh) {
    const document = ConfigDocument.parse(piece!.body, path);
    document.set(key, value);
    body = document.toString();
  }
  const read = ConfigDocument.parse(body, path);
  if (JSON.stringify(read.value(key) ?? null) !== JSON.stringify(value)) return undefined;
  return {
    name: piece ? piece.name : key,
    before: piece?.before ?? '',
    body,
    keys: named ? [key] : [...read.keys()],
    plain: named && body === plain,
  };
}

/** Words, and texts of words, that YAML takes for nothing but a text. */
const WORDS = /^[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*$/;
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const SIMPLE_LENGTH = 1_000;

/** plainText() of what most settings are, without asking the library; undefined for the rest. */
function simpleLine(key: string, value: unknown): string | undefined {
  if (!WORDS.test(key) || RESERVED.test(key)) return undefined;
  if (typeof value === 'boolean') return `${key}: ${value}\n`;
  if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0)) return `${key}: ${value}\n`;
  const isText = typeof value === 'string' && value.length < SIMPLE_LENGTH && WORDS.test(value);
  return isText && !RESERVED.test(value) ? `${key}: ${value}\n` : undefined;
}

/** The form that the Core writes: one full dotted key. */
function plainText(key: string, value: unknown): string {
  const document = ConfigDocument.parse('', '');
  document.set(key, value);
  return document.toString();
}

function beginningsOf(key: string): readonly string[] {
  const found: string[] = [];
  for (let dot = key.indexOf('.'); dot >= 0; dot = key.indexOf('.', dot + 1)) found.push(key.slice(0, dot));
  return found;
}

function sizeOf(piece: Piece | undefined): number {
  return piece ? Buffer.byteLength(piece.before) + Buffer.byteLength(piece.body) : 0;
}

/** Comments of a text without any value: the other lines are `{}`. */
function commentsOf(text: string): string {
  const lines = text.split('\n').filter((line) => line.startsWith('#'));
  return lines.map((line) => `${line}\n`).join('');
}

/** Ends the last line of a text, if there is one. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
