/**
 * Data from one app to another goes on as the bytes that came, where JSON.stringify would make the same bytes: large
 * parameters and results of functions are parsed and checked, but not made into text again.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** First letters of true, null and false, and how long they are. */
const WORDS: Readonly<Record<number, number>> = { 116: 4, 110: 4, 102: 5 };

/** Below this text is as quick. */
const LARGE = 16 * 1024;
/** Every whole number with as many digits is exact. */
const SAFE_DIGITS = 15;
/** Strings up to this are looked through here; a native search is quicker above. */
const SHORT = 48;

const EMPTY = Buffer.from('{}');

/** An object that came from an app, to its bytes. */
const sources = new WeakMap<object, Buffer>();

/** A call into an app. */
export interface CallMessage {
  readonly jsonrpc: string;
  readonly id: string;
  readonly method: string;
  readonly params: object;
  readonly meta: object;
}

/** A message in three parts, of which the middle is bytes. */
export interface Cut {
  readonly before: string;
  readonly bytes: Buffer;
  readonly after: string;
}

/** The operation that hands on what apps say to each other, and changes nothing of it. What others make of an object nobody knows here. */
export const HANDS_ON = 'functions.call';

/** Keeps the bytes of what an app wants handed on, and of what an app answered. `line` must not change any more. */
export function keepSources(message: unknown, line: Buffer): void {
  if (line.length < LARGE || !isMap(message)) return;
  const { method, params, result } = message;
  const at = line.indexOf(OPEN_BRACE);
  if (isMap(result)) keep(message, at, result, member(line, { value: message, at }, 'result'), line);
  else if (method === HANDS_ON && isMap(params) && isMap(params.inputs)) {
    const inner = member(line, { value: message, at }, 'params');
    if (inner >= 0) keep(message, at, params.inputs, member(line, { value: params, at: inner }, 'inputs'), line);
  }
}

/** A call into an app, in parts. Undefined where its params are not what came from an app. */
export function cutCall(message: CallMessage): Cut | undefined {
  return around(message, 'params', sources.get(message.params));
}

/** The same of an answer to who had something handed on. */
export function cutAnswer(message: object): Cut | undefined {
  const { result } = message as { readonly result?: unknown };
  const inner = isMap(result) && isMap(result.result) ? sources.get(result.result) : undefined;
  if (!inner || Object.keys(result as object).length !== 1) return undefined;
  const { before, after } = around(message, 'result', inner)!;
  return { before: `${before}{"result":`, bytes: inner, after: `}${after}` };
}

function around(message: object, name: string, bytes: Buffer | undefined): Cut | undefined {
  if (!bytes) return undefined;
  const members = Object.entries(message);
  const place = members.findIndex(([key]) => key === name);
  const text = (some: [string, unknown][]) => JSON.stringify(Object.fromEntries(some)).slice(1, -1);
  const rest = text(members.slice(place + 1));
  const before = `{${text(members.slice(0, place))},${JSON.stringify(name)}:`;
  return { before, bytes, after: rest === '' ? '}' : `,${rest}}` };
}

/**
 * A key that is there twice, anywhere in the message, is one member here and may be another one to others: what is
 * checked must be what is read.
 */
function keep(message: object, from: number, value: object, at: number, line: Buffer): void {
  const inner = at < 0 ? undefined : plainEnd(line, at);
  if (!inner || inner.at - at < LARGE || line.length - (inner.at - at) > LARGE) return;
  const rest = plainEnd(Buffer.concat([line.subarray(from, at), EMPTY, line.subarray(inner.at)]), 0);
  if (rest && rest.members + inner.members === countMembers(message)) sources.set(value, line.subarray(at, inner.at));
}

/** Offset of the value of a member of the object at `at`; -1 where the bytes do not tell at once. */
function member(bytes: Buffer, { value, at }: { readonly value: object; readonly at: number }, name: string): number {
  let from = at + 1;
  for (const key of Object.keys(value)) {
    const head = JSON.stringify(key);
    if (bytes[at] !== OPEN_BRACE || bytes.toString('utf8', from, from + Buffer.byteLength(head) + 1) !== `${head}:`)
      return -1;
    from += Buffer.byteLength(head) + 1;
    if (key === name) return from;
    const end = plainEnd(bytes, from);
    if (!end || bytes[end.at] !== COMMA) return -1;
    from = end.at + 1;
  }
  return -1;
}

/**
 * The end of a value and its members, inner ones, too; undefined where JSON.stringify might write it in another way.
 * The bytes are valid JSON.
 */
function plainEnd(bytes: Buffer, from: number): { readonly at: number; readonly members: number } | undefined {
  let depth = 0;
  let members = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = stringEnd(bytes, at + 1);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
      at++;
      continue;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
      at++;
    } else if (byte === COLON || byte === COMMA) {
      if (byte === COLON) members++;
      at++;
      continue;
    } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) at = numberEnd(bytes, at);
    else at = WORDS[byte] === undefined ? -1 : at + WORDS[byte];
    if (at < 0) return undefined;
    if (depth === 0) return { at, members };
  }
  return undefined;
}

/** Behind the closing quote; -1 where something is escaped. */
function stringEnd(bytes: Buffer, from: number): number {
  const near = Math.min(bytes.length, from + SHORT);
  for (let at = from; at < near; at++) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) return -1;
  }
  const end = bytes.indexOf(QUOTE, near);
  return end < 0 || bytes.subarray(near, end).includes(BACKSLASH) ? -1 : end + 1;
}

/** -1 for what is not a plain whole number: a fraction, an exponent, minus zero, more digits than a number keeps. */
function numberEnd(bytes: Buffer, from: number): number {
  const first = bytes[from] === MINUS ? from + 1 : from;
  if (first > from && bytes[first] === ZERO) return -1;
  let at = first;
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  const next = bytes[at];
  return at - first <= SAFE_DIGITS && (next === COMMA || next === CLOSE_BRACE || next === CLOSE_BRACKET) ? at : -1;
}

function countMembers(value: object): number {
  let members = 0;
  const waiting: object[] = [value];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const inner: readonly unknown[] = Array.isArray(one) ? one : Object.values(one);
    if (!Array.isArray(one)) members += inner.length;
    for (const each of inner) if (typeof each === 'object' && each !== null) waiting.push(each);
  }
  return members;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
