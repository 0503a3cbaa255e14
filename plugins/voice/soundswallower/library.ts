/** The WASM library and the models that come with it. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import createModule, { type Decoder as Native, type SoundSwallowerModule } from 'soundswallower';

/** Fields of the library that its methods do not tell. */
interface Inside {
  readonly HEAP32: Int32Array;
  _malloc(bytes: number): number;
  _free(address: number): void;
  _decoder_hyp(decoder: number, score: number): number;
  _decoder_init_fe(decoder: number): number;
  _decoder_init_feat_s3file(decoder: number, file: number): number;
  _acmod_reinit_feat(acoustics: number, frontend: number, features: number): number;
}

export interface Model {
  readonly language: string;
  readonly folder: string;
  readonly phones: readonly string[];
}

/**
 * Mean of the first cepstra of speech at a usual loudness, measured on voices of flite in quiet and at 20 dB of noise;
 * the library's own is for others.
 */
const CEPSTRAL_MEAN = '46,3,8';
const MODELS = { en: 'en-us', fr: 'fr-fr' } as const;
export type Language = keyof typeof MODELS;

export class Library {
  readonly #module: SoundSwallowerModule & Inside;
  readonly #base: string;

  private constructor(module: SoundSwallowerModule & Inside, base: string) {
    this.#module = module;
    this.#base = base;
  }

  /** The library listens to errors that nobody catches and throws them anew; that is this process's own business. */
  static async open(): Promise<Library> {
    const base = `${join(dirname(createRequire(import.meta.url).resolve('soundswallower')), 'model')}/`;
    const before = new Set(process.listeners('uncaughtException'));
    const module = await createModule({ modelBase: base } as never);
    for (const listener of process.listeners('uncaughtException'))
      if (!before.has(listener)) process.removeListener('uncaughtException', listener);
    return new Library(module as SoundSwallowerModule & Inside, base);
  }

  /** Throws MODEL_INVALID. */
  async model(language: Language): Promise<Model> {
    const folder = join(this.#base, MODELS[language]);
    try {
      const phones = Object.keys(await this.#module.load_json(join(folder, 'phoneset.json')));
      return { language, folder, phones: phones.filter((phone) => phone !== 'SIL' && !phone.startsWith('+')) };
    } catch (error) {
      throw new CoreError('MODEL_INVALID', { path: folder, reason: reasonOf(error) }, { cause: error });
    }
  }

  /**
   * A decoder with the sounds of a model and no words. The dictionary of a model takes most of its memory and of the
   * time to load it, and every decoder would have one of its own. What is deleted does not give all of its memory back:
   * keep decoders and use them again. Throws MODEL_INVALID.
   */
  async decoder(model: Model): Promise<Decoder> {
    try {
      const { Decoder: Class } = this.#module;
      const audio = { samprate: CAPTURE_RATE, cmninit: CEPSTRAL_MEAN };
      const native = new Class({ loglevel: 'FATAL', hmm: model.folder, dict: 'none', ...audio });
      await native.initialize();
      // The file of the model says otherwise; what is searched is clean already.
      native.set_config('remove_noise', 0);
      return new Decoder(this.#module, native);
    } catch (error) {
      throw new CoreError('MODEL_INVALID', { path: model.folder, reason: reasonOf(error) }, { cause: error });
    }
  }
}

export interface Spoken {
  readonly word: string;
  /** Frames of 10 ms. */
  readonly from: number;
  readonly frames: number;
  /** Its part of the score of the path. */
  readonly score: number;
  /** A pause or a noise, no word. */
  readonly silent: boolean;
}

/** The library tells a score as a probability of at least this, and its logarithm has this base. */
const LEAST_TOLD = 0.0005;
const LOG_BASE = Math.log(1.0001);

/** One search at a time over frames of sound. */
export class Decoder {
  readonly #module: Inside;
  readonly #native: Native;
  readonly #words = new Set<string>();
  readonly #score: number;
  #started = false;

  constructor(module: Inside, native: Native) {
    this.#module = module;
    this.#native = native;
    this.#score = module._malloc(4);
  }

  /** Words with a sound of the model's phones; a further one of the same word is `word(2)`. Those that it knows are left alone. */
  teach(words: readonly (readonly [word: string, phones: string])[]): void {
    const fresh = words.filter(([word]) => !this.#words.has(word));
    if (fresh.length === 0) return;
    this.#native.add_words(...(fresh as [string, string][]));
    for (const [word] of fresh) this.#words.add(word);
  }

  /** `weight` makes the probabilities of the grammar count more. Throws where a word of it is not known. */
  setGrammar(jsgf: string, weight: number): void {
    this.#native.set_config('lw', weight);
    this.#native.set_grammar(jsgf);
  }

  /** Ends what is under way, too. */
  start(): void {
    this.stop();
    this.#forget();
    this.#native.start();
    this.#started = true;
  }

  /** Samples of -1..1. */
  feed(samples: Float32Array): void {
    this.#native.process_audio(samples);
  }

  /** From now on text(), score() and words() tell the final result, which is empty where no sentence was complete. */
  stop(): void {
    if (!this.#started) return;
    this.#started = false;
    this.#native.stop();
  }

  /**
   * The library corrects what it hears by the mean of all that it heard before: after a while of noise, speech is not
   * what it was. Each search begins with the same mean.
   */
  #forget(): void {
    const { cdecoder, cacmod } = this.#inside;
    const frontend = this.#module._decoder_init_fe(cdecoder);
    const features = this.#module._decoder_init_feat_s3file(cdecoder, 0);
    if (frontend === 0 || features === 0 || this.#module._acmod_reinit_feat(cacmod, frontend, features) < 0)
      throw new Error('there is no memory left for another search');
  }

  get #inside(): { readonly cdecoder: number; readonly cacmod: number } {
    return this.#native as unknown as { readonly cdecoder: number; readonly cacmod: number };
  }

  text(): string {
    return this.#native.get_text();
  }

  /** Score of the best path, in the logarithm of the library; only differences mean something. */
  score(): number {
    this.#module._decoder_hyp(this.#inside.cdecoder, this.#score);
    return this.#module.HEAP32[this.#score >> 2]!;
  }

  /** Without silence and noise. */
  words(): readonly Spoken[] {
    return this.path().filter(({ silent }) => !silent);
  }

  path(): readonly Spoken[] {
    const { w: words = [] } = this.#native.get_alignment();
    return words
      .filter(({ t }) => t !== '(NULL)')
      .map(({ t, b, d, p }) => ({
        word: t.replace(/\(\d+\)$/, ''),
        from: Math.max(0, Math.round(b * 100)),
        frames: Math.round(d * 100),
        score: Math.log(Math.max(p, LEAST_TOLD)) / LOG_BASE,
        silent: /^[<[]/.test(t),
      }));
  }
}
