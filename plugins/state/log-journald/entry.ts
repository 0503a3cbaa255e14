/** A line of the log as an entry of the journal, in its native protocol (systemd, "Native Journal Protocol"). Pure. */
import { createHash } from 'node:crypto';

/** Bytes of one member; a datagram of all of them fits into the buffer of any socket. */
const MESSAGE = 16 << 10;
const FIELDS = 24 << 10;
const NAME = 256;
/** Priorities of syslog for pino's levels, the most severe first. */
const PRIORITIES: readonly (readonly [level: number, priority: number])[] = [
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
];
const DEBUG = 7;
const MOST_IDS = 500;
const ids = new Map<string, string>();

/** `line` without its end, of this level as pino counts. */
export function journalEntry(line: string, level: number, identifier: string): Buffer {
  const { level: _, time, msg, plugin, app, trace, ...rest } = membersOf(line);
  const { err, code = errorOf(err)?.code, run } = rest;
  const reason = errorOf(err)?.message;
  const text = typeof msg === 'string' ? msg : '';
  const whole = typeof reason === 'string' && !text.includes(reason) ? `${text}: ${reason}` : text;
  const about = typeof code === 'string' ? code : typeof run === 'string' ? `run ${run}` : undefined;
  const more = Object.keys(rest).length === 0 ? undefined : JSON.stringify(rest);
  const cut = [cutOf(whole, MESSAGE), cutOf(more ?? '', FIELDS)].some((one) => one > 0);
  const members: Readonly<Record<string, unknown>> = {
    MESSAGE: clip(whole, MESSAGE),
    PRIORITY: String(PRIORITIES.find(([least]) => level >= least)?.[1] ?? DEBUG),
    SYSLOG_IDENTIFIER: identifier,
    CORE_PLUGIN: named(plugin),
    CORE_APP: named(app),
    CORE_TRACE: named(trace),
    MESSAGE_ID: about === undefined ? undefined : messageId(about),
    CORE_CODE: named(code),
    CORE_TIME: typeof time === 'number' ? String(time) : undefined,
    CORE_FIELDS: more === undefined ? undefined : clip(more, FIELDS),
    CORE_CUT: cut ? String(Buffer.byteLength(line)) : undefined,
  };
  return Buffer.concat(
    Object.entries(members).flatMap(([name, value]) => (typeof value === 'string' ? member(name, value) : [])),
  );
}

/** One and the same for every line with this code, on every device: the first half of a hash, as 32 digits. */
export function messageId(about: string): string {
  const known = ids.get(about);
  if (known !== undefined) return known;
  const id = createHash('sha256')
    .update(`device-core ${about.slice(0, NAME)}`)
    .digest('hex')
    .slice(0, 32);
  if (ids.size >= MOST_IDS) ids.clear();
  ids.set(about, id);
  return id;
}

/** Encodes a member. A value with a line end has its length before it, so it cannot begin another member. Buffer mends invalid Unicode. */
function member(name: string, value: string): readonly Buffer[] {
  if (!value.includes('\n')) return [Buffer.from(`${name}=${value}\n`, 'utf8')];
  const bytes = Buffer.from(value, 'utf8');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return [Buffer.from(`${name}\n`), length, bytes, Buffer.from('\n')];
}

function membersOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const members: unknown = JSON.parse(line);
    if (typeof members === 'object' && members !== null) return members as Readonly<Record<string, unknown>>;
  } catch {
    // no line of the Core: its text is the message
  }
  return { msg: line };
}

function errorOf(err: unknown): { readonly code?: unknown; readonly message?: unknown } | undefined {
  return typeof err === 'object' && err !== null ? err : undefined;
}

function named(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, NAME) : undefined;
}

function cutOf(text: string, most: number): number {
  return Math.max(0, Buffer.byteLength(text) - most);
}

/** At most so many bytes of UTF-8; a character that was cut becomes the sign for one. */
function clip(text: string, most: number): string {
  return cutOf(text, most) === 0 ? text : Buffer.from(text, 'utf8').subarray(0, most).toString('utf8');
}
