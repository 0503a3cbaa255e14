/** An engine gets only what it can hear: one word without a pronunciation costs its own sentence or phrase, never the rest. */

import { speakablePart } from '@device-core/plugin-api/audio';
import type { SpeechGrammar, TranscribeOptions, WakePhrase } from '@device-core/plugin-api/services/speech';
import type { Row } from './registry.ts';

type Asked = Pick<TranscribeOptions, 'language' | 'grammar' | 'prefix'>;

export class Speakable {
  /** Callers hand in the same grammar again and again: it is parsed once for each engine. */
  readonly #grammars = new WeakMap<object, WeakMap<SpeechGrammar, SpeechGrammar>>();
  /** Wake phrases that an engine was not asked for, by engine. */
  readonly #phrases = new WeakMap<object, readonly string[]>();

  /** Throws PARAMS_INVALID: no sentence is left. */
  async asked(row: Row<'stt'>, { language, grammar, prefix }: Asked): Promise<Partial<Asked>> {
    const { engine } = row;
    if (!engine.unspeakable) return {};
    const before = prefix?.map((phrase) => phrase.toLowerCase()) ?? [];
    const lost = await engine.unspeakable([...new Set(before.flatMap((phrase) => phrase.split(' ')))], language);
    const kept = before.filter((phrase) => !phrase.split(' ').some((word) => lost.includes(word)));
    return {
      ...(prefix && { prefix: kept }),
      ...(grammar && { grammar: await this.#grammar(row, grammar, language) }),
    };
  }

  /** All of them where none can be heard: the engine says why. */
  async phrases(row: Row<'wake'>, phrases: readonly WakePhrase[]): Promise<readonly WakePhrase[]> {
    const lost = (await row.engine.unspeakable?.(phrases.map(({ phrase }) => phrase))) ?? [];
    const kept = phrases.filter(({ phrase }) => !lost.includes(phrase));
    if (kept.length === 0 || kept.length === phrases.length) {
      this.#phrases.delete(row);
      return phrases;
    }
    this.#phrases.set(row, lost);
    return kept;
  }

  /** Phrases of this engine that nobody can call the device by. */
  leftOut(row: object): readonly string[] {
    return this.#phrases.get(row) ?? [];
  }

  async #grammar(row: Row<'stt'>, grammar: SpeechGrammar, language: string): Promise<SpeechGrammar> {
    const known = this.#grammars.get(row) ?? new WeakMap<SpeechGrammar, SpeechGrammar>();
    this.#grammars.set(row, known);
    const made = known.get(grammar);
    if (made) return made;
    const lost = new Set(await row.engine.unspeakable!(grammar.words, language));
    const part = speakablePart(grammar, (word) => !lost.has(word));
    known.set(grammar, part);
    return part;
  }
}
