/** Assembler of PIO programs: text as in the RP2040 data sheet, section 3.3, to words and to bits of the machine's registers. */
import { CoreError, maybe } from '@device-core/plugin-api';
import { MAX_INSTRUCTIONS } from '../messages.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { Reader } from './reader.ts';
import { type Line, linesOf } from './words.ts';

export const MAX_SOURCE = 16_384;
const MAX_NAMES = 256;
/** Delay and side set share five bits. */
const SHARED_BITS = 5;
const WRAP_BOTTOM = 7;
const WRAP_TOP = 12;
const SIDE_PINDIR = 29;
const SIDE_ENABLED = 30;
const SIDE_COUNT = 29;

export interface Assembled {
  readonly program: readonly number[];
  readonly origin?: number;
  /** Bits of the register EXECCTRL: wrap, and the kind of side set. */
  readonly execctrl: number;
  /** Bits of the register PINCTRL: how many lines are set beside an instruction. */
  readonly pinctrl: number;
  /** Values of the names that are public. */
  readonly names: Readonly<Record<string, number>>;
}

/** Throws PARAMS_INVALID that names the line. */
export function assemble(source: string): Assembled {
  if (source.length > MAX_SOURCE)
    throw new CoreError('PARAMS_INVALID', { where: 'source', reason: `it is longer than ${MAX_SOURCE} characters` });
  const assembler = new Assembler();
  for (const line of linesOf(source)) assembler.read(line);
  return assembler.result();
}

class Assembler {
  readonly #names = new Map<string, number>();
  readonly #public = new Set<string>();
  readonly #statements: Line[] = [];
  readonly #find = (name: string): number | undefined => this.#names.get(name);
  #program: string | undefined;
  #origin: number | undefined;
  #side = { bits: 0, optional: false, directions: false };
  #bottom = 0;
  #top: number | undefined;

  /** First pass: directives and the places of labels. */
  read(line: Line): void {
    const reader = new Reader(line, this.#find);
    if (reader.next.startsWith('.') && reader.next !== '.word') {
      this.#directive(reader);
      if (!reader.over) reader.fault(`"${reader.next}" is too much`);
      return;
    }
    const words = line.words.slice(this.#label(line));
    if (words.length === 0) return;
    if (this.#statements.length >= MAX_INSTRUCTIONS)
      reader.fault(`it is one more than ${MAX_INSTRUCTIONS} instructions`);
    this.#statements.push({ ...line, words });
  }

  /** Second pass: all names are known. */
  result(): Assembled {
    const program = this.#statements.map((line) => this.#encode(new Reader(line, this.#find)));
    if (program.length === 0)
      throw new CoreError('PARAMS_INVALID', { where: 'source', reason: 'it has no instruction' });
    if (this.#bottom >= program.length)
      throw new CoreError('PARAMS_INVALID', {
        where: 'source',
        reason: '.wrap_target stands behind the last instruction',
      });
    const { bits, optional, directions } = this.#side;
    const flags = (optional ? 1 << SIDE_ENABLED : 0) | (directions ? 1 << SIDE_PINDIR : 0);
    const top = this.#top ?? program.length - 1;
    return {
      program,
      ...maybe({ origin: this.#origin }),
      execctrl: (flags | (this.#bottom << WRAP_BOTTOM) | (top << WRAP_TOP)) >>> 0,
      pinctrl: (bits << SIDE_COUNT) >>> 0,
      names: Object.fromEntries([...this.#public].map((name) => [name, this.#names.get(name) ?? 0])),
    };
  }

  #directive(reader: Reader): void {
    const name = reader.take().toLowerCase();
    const here = this.#statements.length;
    switch (name) {
      case '.program':
        if (this.#program !== undefined) reader.fault('a source has one program');
        this.#program = reader.name();
        return;
      case '.define': {
        const open = reader.takes('public');
        this.#name(reader, reader.name(), () => reader.expression(), open !== undefined);
        return;
      }
      case '.origin':
        this.#origin = reader.number('origin', 0, MAX_INSTRUCTIONS - 1);
        return;
      case '.side_set':
        if (here > 0) reader.fault('.side_set stands before the first instruction');
        this.#side = sideOf(reader);
        return;
      case '.wrap_target':
        this.#bottom = here;
        return;
      case '.wrap':
        if (here === 0) reader.fault('.wrap stands behind an instruction');
        this.#top = here - 1;
        return;
      case '.lang_opt':
        while (!reader.over) reader.take();
        return;
      default:
        reader.fault(`"${name}" is no directive`);
    }
  }

  /** How many words of the line are a label. */
  #label(line: Line): number {
    const open = line.words[0]!.toLowerCase() === 'public' ? 1 : 0;
    if (line.words[open + 1] !== ':') return 0;
    const reader = new Reader({ ...line, words: line.words.slice(open) }, this.#find);
    this.#name(reader, reader.name(), () => this.#statements.length, open === 1);
    return open + 2;
  }

  #name(reader: Reader, name: string, value: () => number, open: boolean): void {
    if (this.#names.has(name)) reader.fault(`"${name}" has a value already`);
    if (this.#names.size >= MAX_NAMES) reader.fault(`it has more than ${MAX_NAMES} names`);
    this.#names.set(name, value());
    if (open) this.#public.add(name);
  }

  #encode(reader: Reader): number {
    const name = reader.take().toLowerCase();
    if (name === '.word') {
      const word = reader.number('word', 0, 0xffff);
      if (!reader.over) reader.fault(`"${reader.next}" is too much`);
      return word;
    }
    const encode = Object.hasOwn(INSTRUCTIONS, name) ? INSTRUCTIONS[name] : undefined;
    if (!encode) reader.fault(`"${name}" is no instruction`);
    const word = encode(reader) | (this.#beside(reader) << 8);
    if (!reader.over) reader.fault(`"${reader.next}" is too much`);
    return word;
  }

  /** Side set and delay, in either order. */
  #beside(reader: Reader): number {
    const { bits, optional } = this.#side;
    const lines = bits - (optional ? 1 : 0);
    const delays = SHARED_BITS - bits;
    let side: number | undefined;
    let delay = 0;
    for (let word = reader.takes('side', '['); word !== undefined; word = reader.takes('side', '[')) {
      if (word === 'side') {
        if (lines === 0) reader.fault('side is given without .side_set');
        side = reader.number('side set', 0, 2 ** lines - 1);
      } else {
        delay = reader.number('delay', 0, 2 ** delays - 1);
        reader.needs(']');
      }
    }
    if (side === undefined) {
      if (lines > 0 && !optional) reader.fault('side is missing, which .side_set without opt demands');
      return delay;
    }
    return delay | (side << delays) | (optional ? 1 << (SHARED_BITS - 1) : 0);
  }
}

function sideOf(reader: Reader) {
  const count = reader.number('number of lines', 1, SHARED_BITS);
  const optional = reader.takes('opt') !== undefined;
  const bits = count + (optional ? 1 : 0);
  if (bits > SHARED_BITS) reader.fault(`a side set of ${count} lines leaves no bit for opt`);
  return { bits, optional, directions: reader.takes('pindirs') !== undefined };
}
