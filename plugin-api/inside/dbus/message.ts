/** Messages: D-Bus specification, "Message Format". */
import { limited, malformed, unsendable } from './error.ts';
import { type DBusValue, marshal, PATH, unmarshal, Variant } from './marshal.ts';

const TYPES = ['', 'call', 'reply', 'error', 'signal'] as const;

export interface Message {
  readonly type: 'call' | 'reply' | 'error' | 'signal';
  /** Number given by the sender, never 0. */
  readonly serial: number;
  readonly noReply?: boolean;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly error?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  /** Written by the bus, regardless of the sender. */
  readonly sender?: string;
  /** Signature of the body; empty if absent. */
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
}

type Field = 'path' | 'interface' | 'member' | 'error' | 'replySerial' | 'destination' | 'sender' | 'signature';
const INTERFACE = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/;
const BUS = /^(:[\w-]+(\.[\w-]+)+|[A-Za-z_-][\w-]*(\.[A-Za-z_-][\w-]*)+)$/;
const FIELDS: readonly (readonly [code: number, field: Field, signature: string, form?: RegExp])[] = [
  [1, 'path', 'o', PATH],
  [2, 'interface', 's', INTERFACE],
  [3, 'member', 's', /^[A-Za-z_]\w*$/],
  [4, 'error', 's', INTERFACE],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's', BUS],
  [7, 'sender', 's', BUS],
  [8, 'signature', 'g'],
];
const LONGEST_NAME = 255;
const NEEDED: Readonly<Record<Message['type'], readonly Field[]>> = {
  call: ['path', 'member'],
  reply: ['replySerial'],
  error: ['error', 'replySerial'],
  signal: ['path', 'interface', 'member'],
};
/** Bytes that say how long a message is. */
export const HEAD = 16;
const VERSION = 1;
const NO_REPLY = 1;

/** Throws DBusError (InvalidArgs) for what no bus would take. */
export function encode(message: Message): Uint8Array {
  const { type, serial, noReply = false, signature = '', body = [] } = message;
  const lacking = NEEDED[type].find((field) => message[field] === undefined);
  if (lacking) throw unsendable(`a ${type} needs ${lacking}`);
  const content = marshal(signature, body);
  const fields = FIELDS.flatMap(([code, field, sort, form]) => {
    const value = field === 'signature' && signature === '' ? undefined : message[field];
    if (value === undefined) return [];
    if (form && !named(form, value)) throw unsendable(`${field} ${JSON.stringify(value)}`);
    return [[code, new Variant(sort, value)]];
  });
  const head = marshal('yyyyuua(yv)', [
    ...[0x6c, TYPES.indexOf(type), noReply ? NO_REPLY : 0, VERSION, content.length, serial],
    fields,
  ]);
  const begin = padded(head.length);
  const bytes = new Uint8Array(begin + content.length);
  bytes.set(head);
  bytes.set(content, begin);
  return bytes;
}

/** How long the message is of which these are the first 16 bytes. Throws DBusError where it is none, or has more than `most` bytes. */
export function lengthOf(head: Uint8Array, most: number): number {
  const order = head[0];
  if (order !== 0x6c && order !== 0x42) throw malformed(`a byte order of ${order}`);
  if (head[3] !== VERSION) throw malformed(`version ${head[3]} of the protocol`);
  const view = new DataView(head.buffer, head.byteOffset, HEAD);
  const length = padded(HEAD + view.getUint32(12, order === 0x6c)) + view.getUint32(4, order === 0x6c);
  if (length > most) throw limited(`a message of ${length} bytes; ${most} are the limit`);
  return length;
}

/** One whole message; undefined for a type that this protocol may get one day. Throws DBusError (InconsistentMessage). */
export function decode(bytes: Uint8Array): Message | undefined {
  const little = bytes[0] === 0x6c;
  const size = new DataView(bytes.buffer, bytes.byteOffset, HEAD).getUint32(12, little);
  const begin = padded(HEAD + size);
  const head = unmarshal('yyyyuua(yv)', bytes.subarray(0, HEAD + size), little);
  const [, kind, flags, , , serial, list] = head as [number, number, number, number, number, number, FieldList];
  if (kind === 0 || serial === 0) throw malformed(kind === 0 ? 'it has no type' : 'it has no serial');
  if (bytes.subarray(HEAD + size, begin).some((byte) => byte !== 0)) throw malformed('what fills up is not zero');
  const type = TYPES[kind];
  if (type === undefined || type === '') return undefined;
  const found: Partial<Record<Field, DBusValue>> = {};
  for (const [code, { signature, value }] of list) {
    const [, field, sort, form] = FIELDS.find(([one]) => one === code) ?? [];
    if (field === undefined) continue;
    if (sort !== signature || field in found || (form && !named(form, value))) throw malformed(`its field ${field}`);
    found[field] = value;
  }
  const lacking = NEEDED[type].find((field) => found[field] === undefined);
  if (lacking) throw malformed(`a ${type} without ${lacking}`);
  const message = found as Partial<Message>;
  const body = unmarshal(message.signature ?? '', bytes.subarray(begin), little);
  return { ...message, type, serial, noReply: (flags & NO_REPLY) !== 0, body };
}

type FieldList = readonly (readonly [code: number, value: Variant])[];

function named(form: RegExp, value: DBusValue): boolean {
  return typeof value === 'string' && form.test(value) && (form === PATH || value.length <= LONGEST_NAME);
}

function padded(length: number): number {
  return Math.ceil(length / 8) * 8;
}
