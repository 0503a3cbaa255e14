import { CoreError } from '@device-core/plugin-api';
import { soundWord } from './grammar.ts';
import type { Decoder, Library, Model } from './library.ts';

const MARGIN_MS = 15;

/** Gives both decoders of a pair their grammars. */
export type Prepare = (pair: Pair) => void | Promise<void>;

/** One decoder looks for known words, the other follows what is said as mere sounds: words must be better than those. */
export interface Pair {
  readonly known: Decoder;
  readonly sounds: Decoder;
}

/** A pair that nobody else has until it is disposed of. */
export interface Lease extends Disposable {
  readonly pair: Pair;
  /** It failed: it will not be used again. */
  discard(): void;
}

interface Slot {
  readonly pair: Pair;
  /** What its grammar was made for. */
  key: string | undefined;
  taken: boolean;
  used: number;
}

/** A few pairs of one model, each with the grammar that it had last. */
export class Pairs {
  readonly #library: Library;
  readonly #model: Model;
  readonly #most: number;
  readonly #slots: Slot[] = [];
  #making = 0;
  #uses = 0;

  constructor(library: Library, model: Model, most: number) {
    this.#library = library;
    this.#model = model;
    this.#most = most;
  }

  /** Phones of the model: what mere sounds are made of. */
  get phones(): readonly string[] {
    return this.#model.phones;
  }

  /** Makes pairs before they are wanted. */
  async warm(count: number): Promise<void> {
    while (this.#slots.length < Math.min(count, this.#most)) this.#slots.push(await this.#make());
  }

  /** `prepare` is asked where no free pair has the grammars of `key`. Rejects with BUSY, and with what `prepare` throws. */
  async take(key: string, prepare: Prepare): Promise<Lease> {
    const slot = await this.#slot(key);
    try {
      if (slot.key !== key) {
        slot.key = undefined;
        await prepare(slot.pair);
        slot.key = key;
      }
    } catch (error) {
      slot.taken = false;
      throw error;
    }
    return {
      pair: slot.pair,
      discard: () => void this.#slots.splice(this.#slots.indexOf(slot), this.#slots.includes(slot) ? 1 : 0),
      [Symbol.dispose]: () => {
        slot.taken = false;
      },
    };
  }

  async #slot(key: string): Promise<Slot> {
    const free = this.#slots.filter(({ taken }) => !taken).sort((one, other) => one.used - other.used);
    let slot = free.find((one) => one.key === key) ?? free.find((one) => one.key === undefined);
    if (!slot && this.#slots.length + this.#making < this.#most) {
      this.#making++;
      try {
        slot = await this.#make();
        this.#slots.push(slot);
      } finally {
        this.#making--;
      }
    }
    slot ??= free[0];
    if (!slot) throw new CoreError('BUSY', { what: 'a decoder of speech', limit: this.#most });
    slot.taken = true;
    slot.used = ++this.#uses;
    return slot;
  }

  async #make(): Promise<Slot> {
    const { phones } = this.#model;
    const pair = { known: await this.#library.decoder(this.#model), sounds: await this.#library.decoder(this.#model) };
    const words = phones.map((phone) => [soundWord(phone), phone] as const);
    pair.known.teach(words);
    pair.sounds.teach(words);
    return { pair, key: undefined, taken: false, used: 0 };
  }
}

/** Frames that are there already are searched one after the other: lets others of the thread have their turn now and then. */
export class Pace {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < MARGIN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
