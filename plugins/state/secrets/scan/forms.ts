/** How a text may stand in what is written: as it is, and as JSON, addresses, hex and base64 have it. Pure. */

/** Text of JSON inside of a text of JSON inside of a line. */
const DEEPEST_JSON = 3;
/** A line of a long text that may stand alone, such as one of a key in PEM; a shorter one may be a common word. */
const ALONE = /^\S{32,}$/;
const MOST_LINES = 64;
/** Characters of base64 that depend on the bytes before, by the number of them after whole groups of three. */
const BEFORE = [0, 2, 3] as const;
/** So much of a form is looked for; what follows it is compared where that was found. */
const HEAD = 64;
/** Characters of a text that give the heads of its forms, with any escapes. */
const SAMPLE = 96;
/** A longer text has fewer forms, and none of them is laid out before it is found. */
const LONG = 256;

type Write = (text: string) => string;

/** A form that is looked for by its beginning. */
export interface Form {
  readonly head: string;
  /** All of it, where it is longer than its head. */
  readonly whole?: () => string;
}

const ascii = (json: string) => json.replace(/[^ -~]/g, (sign) => unit(sign));
const unit = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
const json =
  (write: Write, depth: number): Write =>
  (text) => {
    let form = text;
    for (let at = 0; at < depth; at++) form = write(JSON.stringify(form).slice(1, -1));
    return form;
  };
const percent: Write = (text) => encodeURIComponent(text.toWellFormed());
const strict: Write = (text) =>
  percent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
/** As forms and queries are written: a space is a plus sign. */
const query: Write = (text) => new URLSearchParams([['', text]]).toString().slice(1);
/** Hex digits behind a percent sign may be small. */
const small =
  (write: Write): Write =>
  (text) =>
    write(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
const hex: Write = (text) => Buffer.from(text, 'utf8').toString('hex');
/** Base64 of the bytes at each offset, without the characters that neighbours have a part in. */
const base64 =
  (offset: number): Write =>
  (text) => {
    const all = Buffer.concat([Buffer.alloc(offset), Buffer.from(text, 'utf8')]);
    return all.toString('base64').slice(BEFORE[offset], Math.floor((all.length * 8) / 6));
  };
const ofAddress =
  (write: Write): Write =>
  (text) =>
    write(text).replaceAll('+', '-').replaceAll('/', '_');

const ITSELF: Write = (text) => text;
const OF_LONG: readonly Write[] = [
  ...[ITSELF, json(ITSELF, 1), json(ITSELF, 2), percent, hex],
  ...[0, 1, 2].flatMap((offset) => [base64(offset), ofAddress(base64(offset))]),
];
const WRITES: readonly Write[] = [
  ITSELF,
  ...[ITSELF, ascii, (form: string) => form.replaceAll('/', '\\/')].flatMap((write) =>
    Array.from({ length: DEEPEST_JSON }, (_, depth) => json(write, depth + 1)),
  ),
  ...[percent, strict, query].flatMap((write) => [write, small(write)]),
  ...[hex, (text: string) => hex(text).toUpperCase()],
  ...[0, 1, 2].flatMap((offset) => [base64(offset), ofAddress(base64(offset))]),
];

/** Each form once, the text itself first. */
export function formsOf(text: string): readonly string[] {
  return [...new Set([...WRITES.map((write) => write(text)), ...linesOf(text)])];
}

/** Heads of the forms, for the search. Of a long text only the beginnings are laid out. */
export function headsOf(text: string): readonly Form[] {
  if (text.length <= LONG) return formsOf(text).map(headOf);
  const sample = text.slice(0, SAMPLE).replace(/[\uD800-\uDBFF]$/, '');
  const forms = OF_LONG.map((write): Form => ({ head: write(sample).slice(0, HEAD), whole: () => write(text) }));
  return [...forms, ...linesOf(text).map(headOf)];
}

function headOf(form: string): Form {
  return form.length <= HEAD ? { head: form } : { head: form.slice(0, HEAD), whole: () => form };
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/[\r\n]+/);
  return lines.length === 1 ? [] : lines.slice(0, MOST_LINES).filter((line) => ALONE.test(line));
}
