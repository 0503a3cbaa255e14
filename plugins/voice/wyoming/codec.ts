/**
 * Bytes to events and back. An event is a line of JSON `{type, data?, data_length?, payload_length?}`, then
 * `data_length` bytes of JSON whose members go over those of `data`, then `payload_length` raw bytes. What is wrong
 * once cannot be read any further: nothing marks where an event begins.
 */
import { isUtf8 } from 'node:buffer';
import { CoreError, isNestedDeeperThan } from '@device-core/plugin-api';

export interface WyomingEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly payload: Uint8Array;
}

/** Most bytes of each part of an event. */
export interface EventLimits {
  readonly lineBytes: number;
  readonly dataBytes: number;
  readonly payloadBytes: number;
}

interface Head {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly dataLength: number;
  readonly payloadLength: number;
}

const NEWLINE = 0x0a;
const MOST_DEPTH = 32;
const MOST_TYPE = 100;
/** A buffer that grew larger is let go when its event is read. */
const KEPT_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);

/** Data goes as a block of its own, which keeps the line short: some readers cap it. */
export function encodeEvent(type: string, data: object = {}, payload: Uint8Array = NOTHING): Buffer {
  const block = Object.keys(data).length === 0 ? NOTHING : Buffer.from(JSON.stringify(data));
  const head = {
    type,
    ...(block.length > 0 && { data_length: block.length }),
    ...(payload.length > 0 && { payload_length: payload.length }),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), block, payload]);
}

export class EventReader {
  readonly #limits: EventLimits;
  #store = Buffer.alloc(1024);
  #length = 0;
  #head: Head | undefined;
  /** Data of the event, once its block has been read. */
  #data: Readonly<Record<string, unknown>> | undefined;

  constructor(limits: EventLimits) {
    this.#limits = limits;
  }

  /** An event has begun and has not ended. */
  get within(): boolean {
    return this.#length > 0 || this.#head !== undefined;
  }

  /** Events that end in this chunk. To be read to the end. Throws REQUEST_INVALID, BODY_TOO_LARGE; nothing can be read afterwards. */
  *push(chunk: Uint8Array): Generator<WyomingEvent> {
    let at = 0;
    for (;;) {
      if (!this.#head) {
        if (at === chunk.length) return;
        at = this.#line(chunk, at);
        if (!this.#head) return;
      }
      const { type, dataLength, payloadLength, data } = this.#head;
      if (!this.#data) {
        at = this.#fill(chunk, at, dataLength);
        if (this.#length < dataLength) return;
        const block = dataLength === 0 ? {} : objectOf(this.#take(), 'the data');
        this.#data = { ...data, ...block };
      }
      at = this.#fill(chunk, at, payloadLength);
      if (this.#length < payloadLength) return;
      const event = { type, data: this.#data, payload: payloadLength === 0 ? NOTHING : Uint8Array.from(this.#take()) };
      this.#head = undefined;
      this.#data = undefined;
      yield event;
    }
  }

  #line(chunk: Uint8Array, from: number): number {
    const newline = chunk.indexOf(NEWLINE, from);
    const end = newline < 0 ? chunk.length : newline;
    const { lineBytes } = this.#limits;
    if (this.#length + end - from > lineBytes) throw tooLarge('the line of an event', lineBytes);
    this.#keep(chunk.subarray(from, end));
    if (newline < 0) return end;
    this.#head = this.#headOf(objectOf(this.#take(), 'the line'));
    return newline + 1;
  }

  #headOf(line: Readonly<Record<string, unknown>>): Head {
    const { type, data } = line;
    if (typeof type !== 'string' || type === '' || type.length > MOST_TYPE)
      throw malformed('its type is no name of an event');
    if (data !== undefined && data !== null && !isObject(data)) throw malformed('its data are no object');
    const { dataBytes, payloadBytes } = this.#limits;
    const dataLength = lengthOf(line.data_length, 'data_length');
    const payloadLength = lengthOf(line.payload_length, 'payload_length');
    if (dataLength > dataBytes) throw tooLarge('the data of an event', dataBytes);
    if (payloadLength > payloadBytes) throw tooLarge('the payload of an event', payloadBytes);
    return { type, data: data ?? {}, dataLength, payloadLength };
  }

  #fill(chunk: Uint8Array, from: number, wanted: number): number {
    const end = Math.min(chunk.length, from + wanted - this.#length);
    this.#keep(chunk.subarray(from, end));
    return end;
  }

  /** A copy: a chunk of one byte may hold a slab of 64 KiB. */
  #keep(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#store.length) {
      const larger = Buffer.alloc(Math.max(needed, this.#store.length * 2));
      this.#store.copy(larger, 0, 0, this.#length);
      this.#store = larger;
    }
    this.#store.set(bytes, this.#length);
    this.#length = needed;
  }

  /** Valid until the next bytes are kept. */
  #take(): Buffer {
    const taken = this.#store.subarray(0, this.#length);
    if (this.#store.length > KEPT_BYTES) this.#store = Buffer.alloc(1024);
    this.#length = 0;
    return taken;
  }
}

function objectOf(bytes: Buffer, what: string): Readonly<Record<string, unknown>> {
  if (!isUtf8(bytes)) throw malformed(`${what} is not UTF-8`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    // The engine's words would repeat what somebody said.
    throw malformed(`${what} is no JSON`);
  }
  if (!isObject(value)) throw malformed(`${what} is no JSON object`);
  if (isNestedDeeperThan(value, MOST_DEPTH)) throw malformed(`${what} is nested deeper than ${MOST_DEPTH} levels`);
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function lengthOf(value: unknown, name: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw malformed(`its ${name} is no number of bytes`);
  return value;
}

function malformed(reason: string): CoreError {
  return new CoreError('REQUEST_INVALID', { reason: `it is no Wyoming event, ${reason}` });
}

function tooLarge(what: string, limit: number): CoreError {
  return new CoreError('BODY_TOO_LARGE', { limit, what });
}
