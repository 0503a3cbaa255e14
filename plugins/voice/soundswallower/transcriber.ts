/** Sentences of a grammar from speech. */

import { CoreError, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { checkRules } from '@device-core/plugin-api/audio';
import { type AudioFrame, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { SpeechGrammar, SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { type Certainty, certaintyOf, doubtOf, leadsOf } from './certainty.ts';
import { Cleaner } from './cleaner.ts';
import { anything, plainWords, sentences, withoutPrefix } from './grammar.ts';
import { contrastOf, levelOf, loudOf } from './judge.ts';
import type { Lexicon } from './lexicon.ts';
import { Pace, type Pair, type Pairs } from './pairs.ts';
import { closest, MOST_KEPT, type Place, placesOf } from './rivals.ts';

export interface Voice {
  readonly pairs: Pairs;
  readonly lexicon: Lexicon;
}

/** The library's own default for sentences. */
const WEIGHT = 6.5;
/** How much each further sound costs: as was measured, sentences stand out best from mere sounds that cost that much. */
const SOUND_WEIGHT = 25;
/** Frames of 10 ms in one of sound. */
const FRAMES = FRAME_MS / 10;
/** Less than this, in frames of 10 ms and in decibels, is no speech. */
const LEAST_SOUNDS = 15;
const LEAST_CONTRAST = 6;
/** Share of the loud frames that words must cover: a grammar takes sounds without words for silence. */
const COVER = 0.8;
const UNCOVERED = 0.1;
/** Words are looked up in a text of megabytes: so many before others have their turn. */
const AT_ONCE = 16;
/** Frames between two looks at what is understood so far. */
const LOOK = 2;

export class Transcriber implements SttEngine {
  readonly #voices: ReadonlyMap<string, Voice>;
  readonly #strictness: number;
  readonly #scope: Scope;

  /** `voices` by language; `ends` is aborted when the engine leaves. */
  constructor(voices: ReadonlyMap<string, Voice>, strictness: number, scope: Scope) {
    this.#voices = voices;
    this.#strictness = strictness;
    this.#scope = scope;
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, grammar, signal } = options;
    const base = language.toLowerCase().split('-')[0]!;
    const voice = this.#voices.get(base);
    if (!voice) throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: 'soundswallower', language });
    if (!grammar) throw new CoreError('PARAMS_INVALID', { where: 'grammar', reason: 'it knows only sentences of one' });
    const prefixes = (options.prefix ?? []).map((phrase) => plainWords(phrase).join(' ')).filter(Boolean);
    const key = `stt ${grammar.id} ${prefixes.join(',')}`;
    using lease = await voice.pairs.take(key, (pair) => prepare(pair, voice, grammar, prefixes));
    try {
      const heard = new Heard(lease.pair, {
        prefixes,
        strictness: this.#strictness,
        ...maybe({ again: options.again }),
      });
      await listen(heard, this.#scope.until(frames, signal), options);
      if (signal.aborted) throw noLonger();
      if (this.#scope.signal.aborted) throw gone();
      const result = heard.result();
      const rivals = result.text === '' ? [] : ((await options.rivals?.(result.text)) ?? []);
      if (signal.aborted) throw noLonger();
      const places = placesOf(result.text, rivals, new Set(grammar.words));
      return { ...result, ...(await heard.against(voice, result.text, places)), language };
    } catch (error) {
      if (error instanceof CoreError) throw error;
      lease.discard();
      throw new CoreError('SPEECH_FAILED', { engine: 'soundswallower', reason: reasonOf(error) }, { cause: error });
    }
  }

  async unspeakable(words: readonly string[], language: string): Promise<readonly string[]> {
    const voice = this.#voices.get(language.toLowerCase().split('-')[0]!);
    return voice ? words.filter((word) => !voice.lexicon.isSpeakable(word)) : [];
  }
}

function noLonger(): CoreError {
  return new CoreError('CANCELLED', { what: 'a transcription', reason: 'the caller no longer waits' });
}

/** The plugin stops in the middle. */
export function gone(): CoreError {
  return new CoreError('SPEECH_FAILED', { engine: 'soundswallower', reason: 'it leaves' });
}

async function listen(
  heard: Heard,
  frames: AsyncIterable<AudioFrame>,
  { partial, language }: TranscribeOptions,
): Promise<void> {
  const pace = new Pace();
  let count = 0;
  let told = '';
  for await (const { samples } of frames) {
    heard.feed(samples);
    count++;
    if (partial && count % LOOK === 0) {
      const text = heard.soFar(told);
      if (text !== undefined) {
        told = text;
        partial({ text, language, inGrammar: true });
      }
    }
    await pace.breathe();
  }
}

/** Throws PARAMS_INVALID where a word has no sound or the grammar is none. */
async function prepare(
  { known, sounds }: Pair,
  { lexicon, pairs }: Voice,
  grammar: SpeechGrammar,
  prefixes: readonly string[],
): Promise<void> {
  checkRules(grammar);
  const words = [...new Set([...grammar.words, ...prefixes.flatMap((phrase) => phrase.split(' '))])];
  for (let at = 0; at < words.length; at += AT_ONCE) {
    known.teach(lexicon.entries(words.slice(at, at + AT_ONCE)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  try {
    known.setGrammar(sentences(grammar, prefixes), WEIGHT);
    sounds.setGrammar(anything(pairs.phones), SOUND_WEIGHT);
  } catch (error) {
    throw new CoreError('PARAMS_INVALID', { where: 'grammar', reason: reasonOf(error) }, { cause: error });
  }
}

interface HeardOptions {
  readonly prefixes: readonly string[];
  readonly strictness: number;
  /** The sound as it came is another look at it. */
  readonly again?: boolean;
}

/** One utterance. */
class Heard {
  readonly #pair: Pair;
  readonly #prefixes: readonly string[];
  readonly #strictness: number;
  readonly #again: boolean;
  readonly #levels: number[] = [];
  readonly #cleaner = new Cleaner();
  readonly #kept: Float32Array[] = [];

  constructor(pair: Pair, { prefixes, strictness, again = false }: HeardOptions) {
    this.#pair = pair;
    this.#prefixes = prefixes;
    this.#strictness = strictness;
    this.#again = again;
    pair.known.start();
    pair.sounds.start();
  }

  feed(samples: Int16Array): void {
    this.#levels.push(levelOf(samples));
    const clean = this.#again ? Float32Array.from(samples, (sample) => sample / 32_768) : this.#cleaner.clean(samples);
    if (this.#kept.length < MOST_KEPT) this.#kept.push(clean);
    this.#pair.known.feed(clean);
    this.#pair.sounds.feed(clean);
  }

  /** New words so far, as far as they are sure before the end. */
  soFar(told: string): string | undefined {
    const text = withoutPrefix(this.#pair.known.text(), this.#prefixes);
    if (text === told || text === '') return undefined;
    return this.#certainty().accepted ? text : undefined;
  }

  result(): Omit<Transcript, 'language'> {
    this.#pair.known.stop();
    this.#pair.sounds.stop();
    if (FRAMES * loudOf(this.#levels) < LEAST_SOUNDS || contrastOf(this.#levels) < LEAST_CONTRAST) return { text: '' };
    const whole = this.#pair.known.text();
    const { accepted, confidence, unsure } = this.#certainty();
    const text = withoutPrefix(whole, this.#prefixes);
    const about = { confidence, ...maybe({ unsure }) };
    if (whole === '' || !accepted)
      return { text: '', inGrammar: false, ...about, ...maybe({ nearest: text || undefined }) };
    return text === '' ? { text } : { text, inGrammar: true, ...about };
  }

  /** After the result: where the text is in doubt against its rivals. */
  async against({ lexicon, pairs }: Voice, text: string, places: readonly Place[]): Promise<Partial<Transcript>> {
    const { known, sounds } = this.#pair;
    if (places.length === 0) return {};
    const prefix = known.text().slice(0, -text.length).trim();
    const leads = leadsOf(known.path(), sounds.path()).slice(-text.split(' ').length);
    const doubt = doubtOf(
      leads,
      places.filter(({ byValue }) => byValue),
    );
    if (doubt !== undefined) return { doubtful: true, unsure: doubt };
    try {
      return maybe({ close: await closest(sounds, lexicon, this.#kept, { prefix, text, places }) });
    } finally {
      sounds.setGrammar(anything(pairs.phones), SOUND_WEIGHT);
    }
  }

  #certainty(): Certainty {
    const { known, sounds } = this.#pair;
    const said = known.path();
    const words = said.reduce((frames, one) => frames + (one.silent ? 0 : one.frames), 0);
    const covered = words >= COVER * FRAMES * loudOf(this.#levels);
    const certainty = certaintyOf(leadsOf(said, sounds.path()), this.#strictness);
    return covered
      ? certainty
      : { ...certainty, accepted: false, confidence: Math.min(certainty.confidence, UNCOVERED) };
  }
}
