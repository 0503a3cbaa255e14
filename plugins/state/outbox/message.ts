/** Rules for destinations and messages, and the kept form of a message. Pure. */
import { CoreError, PRIORITIES, type Priority } from '@device-core/plugin-api';
import type { Destination, Outgoing } from '@device-core/plugin-api/inside/services/outbox';

export interface Limits {
  readonly bytes: number;
  readonly messages: number;
  readonly ageMs: number;
}

/** A row of the queue: `level` decides who goes first when it is full, `id` who is sent first. */
export interface Row {
  readonly id: number;
  readonly level: number;
  /** Wall time of the put. */
  readonly at: number;
  /** The same by a clock that does not jump: the age is counted from here. */
  readonly since: number;
  readonly what: string;
  readonly key: string | null;
  readonly body: string;
  /** Bytes that it counts against the limit. */
  readonly bytes: number;
}

/** Level of each priority, as on the bus; a receipt of losses is above all of them and is never dropped. */
export const LEVEL: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 2, critical: 3 };
export const LOSS_LEVEL = 4;
/** Highest level of a message that gives way to one of the same level. */
export const GIVES_WAY = LEVEL.normal;
/** `what` of a receipt. */
export const LOSS = 'loss';

export const priorityOf = (level: number): Priority => PRIORITIES[level] ?? 'high';

/** Most bytes of one message, and of one call of `send`. */
export const MOST_BODY = 1024 * 1024;
/** Messages of one `putAll`. */
export const MOST_AT_ONCE = 1_000;
const MOST_BATCH = 1_000;
const TEXT = 256;
const ID = /^[a-z][a-z0-9-]{0,31}$/;

const LARGEST: Limits = { bytes: 256 * 1024 * 1024, messages: 1_000_000, ageMs: 365 * 86_400_000 };
const SMALLEST: Limits = { bytes: 1_024, messages: 1, ageMs: 1_000 };

export type Checked = Required<Omit<Destination, 'limits'>> & { readonly limits: Limits };

/** With what is left out filled in. Throws PARAMS_INVALID. */
export function checkDestination(destination: Destination, usual: Limits & { readonly batch: number }): Checked {
  const { id, part, to, durability = 'normal', batch = usual.batch, limits = {} } = destination;
  for (const [where, text] of Object.entries({ id, part }))
    if (typeof text !== 'string' || !ID.test(text)) throw invalid(where, `${JSON.stringify(text)} does not fit ${ID}`);
  checkText('to', to);
  if (durability !== 'normal' && durability !== 'full') throw invalid('durability', 'it is normal or full');
  checkCount('batch', batch, 1, MOST_BATCH);
  const { bytes = usual.bytes, messages = usual.messages, ageMs = usual.ageMs } = limits;
  for (const [where, count] of Object.entries({ bytes, messages, ageMs }))
    checkCount(`limits.${where}`, count, SMALLEST[where as keyof Limits], LARGEST[where as keyof Limits]);
  return { id, part, to, durability, batch, limits: { bytes, messages, ageMs } };
}

/** Bytes that it counts. Throws PARAMS_INVALID. */
export function checkMessage(message: Outgoing, limits: Limits): number {
  const { priority, what, body, key } = message ?? {};
  if (!Object.hasOwn(LEVEL, priority)) throw invalid('priority', `it is none of ${PRIORITIES.join(', ')}`);
  checkText('what', what);
  if (what === LOSS) throw invalid('what', `${LOSS} is what the queue itself says of messages that were dropped`);
  if (key !== undefined) checkText('key', key);
  if (typeof body !== 'string') throw invalid('body', 'it is no text');
  const bytes = sizeOf(body, what, key);
  const most = Math.min(MOST_BODY, limits.bytes);
  if (bytes > most) throw invalid('body', `it has ${bytes} bytes, more than ${most}`);
  return bytes;
}

export function sizeOf(body: string, what: string, key?: string): number {
  return Buffer.byteLength(body) + what.length + (key?.length ?? 0);
}

function checkText(where: string, text: unknown): void {
  if (typeof text !== 'string' || text === '' || text.length > TEXT)
    throw invalid(where, `it has no text, or more than ${TEXT} characters`);
}

function checkCount(where: string, count: unknown, least: number, most: number): void {
  if (!(Number.isSafeInteger(count) && (count as number) >= least && (count as number) <= most))
    throw invalid(where, `it is no whole number from ${least} to ${most}`);
}

export const invalid = (where: string, reason: string) => new CoreError('PARAMS_INVALID', { where, reason });
