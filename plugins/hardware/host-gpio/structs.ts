/** Structures of linux/gpio.h, version 2 of the character device, as bytes. They have no pointers and one form on all machines. */
import type { LineSettings } from './body.ts';

export const GPIO = {
  chipInfo: 0x8044_b401,
  lineInfo: 0xc100_b405,
  getLine: 0xc250_b407,
  setConfig: 0xc110_b40d,
  getValues: 0xc010_b40e,
  setValues: 0xc010_b40f,
} as const;
/** `struct gpio_v2_line_event` */
export const EVENT_BYTES = 48;

const FLAG = {
  used: 1,
  input: 4,
  output: 8,
  rising: 16,
  falling: 32,
  openDrain: 64,
  pullUp: 256,
  pullDown: 512,
  noBias: 1024,
};
const DIRECTIONS = [FLAG.input, FLAG.output, FLAG.output | FLAG.openDrain];
const PULLS = [FLAG.noBias, FLAG.pullUp, FLAG.pullDown];
const EDGES = [0, FLAG.rising, FLAG.falling, FLAG.rising | FLAG.falling];
const ATTRIBUTE = { values: 2, debounce: 3 } as const;
const CONFIG_BYTES = 272;
const REQUEST_BYTES = 592;
const CONFIG_AT = 288;
/** Edges that the kernel keeps for a line. */
const EVENT_BUFFER = 1_024;

/** Flags that settings stand for. */
export const flagsOf = ({ direction, pull, edge }: LineSettings): number =>
  DIRECTIONS[direction]! | PULLS[pull]! | EDGES[edge]!;

/** `struct gpio_v2_line_config` of one line. */
export function configBytes(settings: LineSettings): Buffer {
  const { direction, debounceUs, initial } = settings;
  const config = Buffer.alloc(CONFIG_BYTES);
  config.writeBigUInt64LE(BigInt(flagsOf(settings)));
  const attributes: (readonly [id: number, value: number])[] = [];
  if (direction !== 0) attributes.push([ATTRIBUTE.values, initial]);
  if (debounceUs > 0) attributes.push([ATTRIBUTE.debounce, debounceUs]);
  config.writeUInt32LE(attributes.length, 8);
  for (const [index, [id, value]] of attributes.entries()) {
    const at = 32 + 24 * index;
    config.writeUInt32LE(id, at);
    config.writeUInt32LE(value, at + 8);
    config.writeUInt32LE(1, at + 16); // mask: the only line
  }
  return config;
}

/** `struct gpio_v2_line_request`; its descriptor is in its last four bytes when the call has returned. */
export function requestBytes(offset: number, settings: LineSettings, consumer: string): Buffer {
  const request = Buffer.alloc(REQUEST_BYTES);
  request.writeUInt32LE(offset);
  request.write(consumer.slice(0, 31), 256, 'latin1');
  configBytes(settings).copy(request, CONFIG_AT);
  request.writeUInt32LE(1, CONFIG_AT + CONFIG_BYTES);
  request.writeUInt32LE(settings.edge === 0 ? 0 : EVENT_BUFFER, CONFIG_AT + CONFIG_BYTES + 4);
  return request;
}

export const descriptorIn = (request: Buffer): number => request.readInt32LE(REQUEST_BYTES - 4);

/** `struct gpio_v2_line_values` of the only line of a request. */
export function valuesBytes(level: 0 | 1): Buffer {
  const values = Buffer.alloc(16);
  values[0] = level;
  values[8] = 1;
  return values;
}

/** `struct gpio_v2_line_info` to be filled in. */
export function infoBytes(offset: number): Buffer {
  const info = Buffer.alloc(256);
  info.writeUInt32LE(offset, 64);
  return info;
}

export interface LineState {
  /** Without that it is used. */
  readonly flags: number;
  readonly used: boolean;
  readonly output: boolean;
}

export function stateIn(info: Buffer): LineState {
  const all = Number(info.readBigUInt64LE(72));
  return { flags: all & ~FLAG.used, used: (all & FLAG.used) !== 0, output: (all & FLAG.output) !== 0 };
}

export const lineNameIn = (info: Buffer): string => text(info.subarray(0, 32));

export const consumerIn = (info: Buffer): string => text(info.subarray(32, 64));

/** Name, label and count of lines of `struct gpiochip_info`. */
export function chipIn(info: Buffer): { readonly label: string; readonly lines: number } {
  return { label: text(info.subarray(32, 64)), lines: info.readUInt32LE(64) };
}

export interface LineEvent {
  /** CLOCK_MONOTONIC */
  readonly us: number;
  readonly level: 0 | 1;
  /** Number of the event of its line, from 1 on. */
  readonly sequence: number;
}

/** The events of a read. */
export function eventsIn(record: Uint8Array): readonly LineEvent[] {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  return Array.from({ length: Math.floor(bytes.length / EVENT_BYTES) }, (_, index) => {
    const at = index * EVENT_BYTES;
    return {
      us: Number(bytes.readBigUInt64LE(at) / 1_000n),
      level: bytes.readUInt32LE(at + 8) === 1 ? 1 : 0,
      sequence: bytes.readUInt32LE(at + 20),
    };
  });
}

function text(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
}
