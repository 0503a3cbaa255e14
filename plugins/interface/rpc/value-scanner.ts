/** Finds where a JSON object or array ends in bytes that come in pieces, without looking at a byte twice. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Strings up to this are looked through byte by byte: native searches cost more. */
const SHORT = 48;

export class ValueScanner {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #lost = false;

  /** Something other than an object or array stands where one should begin: only the end of the line can tell more. */
  get lost(): boolean {
    return this.#lost;
  }

  reset(): void {
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
    this.#lost = false;
  }

  /** Index just behind the value that ends in `bytes` at or after `from`, or -1 when none ends there. */
  feed(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && !this.#lost) {
      if (this.#inString) {
        at = this.#skipString(bytes, at);
        continue;
      }
      const byte = bytes[at++]!;
      if (byte === QUOTE && this.#depth > 0) this.#inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (this.#depth === 0) this.#lost = true;
        else if (--this.#depth === 0) return at;
      } else if (this.#depth === 0 && !isBlank(byte)) this.#lost = true;
    }
    return -1;
  }

  /** Strings can be long (base64), and the native search is ten times as fast as a loop. */
  #skipString(bytes: Buffer, from: number): number {
    if (this.#escaped) {
      this.#escaped = false;
      return from + 1;
    }
    const near = Math.min(bytes.length, from + SHORT);
    for (let at = from; at < near; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) this.#inString = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else continue;
      return at + 1;
    }
    const quote = bytes.indexOf(QUOTE, near);
    const end = quote < 0 ? bytes.length : quote;
    const backslash = bytes.subarray(near, end).indexOf(BACKSLASH);
    if (backslash >= 0) {
      this.#escaped = true;
      return near + backslash + 1;
    }
    if (quote < 0) return end;
    this.#inString = false;
    return quote + 1;
  }
}

/** Space, tab, carriage return. */
export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
