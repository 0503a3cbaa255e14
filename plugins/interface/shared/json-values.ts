/** Values and keys of a JSON text, counted before it is parsed: brackets are cheap to send and dear to take. */

/** Values, keys and containers of one message. A text of fewer bytes has fewer of them, and is not looked through. */
export const MAX_JSON_VALUES = 65_536;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Why the text is not parsed; undefined where it may be. Works on any bytes, JSON or not, and stops at the bound. */
export function tooManyValues(bytes: Buffer, most = MAX_JSON_VALUES): string | undefined {
  if (bytes.length <= most) return undefined;
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = stringEnd(bytes, at + 1);
    else if (byte === COMMA || byte === COLON || byte === OPEN_BRACKET || byte === OPEN_BRACE) count++;
    if (count > most) return `it has more than ${most} values and keys`;
  }
  return undefined;
}

/** Index of the closing quote; the length where there is none. Long strings are searched natively. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let escapes = 0;
    while (quote - escapes > from && bytes[quote - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return quote;
  }
  return bytes.length;
}
