/** Bodies of class PIO (docs/cbp.md). */
import { CoreError } from '@device-core/plugin-api';
import type { PioMachineConfig, PioWidth } from '@device-core/plugin-api/services/pio';

export const OP = { load: 0x01, configure: 0x02, enable: 0x03, write: 0x04, read: 0x05 } as const;
export const IRQ_EVENT = 0x80;
export const MAX_INSTRUCTIONS = 32;
/** Maximum bytes of one transfer. */
export const MAX_BYTES = 4_092;
const ANYWHERE = 0xff;
/** Fixed point, 16.8. */
const FRACTION = 256;
/** Wraps from the last instruction to the first; shifts to the right, as after a reset of the chip. */
const EXECCTRL = 0x1f << 12;
const SHIFTCTRL = 0b11 << 18;

function fail(where: string, reason: string): never {
  throw new CoreError('PARAMS_INVALID', { where, reason });
}

export function loadBody(program: readonly number[], origin: number | undefined): Buffer {
  if (program.length === 0 || program.length > MAX_INSTRUCTIONS)
    fail('program', `it has ${program.length} instructions, 1 to ${MAX_INSTRUCTIONS} are allowed`);
  const body = Buffer.alloc(2 + 2 * program.length);
  body.set([origin ?? ANYWHERE, program.length]);
  program.forEach((word, index) => {
    if (!Number.isInteger(word) || word < 0 || word > 0xffff)
      fail('program', `instruction ${index} is no word of 16 bits`);
    body.writeUInt16LE(word, 2 + 2 * index);
  });
  return body;
}

export function configureBody(machine: number, config: PioMachineConfig): Buffer {
  const { slot, clockDivider = 1, pinctrl = 0, execctrl = EXECCTRL, shiftctrl = SHIFTCTRL } = config;
  const divider = Math.round(clockDivider * FRACTION);
  if (divider < FRACTION || divider >= 65_536 * FRACTION) fail('clockDivider', 'it must be 1 or more and below 65536');
  const body = Buffer.alloc(20);
  body.set([machine, slot]);
  [divider, pinctrl, execctrl, shiftctrl].forEach((word, index) => {
    body.writeUInt32LE(word >>> 0, 4 + 4 * index);
  });
  return body;
}

export function enableBody(machine: number, enabled: boolean): Buffer {
  return Buffer.from([1 << machine, enabled ? 1 : 0]);
}

export function writeBody(machine: number, words: readonly number[], width: PioWidth): Buffer {
  checkCount(words.length, width);
  const body = Buffer.alloc(4 + words.length * width);
  body.set([machine, width]);
  const most = 2 ** (8 * width) - 1;
  words.forEach((word, index) => {
    if (!Number.isInteger(word) || word < 0 || word > most)
      fail('words', `word ${index} does not fit into ${width} bytes`);
    body.writeUIntLE(word, 4 + index * width, width);
  });
  return body;
}

export function readBody(machine: number, count: number, width: PioWidth): Buffer {
  checkCount(count, width);
  const body = Buffer.from([machine, width, 0, 0]);
  body.writeUInt16LE(count, 2);
  return body;
}

export function wordsIn(answer: Uint8Array, width: PioWidth): readonly number[] {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  return Array.from({ length: Math.floor(bytes.length / width) }, (_, index) => bytes.readUIntLE(index * width, width));
}

function checkCount(count: number, width: PioWidth): void {
  if (count < 1 || count * width > MAX_BYTES)
    fail('words', `1 to ${Math.floor(MAX_BYTES / width)} are allowed at once`);
}
