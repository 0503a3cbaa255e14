/** Values on the wire: D-Bus specification, "Message Protocol", "Marshaling (Wire Format)". */
import { malformed, unsendable } from './error.ts';
import { ALIGNMENT, type Type, typesOf } from './signature.ts';

/** A value that carries its own type: `new Variant('s', 'exec')`. */
export class Variant {
  /** One complete type. */
  readonly signature: string;
  readonly value: DBusValue;

  constructor(signature: string, value: DBusValue) {
    this.signature = signature;
    this.value = value;
  }
}

/**
 * y n q i u d h: number; x t: bigint (a safe integer is taken as well); b: boolean; s o g: string; ay: Uint8Array;
 * other arrays and structs: array; a{..}: Map, so that no key can mean more than itself; v: Variant.
 */
export type DBusValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Variant
  | readonly DBusValue[]
  | ReadonlyMap<DBusValue, DBusValue>;

/** Containers inside each other, variants among them. */
const DEEPEST = 64;
const LONGEST_ARRAY = 0x400_0000;
const INTEGERS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  y: [0, 0xff],
  n: [-0x8000, 0x7fff],
  q: [0, 0xffff],
  i: [-0x8000_0000, 0x7fff_ffff],
  u: [0, 0xffff_ffff],
  h: [0, 0xffff_ffff],
};
export const PATH = /^\/$|^(\/[A-Za-z0-9_]+)+$/;

/** The bytes of these values, aligned as at the beginning of a message. Throws DBusError (InvalidArgs) for values that do not fit. */
export function marshal(signature: string, values: readonly DBusValue[]): Uint8Array {
  const types = typesOf(signature);
  if (types.length !== values.length) throw unsendable(`${values.length} values for ${JSON.stringify(signature)}`);
  const writer = new Writer();
  for (const [index, type] of types.entries()) writer.value(type, values[index]!, 0);
  return writer.bytes();
}

/** The values of all of these bytes. Throws DBusError (InconsistentMessage) where they are not exactly what the signature says. */
export function unmarshal(signature: string, bytes: Uint8Array, little = true): readonly DBusValue[] {
  const reader = new Reader(bytes, little);
  const values = typesOf(signature).map((type) => reader.value(type, 0));
  if (reader.left > 0) throw malformed(`${reader.left} bytes too many`);
  return values;
}

