/** The C functions of PocketSphinx 0.8 (Debian's libpocketsphinx3) that are used, and what is not there of it. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';

/** A pointer of the library. */
export type Pointer = bigint;

export interface PocketSphinx {
  cmd_ln_parse_r(
    into: null,
    definitions: Pointer,
    count: number,
    args: readonly string[],
    strict: number,
  ): Pointer | null;
  cmd_ln_free_r(config: Pointer): number;
  ps_args(): Pointer;
  ps_init(config: Pointer): Pointer | null;
  ps_free(decoder: Pointer): number;
  /** Times begin anew. */
  ps_start_stream(decoder: Pointer): number;
  ps_start_utt(decoder: Pointer): number;
  ps_end_utt(decoder: Pointer): number;
  ps_process_raw(decoder: Pointer, samples: Int16Array, count: number, noSearch: number, fullUtterance: number): number;
  ps_get_hyp(decoder: Pointer, score: number[]): string | null;
  ps_lookup_word(decoder: Pointer, word: string): string | null;
  ps_add_word(decoder: Pointer, word: string, phones: string, update: number): number;
  ps_set_jsgf_string(decoder: Pointer, name: string, jsgf: string): number;
  ps_set_kws(decoder: Pointer, name: string, file: string): number;
  ps_set_search(decoder: Pointer, name: string): number;
  ps_unset_search(decoder: Pointer, name: string): number;
  ps_seg_iter(decoder: Pointer): Pointer | null;
  ps_seg_next(segment: Pointer): Pointer | null;
  ps_seg_word(segment: Pointer): string | null;
  ps_seg_frames(segment: Pointer, first: number[], last: number[]): void;
  ps_seg_prob(segment: Pointer, acoustic: number[], language: number[], backoff: number[]): number;
}

const PROTOTYPES: Readonly<Record<Exclude<keyof PocketSphinx, 'ps_lookup_word'>, string>> = {
  cmd_ln_parse_r: 'void *cmd_ln_parse_r(void *into, void *definitions, int count, const char **args, int strict)',
  cmd_ln_free_r: 'int cmd_ln_free_r(void *config)',
  ps_args: 'void *ps_args()',
  ps_init: 'void *ps_init(void *config)',
  ps_free: 'int ps_free(void *decoder)',
  ps_start_stream: 'int ps_start_stream(void *decoder)',
  ps_start_utt: 'int ps_start_utt(void *decoder)',
  ps_end_utt: 'int ps_end_utt(void *decoder)',
  ps_process_raw: 'int ps_process_raw(void *decoder, const int16_t *samples, size_t count, int noSearch, int full)',
  ps_get_hyp: 'const char *ps_get_hyp(void *decoder, _Out_ int *score)',
  ps_add_word: 'int ps_add_word(void *decoder, const char *word, const char *phones, int update)',
  ps_set_jsgf_string: 'int ps_set_jsgf_string(void *decoder, const char *name, const char *jsgf)',
  ps_set_kws: 'int ps_set_kws(void *decoder, const char *name, const char *file)',
  ps_set_search: 'int ps_set_search(void *decoder, const char *name)',
  ps_unset_search: 'int ps_unset_search(void *decoder, const char *name)',
  ps_seg_iter: 'void *ps_seg_iter(void *decoder)',
  ps_seg_next: 'void *ps_seg_next(void *segment)',
  ps_seg_word: 'const char *ps_seg_word(void *segment)',
  ps_seg_frames: 'void ps_seg_frames(void *segment, _Out_ int *first, _Out_ int *last)',
  ps_seg_prob: 'int ps_seg_prob(void *segment, _Out_ int *acoustic, _Out_ int *language, _Out_ int *backoff)',
};

export interface Places {
  readonly library: string;
  readonly base: string;
  readonly model: string;
  readonly dictionary: string;
}

/** Missing files, in words that say which package has them; undefined where all are there. */
export async function missing({ model, dictionary }: Places): Promise<string | undefined> {
  for (const file of [join(model, 'mdef'), join(model, 'feat.params'), dictionary]) {
    try {
      await access(file);
    } catch {
      return `there is no ${file}: the Debian package pocketsphinx-en-us has an English model`;
    }
  }
  return undefined;
}

/** Throws with the reason where the library is not there. koffi is native and comes by npm: it is imported only here. */
export async function loadPocketSphinx({ library, base }: Places): Promise<PocketSphinx> {
  const { default: koffi } = await import('koffi');
  try {
    const sphinxbase = koffi.load(base);
    const pocketsphinx = koffi.load(library);
    const text = koffi.disposable('str', sphinxbase.func('void ckd_free(void *memory)'));
    // Its log goes to stderr otherwise, hundreds of lines for each decoder.
    sphinxbase.func('void err_set_logfp(void *file)')(null);
    // It answers with memory that is the caller's: koffi copies the text and frees it.
    const lookUp = pocketsphinx.func('ps_lookup_word', text, ['void *', 'str']);
    const named = Object.entries(PROTOTYPES).map(([name, prototype]) => {
      const owner = name.startsWith('cmd_ln') ? sphinxbase : pocketsphinx;
      return [name, owner.func(prototype)];
    });
    return { ...Object.fromEntries(named), ps_lookup_word: lookUp } as unknown as PocketSphinx;
  } catch (cause) {
    const reason = `cannot load ${library}: ${reasonOf(cause)}; the Debian package libpocketsphinx3 has it`;
    throw new Error(reason, { cause });
  }
}
