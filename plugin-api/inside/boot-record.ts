/**
 * Memory of the boot loader from start to start: two records of 4 KiB, written in turn, so that one of them is whole
 * whenever the power goes. Pure; the loader, the root helper and `devicectl boot` read the same.
 */
import { createHash } from 'node:crypto';

export const RECORD_BYTES = 4096;
/** Number of this loader and of its helpers: images that want more of them say so. */
export const LOADER = 1;
export type SlotName = 'a' | 'b';
export const SLOTS: readonly SlotName[] = ['a', 'b'];
const STATES: readonly string[] = ['empty', 'trial', 'good', 'bad'];

export interface Slot {
  /** `trial`: not yet found good since it was staged. */
  readonly state: 'empty' | 'trial' | 'good' | 'bad';
  readonly version?: string;
  /** `sha256:<hex>` of its list. */
  readonly image?: string;
  /** Starts of a slot on trial. */
  readonly tries: number;
  /** Why it is bad, or empty. */
  readonly reason?: string;
}

/** How the last start went, as far as systemd or the child said. */
export interface LastStart {
  /** `/proc/sys/kernel/random/boot_id` */
  readonly boot: string;
  readonly slot: SlotName;
  readonly safe: boolean;
  /** Seconds of uptime. */
  readonly at: number;
  /** `started`: nothing was heard since. */
  readonly result: 'started' | 'ready' | 'success' | 'failure';
  /** `exit-code exited 9`, `signal killed SEGV`. */
  readonly text?: string;
}

export interface BootRecord {
  readonly slots: Readonly<Record<SlotName, Slot>>;
  readonly primary: SlotName;
  /** Nothing older is installed, and it is never earlier (seconds since the Unix epoch). */
  readonly floor: { readonly version?: string; readonly time: number };
  readonly last?: LastStart;
  /** Ends in this boot, seconds of uptime, the last five: crashes, and runs of less than ten minutes however they ended. */
  readonly crashes: readonly number[];
  /** Boots one after another that ended without a word before the Core was ready. */
  readonly silent: number;
  /** How far down it is: which way is tried when the one above it failed. */
  readonly rung: Rung;
  /** Failures on this rung. */
  readonly failures: number;
  /** Seconds that safe mode waits for somebody before the normal start is tried again. */
  readonly pause: number;
  /** The normal start after an unused safe mode: one crash ends it. */
  readonly window: boolean;
  /** Why it is not on the first rung. */
  readonly cause?: string;
}

/** From the best to the last: each rung is tried when the one before has failed. */
export const RUNGS = ['normal', 'safe', 'other', 'other-safe'] as const;
export type Rung = (typeof RUNGS)[number];

export const EMPTY_SLOT: Slot = { state: 'empty', tries: 0 };
export const FIRST_PAUSE = 600;

/** Record of a device that has just been made, or whose records are both lost. */
export const newRecord = (slots: Partial<Record<SlotName, Slot>>, primary: SlotName = 'a'): BootRecord => ({
  slots: { a: slots.a ?? EMPTY_SLOT, b: slots.b ?? EMPTY_SLOT },
  primary,
  floor: { time: 0 },
  crashes: [],
  silent: 0,
  rung: 'normal',
  failures: 0,
  pause: FIRST_PAUSE,
  window: false,
});

const MAGIC = 'device-core boot record';
const FORM = 1;
const LONGEST_TEXT = 300;
const LAST_SEQUENCE = 999_999_999_999_999;

/** 4 KiB. Texts that are too long are cut: a record that cannot be written would be worse. */
export function encodeRecord(record: BootRecord, sequence: number): Uint8Array {
  const body = JSON.stringify(record, (_, value) =>
    // Characters that JSON would make longer go, too: each character is one byte.
    typeof value === 'string' ? value.replace(/[^\x20-\x7e]|["\\]/g, '?').slice(0, LONGEST_TEXT) : value,
  );
  const bytes = Buffer.alloc(RECORD_BYTES, ' ');
  const text = `${MAGIC} ${FORM} ${sequence} ${hashOf(sequence, body)}\n${body}\n`;
  if (bytes.write(text) !== Buffer.byteLength(text)) throw new RangeError('the boot record has more than 4 KiB');
  return bytes;
}

export type Decoded =
  | { readonly kind: 'record'; readonly sequence: number; readonly record: BootRecord }
  /** A loader that is newer wrote it. */
  | { readonly kind: 'newer'; readonly form: number }
  | { readonly kind: 'damaged' };

export function decodeRecord(bytes: Uint8Array): Decoded {
  const text = Buffer.from(bytes).toString('latin1');
  const head = /^device-core boot record (\d{1,9}) (\d{1,15}) ([0-9a-f]{64})\n([^\n]*)\n *$/.exec(text);
  if (head === null) return { kind: 'damaged' };
  const [, form = '', sequence = '', hash, body = ''] = head;
  if (hash !== hashOf(Number(sequence), body)) return { kind: 'damaged' };
  if (Number(form) !== FORM) return { kind: 'newer', form: Number(form) };
  const record = recordIn(body);
  return record === undefined ? { kind: 'damaged' } : { kind: 'record', sequence: Number(sequence), record };
}

/** Undefined for what no loader of this form wrote, although its hash is right. */
function recordIn(body: string): BootRecord | undefined {
  try {
    const record = JSON.parse(body) as BootRecord;
    const { slots, primary, rung, crashes, floor, silent, failures, pause } = record;
    const whole =
      SLOTS.every((name) => STATES.includes(slots[name].state) && Number.isSafeInteger(slots[name].tries)) &&
      SLOTS.includes(primary) &&
      RUNGS.includes(rung) &&
      Array.isArray(crashes) &&
      [floor.time, silent, failures, pause].every((one) => typeof one === 'number');
    return whole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a record was written after another. After the last number comes 1. */
export const isLater = (one: number, two: number): boolean => one > two !== Math.abs(one - two) > LAST_SEQUENCE / 2;

/** The sequence number is in the hash: a record cannot be made the newer one by a bit that fell over in it. */
const hashOf = (sequence: number, body: string): string =>
  createHash('sha256').update(`${sequence}\n${body}`).digest('hex');

/** Which of the two places holds the record that counts, and where the next one goes. */
export function newest(
  first: Uint8Array,
  second: Uint8Array,
): {
  readonly found: Decoded;
  /** Index of the place to write. */
  readonly next: 0 | 1;
  readonly sequence: number;
} {
  const [one, two] = [decodeRecord(first), decodeRecord(second)];
  const numberOf = (decoded: Decoded): number => (decoded.kind === 'record' ? decoded.sequence : -1);
  // A record of a newer loader stands: an older one does not go behind it.
  if (one.kind === 'newer' || two.kind === 'newer')
    return { found: one.kind === 'newer' ? one : two, next: one.kind === 'newer' ? 1 : 0, sequence: 1 };
  const isSecond = two.kind === 'record' && (one.kind !== 'record' || isLater(two.sequence, one.sequence));
  const found = isSecond ? two : one;
  const sequence = numberOf(found) === LAST_SEQUENCE ? 1 : Math.max(0, numberOf(found)) + 1;
  return { found, next: isSecond || one.kind === 'damaged' ? 0 : 1, sequence };
}
