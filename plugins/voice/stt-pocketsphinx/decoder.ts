/** One decoder of PocketSphinx: holds the model, and one search at a time. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import type { Places, PocketSphinx, Pointer } from './library.ts';
import { pronounce } from './pronounce.ts';

export const ENGINE = 'pocketsphinx';
/** Compiled grammars that are kept. */
const MOST_SEARCHES = 4;
const PHONES =
  'AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH'.split(' ');
/** Words that are one phone each: what garbage is made of. */
export const GARBAGE: readonly string[] = PHONES.map((phone) => `_${phone.toLowerCase()}`);

export interface Segment {
  readonly word: string;
  /** Frames of 10 ms since start(). */
  readonly lastFrame: number;
  readonly score: number;
}

export function failed(reason: string): CoreError {
  return new CoreError('SPEECH_FAILED', { engine: ENGINE, reason });
}

export class Decoder implements Disposable {
  readonly #ps: PocketSphinx;
  readonly #decoder: Pointer;
  readonly #config: Pointer;
  /** Newest last. */
  #searches: string[] = [];
  #running = false;
  #closed = false;

  /** Throws SPEECH_FAILED. */
  constructor(ps: PocketSphinx, { model, dictionary }: Places) {
    this.#ps = ps;
    // The voice activity before it finds begin and end of speech; times would not be right, either.
    const args = [ENGINE, '-hmm', model, '-dict', dictionary, '-remove_silence', 'no'];
    const config = ps.cmd_ln_parse_r(null, ps.ps_args(), args.length, args, 1);
    if (!config) throw failed('it does not take its settings');
    const decoder = ps.ps_init(config);
    if (!decoder) {
      ps.cmd_ln_free_r(config);
      throw failed(`it cannot use the model ${model} with ${dictionary}`);
    }
    this.#config = config;
    this.#decoder = decoder;
    for (const [index, word] of GARBAGE.entries()) ps.ps_add_word(decoder, word, PHONES[index]!, 0);
  }

  /** In the dictionary, or of letters that have a sound. */
  isSpeakable(word: string): boolean {
    return pronounce(word) !== undefined || this.#ps.ps_lookup_word(this.#decoder, word) !== null;
  }

  /** Makes a pronunciation where the dictionary has none. Throws PARAMS_INVALID for what cannot be said. */
  know(words: readonly string[]): void {
    for (const word of words) {
      if (this.#ps.ps_lookup_word(this.#decoder, word) !== null) continue;
      const phones = pronounce(word);
      if (phones === undefined || this.#ps.ps_add_word(this.#decoder, word, phones, 0) < 0)
        throw new CoreError('PARAMS_INVALID', { where: word, reason: 'it has no pronunciation' });
    }
  }

  /** The words must be known. Throws PARAMS_INVALID, SPEECH_FAILED. */
  useGrammar(name: string, jsgf: () => string): void {
    const make = () => this.#ps.ps_set_jsgf_string(this.#decoder, name, jsgf());
    // All that the library tells is that it failed; its words are known, so that it is the grammar.
    const reason = `${ENGINE} cannot make a search of it`;
    this.#use(name, make, () => new CoreError('PARAMS_INVALID', { where: 'grammar', reason }));
  }

  /** The lines are `phrase /1e-20/`; the library takes them from a file only. Rejects with SPEECH_FAILED. */
  async usePhrases(name: string, lines: readonly string[]): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'phrases-'));
    try {
      const file = join(folder, 'list');
      await writeFile(file, `${lines.join('\n')}\n`);
      const refused = () => failed('it does not take the phrases');
      this.#use(name, () => this.#ps.ps_set_kws(this.#decoder, name, file), refused);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  start(): void {
    this.stop();
    if (this.#ps.ps_start_stream(this.#decoder) < 0 || this.#ps.ps_start_utt(this.#decoder) < 0)
      throw failed('it does not begin');
    this.#running = true;
  }

  feed(samples: Int16Array): void {
    if (this.#ps.ps_process_raw(this.#decoder, samples, samples.length, 0, 0) < 0) throw failed('it takes no sound');
  }

  /** Words up to now, or as a whole after stop(). */
  get text(): string {
    return this.#ps.ps_get_hyp(this.#decoder, [0]) ?? '';
  }

  get segments(): readonly Segment[] {
    const segments: Segment[] = [];
    for (let at = this.#ps.ps_seg_iter(this.#decoder); at; at = this.#ps.ps_seg_next(at)) {
      const last = [0];
      this.#ps.ps_seg_frames(at, [0], last);
      const score = this.#ps.ps_seg_prob(at, [0], [0], [0]);
      segments.push({ word: (this.#ps.ps_seg_word(at) ?? '').trim(), lastFrame: last[0]!, score });
    }
    return segments;
  }

  stop(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#ps.ps_end_utt(this.#decoder);
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.stop();
    this.#ps.ps_free(this.#decoder);
    this.#ps.cmd_ln_free_r(this.#config);
  }

  #use(name: string, make: () => number, refused: () => CoreError): void {
    const known = this.#searches.includes(name);
    if (!known && make() < 0) throw refused();
    this.#searches = [...this.#searches.filter((other) => other !== name), name];
    if (this.#ps.ps_set_search(this.#decoder, name) < 0) throw failed('it does not take the search');
    if (this.#searches.length > MOST_SEARCHES) this.#ps.ps_unset_search(this.#decoder, this.#searches.shift()!);
  }
}