class Writer {
  #buffer = new Uint8Array(256);
  #view = new DataView(this.#buffer.buffer);
  #at = 0;

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#at);
  }

  value(type: Type, value: DBusValue, depth: number): void {
    const { code } = type;
    const integer = INTEGERS[code];
    if (integer) this.#integer(code, Number(checked(Number.isInteger(value), type, value)), integer);
    else if (code === 's' || code === 'o' || code === 'g') this.#text(code, text(type, value));
    else this.#aligned(type, value, depth);
  }

  #aligned(type: Type, value: DBusValue, depth: number): void {
    const { code, inner } = type;
    const at = this.#room(ALIGNMENT[code]!, code === 'd' || code === 'x' || code === 't' ? 8 : code === 'v' ? 0 : 4);
    if (code === 'd') this.#view.setFloat64(at, Number(checked(typeof value === 'number', type, value)), true);
    else if (code === 'x' || code === 't') this.#view.setBigUint64(at, wide(type, value), true);
    else if (code === 'b') this.#view.setUint32(at, checked(typeof value === 'boolean', type, value) ? 1 : 0, true);
    else if (depth >= DEEPEST) throw unsendable('it is too deep');
    else if (code === 'v') this.#variant(type, value, depth);
    else if (code === 'a') this.#array(type, at, value, depth);
    else {
      this.#at = at;
      const members = code === '{' || Array.isArray(value) ? (value as readonly DBusValue[]) : [];
      checked(members.length === inner.length, type, value);
      for (const [index, member] of inner.entries()) this.value(member, members[index]!, depth + 1);
    }
  }

  #variant(type: Type, value: DBusValue, depth: number): void {
    checked(value instanceof Variant, type, value);
    const { signature, value: content } = value as Variant;
    const types = typesOf(signature);
    if (types.length !== 1) throw unsendable(`a variant of ${JSON.stringify(signature)}`);
    this.#text('g', signature);
    this.value(types[0]!, content, depth + 1);
  }

  #array(type: Type, at: number, value: DBusValue, depth: number): void {
    const element = type.inner[0]!;
    const begin = this.#room(ALIGNMENT[element.code]!, 0);
    if (element.code === 'y') {
      checked(value instanceof Uint8Array, type, value);
      this.#put(value as Uint8Array);
    } else {
      checked(element.code === '{' ? value instanceof Map : Array.isArray(value), type, value);
      for (const one of value as readonly DBusValue[]) this.value(element, one, depth + 1);
    }
    if (this.#at - begin > LONGEST_ARRAY) throw unsendable('an array is too long');
    this.#view.setUint32(at, this.#at - begin, true);
  }

  #integer(code: string, value: number, [least, most]: readonly [number, number]): void {
    if (value < least || value > most) throw unsendable(`${value} does not fit into ${code}`);
    const size = ALIGNMENT[code]!;
    const at = this.#room(size, size);
    if (size === 1) this.#view.setUint8(at, value);
    else if (size === 2) this.#view.setUint16(at, value & 0xffff, true);
    else this.#view.setUint32(at, value >>> 0, true);
  }

  #text(code: string, value: string): void {
    const bytes = new TextEncoder().encode(value);
    this.#integer(code === 'g' ? 'y' : 'u', bytes.length, code === 'g' ? [0, 0xff] : [0, LONGEST_ARRAY]);
    this.#put(bytes);
    this.#room(1, 1);
  }

  #put(bytes: Uint8Array): void {
    // Room first: it may be in another buffer.
    const at = this.#room(1, bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** Zeroes up to the boundary, and `size` more bytes behind it: where they begin. */
  #room(boundary: number, size: number): number {
    const at = Math.ceil(this.#at / boundary) * boundary;
    this.#at = at + size;
    if (this.#at > this.#buffer.length) {
      const larger = new Uint8Array(2 * this.#at);
      larger.set(this.#buffer);
      this.#buffer = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

function checked<T>(fits: boolean, type: Type, value: T): T {
  if (fits) return value;
  throw unsendable(`${value === null ? 'null' : typeof value} does not fit into ${type.code}`);
}

function text(type: Type, value: DBusValue): string {
  const given = String(checked(typeof value === 'string', type, value));
  if (given.includes('\0') || !given.isWellFormed()) throw unsendable('a text has a zero byte or half a character');
  if (type.code === 'o' && !PATH.test(given)) throw unsendable(`${JSON.stringify(given)} is no object path`);
  if (type.code === 'g') typesOf(given);
  return given;
}

function wide(type: Type, value: DBusValue): bigint {
  const big = BigInt(checked(typeof value === 'bigint' || Number.isSafeInteger(value), type, value) as bigint);
  const fits = type.code === 't' ? BigInt.asUintN(64, big) : BigInt.asIntN(64, big);
  if (fits !== big) throw unsendable(`${big} does not fit into ${type.code}`);
  return BigInt.asUintN(64, big);
}

const STRICT = { fatal: true, ignoreBOM: true };

export class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #little: boolean;
  #at = 0;

  constructor(bytes: Uint8Array, little: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#little = little;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  value(type: Type, depth: number): DBusValue {
    const { code, inner } = type;
    if (depth > DEEPEST) throw malformed('it is too deep');
    if (code === 'y') return this.#view.getUint8(this.take(1, 1));
    if (code === 'n') return this.#view.getInt16(this.take(2, 2), this.#little);
    if (code === 'q') return this.#view.getUint16(this.take(2, 2), this.#little);
    if (code === 'i') return this.#view.getInt32(this.take(4, 4), this.#little);
    if (code === 'u' || code === 'h') return this.#u32();
    if (code === 'd') return this.#view.getFloat64(this.take(8, 8), this.#little);
    if (code === 'x') return this.#view.getBigInt64(this.take(8, 8), this.#little);
    if (code === 't') return this.#view.getBigUint64(this.take(8, 8), this.#little);
    if (code === 'b') return this.#boolean();
    if (code === 's' || code === 'o' || code === 'g') return this.#text(code);
    if (code === 'v') {
      const signature = this.#text('g');
      const types = typesOf(signature);
      if (types.length !== 1) throw malformed(`a variant of ${JSON.stringify(signature)}`);
      return new Variant(signature, this.value(types[0]!, depth + 1));
    }
    if (code === 'a') return this.#array(inner[0]!, depth);
    this.take(8, 0);
    return inner.map((member) => this.value(member, depth + 1));
  }

  #array(element: Type, depth: number): DBusValue {
    const size = this.#u32();
    if (size > LONGEST_ARRAY) throw malformed(`an array of ${size} bytes`);
    const begin = this.take(ALIGNMENT[element.code]!, 0);
    const end = begin + size;
    if (end > this.#bytes.length) throw malformed('an array ends behind the message');
    if (element.code === 'y') return Uint8Array.from(this.#bytes.subarray(this.take(1, size), end));
    const values: DBusValue[] = [];
    while (this.#at < end) values.push(this.value(element, depth + 1));
    if (this.#at > end) throw malformed('an element ends behind its array');
    return element.code === '{' ? new Map(values as [DBusValue, DBusValue][]) : values;
  }

  #boolean(): boolean {
    const value = this.#u32();
    if (value > 1) throw malformed(`a boolean of ${value}`);
    return value === 1;
  }

  #text(code: string): string {
    const size = code === 'g' ? this.#view.getUint8(this.take(1, 1)) : this.#u32();
    const at = this.take(1, size + 1);
    if (this.#bytes[at + size] !== 0) throw malformed('a text without an end');
    let value: string;
    try {
      value = new TextDecoder('utf-8', STRICT).decode(this.#bytes.subarray(at, at + size));
    } catch {
      throw malformed('a text that is not UTF-8');
    }
    if (value.includes('\0')) throw malformed('a text with a zero byte');
    if (code === 'o' && !PATH.test(value)) throw malformed(`${JSON.stringify(value)} is no object path`);
    if (code === 'g') typesOf(value);
    return value;
  }

  #u32(): number {
    return this.#view.getUint32(this.take(4, 4), this.#little);
  }

  /** Past the zeroes up to the boundary, and `size` bytes on: where those begin. */
  take(boundary: number, size: number): number {
    const at = Math.ceil(this.#at / boundary) * boundary;
    if (at + size > this.#bytes.length) throw malformed('it ends too early');
    for (let pad = this.#at; pad < at; pad++) if (this.#bytes[pad] !== 0) throw malformed('what fills up is not zero');
    this.#at = at + size;
    return at;
  }
}
