import { CoreError, type Scope } from '@device-core/plugin-api';
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
  /** Key of its grammar. */
  key: string | undefined;
  taken: boolean;
  used: number;
}

/** Maker of decoders: a whole library, with a separate memory that never shrinks. */
export type Maker = Pick<Library, 'decoder'>;

export interface PairsOptions {
  /** Makes the pair that stays: the one that listens. */
  readonly stays: Maker;
  /** Opens another library, for all further pairs: they go with it. */
  readonly open: () => Promise<Maker>;
  readonly model: Model;
  /** Pairs at once. */
  readonly most: number;
  /** Further pairs are let go when none of them was used for so many milliseconds. */
  readonly keepMs: number;
  readonly scope: Scope;
}

/**
 * Pairs of one model, each with the grammar that it had last. One is made at the start, for who listens all the time;
 * others are made when somebody wants them, and let go together after a pause: a library gives its memory back only as
 * a whole.
 */
export class Pairs {
  readonly #options: PairsOptions;
  #slots: Slot[] = [];
  #first: Slot | undefined;
  #further: Promise<Maker> | undefined;
  #making = 0;
  #uses = 0;
  #pause: Disposable | undefined;

  constructor(options: PairsOptions) {
    this.#options = options;
  }

  /** Phones of the model: what mere sounds are made of. */
  get phones(): readonly string[] {
    return this.#options.model.phones;
  }

  /** Makes the pair that stays. */
  async listen(): Promise<void> {
    this.#first = await this.#make(this.#options.stays);
    this.#slots.push(this.#first);
  }

  /**
   * `prepare` is asked where no free pair has the grammars of `key`; `stays`: for who listens. Rejects with BUSY, with
   * MODEL_INVALID, and with what `prepare` throws.
   */
  async take(key: string, prepare: Prepare, stays = false): Promise<Lease> {
    const slot = await this.#slot(key, stays);
    try {
      if (slot.key !== key) {
        slot.key = undefined;
        await prepare(slot.pair);
        slot.key = key;
      }
    } catch (error) {
      this.#free(slot);
      throw error;
    }
    return {
      pair: slot.pair,
      discard: () => {
        this.#slots = this.#slots.filter((one) => one !== slot);
        if (this.#first === slot) this.#first = undefined;
      },
      [Symbol.dispose]: () => this.#free(slot),
    };
  }

  async #slot(key: string, stays: boolean): Promise<Slot> {
    const free = this.#slots.filter(({ taken }) => !taken).sort((one, other) => one.used - other.used);
    const fitting = free.filter((one) => stays || one !== this.#first);
    let slot = free.find((one) => one.key === key);
    if (stays && this.#first && !this.#first.taken) slot ??= this.#first;
    slot ??= fitting.find((one) => one.key === undefined);
    if (!slot && this.#slots.length + this.#making < this.#options.most) slot = await this.#more();
    slot ??= fitting[0] ?? free[0];
    if (!slot) throw new CoreError('BUSY', { what: 'a decoder of speech', limit: this.#options.most });
    slot.taken = true;
    // The one before has failed.
    if (stays) this.#first ??= slot;
    slot.used = ++this.#uses;
    this.#pause?.[Symbol.dispose]();
    return slot;
  }

  async #more(): Promise<Slot> {
    this.#making++;
    this.#pause?.[Symbol.dispose]();
    try {
      const further = this.#further ?? this.#options.open();
      this.#further = further;
      const slot = { ...(await this.#make(await further)), taken: true };
      this.#slots.push(slot);
      return slot;
    } catch (error) {
      this.#further = undefined;
      throw error;
    } finally {
      this.#making--;
    }
  }

  #free(slot: Slot): void {
    slot.taken = false;
    const further = this.#slots.filter((one) => one !== this.#first);
    if (further.length === 0 || this.#making > 0 || further.some(({ taken }) => taken)) return;
    this.#pause?.[Symbol.dispose]();
    if (this.#options.scope.signal.aborted) return;
    this.#pause = this.#options.scope.timeout('unused decoders', this.#options.keepMs, () => {
      this.#slots = this.#slots.filter((one) => one === this.#first);
      this.#further = undefined;
    });
  }

  async #make(maker: Maker): Promise<Slot> {
    const { model } = this.#options;
    const pair = { known: await maker.decoder(model), sounds: await maker.decoder(model) };
    const words = model.phones.map((phone) => [soundWord(phone), phone] as const);
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
