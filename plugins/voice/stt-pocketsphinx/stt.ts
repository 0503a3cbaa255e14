import { createHash } from 'node:crypto';
import { setImmediate as breath } from 'node:timers/promises';
import { CoreError, type Scope } from '@device-core/plugin-api';
import { checkRules } from '@device-core/plugin-api/audio';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { type Decoder, ENGINE, failed } from './decoder.ts';
import { commandOf, withGarbage } from './grammar.ts';
import { cancelled, type Pool } from './pool.ts';
import { pronounce } from './pronounce.ts';

/** Frames between two looks at what was understood up to now: 100 ms. */
const PARTIAL = 5;
/** Frames after which an abort is heard when the sound was there at once. */
const BREATH = 25;

export class Recogniser implements SttEngine {
  readonly #pool: Pool;
  readonly #language: string;
  readonly #scope: Scope;

  /** `ends` is aborted when the engine leaves. */
  constructor(pool: Pool, language: string, scope: Scope) {
    this.#pool = pool;
    this.#language = language;
    this.#scope = scope;
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, grammar, signal } = options;
    for (const asked of [language, grammar?.language ?? language])
      if (asked.toLowerCase().split('-')[0] !== this.#language)
        throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: ENGINE, language: asked });
    if (!grammar)
      throw new CoreError('PARAMS_INVALID', {
        where: 'grammar',
        reason: `${ENGINE} hears the sentences of a grammar only`,
      });
    checkRules(grammar);
    const prefix = (options.prefix ?? [])
      .map((phrase) => phrase.trim().toLowerCase())
      .filter((phrase) => phrase !== '');
    return this.#pool.use(signal, async (decoder) => {
      const name = createHash('sha256')
        .update(JSON.stringify([grammar.id, prefix]))
        .digest('hex')
        .slice(0, 32);
      decoder.know([...grammar.words, ...prefix.flatMap((phrase) => phrase.split(/\s+/))]);
      decoder.useGrammar(name, () => withGarbage(grammar.jsgf, prefix));
      const text = await this.#hear(decoder, frames, prefix, options);
      return { text: text ?? '', language: grammar.language, inGrammar: text !== undefined };
    });
  }

  async unspeakable(words: readonly string[]): Promise<readonly string[]> {
    // Most grammars have no such word: no decoder is needed to see that.
    const strange = words.filter((word) => pronounce(word) === undefined);
    if (strange.length === 0) return [];
    return this.#pool.use(this.#scope.signal, async (decoder) => strange.filter((word) => !decoder.isSpeakable(word)));
  }

  async #hear(
    decoder: Decoder,
    frames: AsyncIterable<AudioFrame>,
    prefix: readonly string[],
    { language, partial, signal }: TranscribeOptions,
  ): Promise<string | undefined> {
    decoder.start();
    let told = '';
    let count = 0;
    for await (const { samples } of this.#scope.until(frames, signal)) {
      decoder.feed(samples);
      count++;
      if (count % BREATH === 0) await breath();
      if (!partial || count % PARTIAL > 0) continue;
      const text = commandOf(decoder.text, prefix) ?? '';
      if (text === '' || text === told) continue;
      told = text;
      partial({ text, language });
    }
    if (signal.aborted) throw cancelled('the caller no longer waits');
    if (this.#scope.signal.aborted) throw failed('it leaves');
    decoder.stop();
    return commandOf(decoder.text, prefix);
  }
}
