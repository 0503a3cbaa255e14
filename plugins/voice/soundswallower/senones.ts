/** Sounds of a model in their context: which of its densities a phone has between two others. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { Model } from './library.ts';

/** Three states of a phone, one after the other: the numbers of their densities. */
export type States = readonly [number, number, number];

const FORMAT = 'BMDF';
const STATES = 3;
/** Positions in a word, in the order in which another is tried where the model has none. */
const POSITIONS = { within: 0, first: 1, last: 2, alone: 3 } as const;
const LEVELS = 4;
const NODE_BYTES = 8;
const PHONE_BYTES = 12;

/** The file `mdef` of a model: a tree from position, phone and neighbours to the densities of the states. */
export class Senones {
  readonly #file: Buffer;
  readonly #tree: number;
  readonly #phones: number;
  readonly #sequences: number;
  readonly #numbers = new Map<string, number>();
  readonly #silence: number;
  /** How many densities there are. */
  readonly count: number;

  constructor(file: Buffer) {
    if (file.toString('latin1', 0, 4) !== FORMAT) throw new Error(`it does not begin with ${FORMAT}`);
    this.#file = file;
    let at = 12 + file.readInt32LE(8);
    const next = () => {
      at += 4;
      return file.readInt32LE(at - 4);
    };
    const [basic, phones, states] = [next(), next(), next()] as const;
    if (states !== STATES) throw new Error(`its phones have ${states} states`);
    next();
    this.count = next();
    next();
    const sequences = next();
    next();
    const nodes = next();
    this.#silence = next();
    for (let number = 0; number < basic; number++) {
      const end = file.indexOf(0, at);
      this.#numbers.set(file.toString('latin1', at, end), number);
      at = end + 1;
    }
    this.#tree = Math.ceil(at / 4) * 4;
    this.#phones = this.#tree + nodes * NODE_BYTES;
    this.#sequences = this.#phones + phones * PHONE_BYTES;
    if (this.#sequences + 2 * STATES * sequences > file.length) throw new Error('it is cut off');
  }

  /** Throws MODEL_INVALID. */
  static async of(model: Model): Promise<Senones> {
    const path = join(model.folder, 'mdef');
    try {
      return new Senones(await readFile(path));
    } catch (error) {
      throw new CoreError('MODEL_INVALID', { path, reason: reasonOf(error) }, { cause: error });
    }
  }

  /** Of every phone by itself, silence and noises among them. */
  alone(): readonly States[] {
    return [...this.#numbers.values()].map((phone) => this.#states(phone));
  }

  /** Of the words of a phrase: each phone between its neighbours, also those of the next word. */
  within(words: readonly string[]): readonly States[] {
    const phones = words.flatMap((word) => {
      const numbers = word.split(' ').map((phone) => this.#numbers.get(phone) ?? this.#silence);
      const place = (index: number) => {
        if (numbers.length === 1) return POSITIONS.alone;
        if (index === 0) return POSITIONS.first;
        return index === numbers.length - 1 ? POSITIONS.last : POSITIONS.within;
      };
      return numbers.map((phone, index) => ({ phone, place: place(index) }));
    });
    return phones.map(({ phone, place }, index) => {
      const left = phones[index - 1]?.phone ?? this.#silence;
      const right = phones[index + 1]?.phone ?? this.#silence;
      return this.#states(this.#inContext(phone, left, right, place));
    });
  }

  /** The phone by itself where the model has never met these neighbours. */
  #inContext(phone: number, left: number, right: number, place: number): number {
    const contexts = [
      [left, right],
      [left, this.#silence],
      [this.#silence, right],
    ] as const;
    for (const [before, after] of contexts)
      for (const position of [place, ...Object.values(POSITIONS)]) {
        const found = this.#find([position, phone, before, after]);
        if (found !== undefined) return found;
      }
    return phone;
  }

  #find(keys: readonly number[]): number | undefined {
    let [from, count] = [0, Object.keys(POSITIONS).length];
    for (let level = 0; level < LEVELS; level++) {
      let node = -1;
      for (let index = from; node < 0 && index < from + count; index++)
        if (this.#file.readInt16LE(this.#tree + index * NODE_BYTES) === keys[level])
          node = this.#tree + index * NODE_BYTES;
      if (node < 0) return undefined;
      count = this.#file.readInt16LE(node + 2);
      from = this.#file.readInt32LE(node + 4);
      if (count === 0) return from;
    }
    return undefined;
  }

  #states(phone: number): States {
    const sequence = this.#file.readInt32LE(this.#phones + phone * PHONE_BYTES);
    const at = this.#sequences + 2 * STATES * sequence;
    return [0, 2, 4].map((byte) => this.#file.readInt16LE(at + byte)) as unknown as States;
  }
}
