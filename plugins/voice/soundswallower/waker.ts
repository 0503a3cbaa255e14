/** Phrases among whatever is said. */

import { CoreError, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { WakeEngine, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import { Cleaner } from './cleaner.ts';
import { Gate } from './gate.ts';
import { anything, phrasesAfterAnything, plainWords } from './grammar.ts';
import { contrastOf, judge, levelOf, PHRASES } from './judge.ts';
import { Pace, type Pair } from './pairs.ts';
import { gone, type Voice } from './transcriber.ts';

export interface WakeSettings {
  /** 0..1 of phrases that name none. */
  readonly threshold: number;
  /** Milliseconds after a hit in which there is no other. */
  readonly refractoryMs: number;
  /** Frames in which the phrase must be the best guess, one after the other. */
  readonly votes: number;
  readonly gateDb: number;
}

interface Wanted {
  readonly phrase: string;
  readonly words: readonly string[];
  readonly threshold: number;
}

interface Heard {
  readonly frame: AudioFrame;
  readonly level: number;
}

/**
 * How much each further sound costs: as was measured, a phrase stands out best from mere sounds that cost that much, in
 * quiet and in noise.
 */
const SOUND_WEIGHT = 40;
/** Frames before the gate opened that are heard all the same, and again when a search begins anew. */
const BEFORE = 15;
const AGAIN = 60;
/** Frames after which a search begins anew: what it remembers grows. */
const MOST = 500;

export class Waker implements WakeEngine {
  readonly #voice: Voice;
  readonly #sounds: readonly string[];
  readonly #settings: WakeSettings;
  readonly #scope: Scope;

  /** `ends` is aborted when the engine leaves. */
  constructor(voice: Voice, sounds: readonly string[], settings: WakeSettings, scope: Scope) {
    this.#voice = voice;
    this.#sounds = sounds;
    this.#settings = settings;
    this.#scope = scope;
  }

  async *detect(
    frames: AsyncIterable<AudioFrame>,
    { phrases, trial = false, signal }: Parameters<WakeEngine['detect']>[1],
  ): AsyncGenerator<WakeHit, void, undefined> {
    const wanted = phrases.map(({ phrase, threshold }) =>
      this.#wanted({ phrase, ...maybe({ threshold: trial ? 0 : threshold }) }),
    );
    if (wanted.length === 0) throw invalid('there is none');
    const texts = wanted.map(({ words }) => words.join(' '));
    using lease = await this.#voice.pairs.take(`wake ${texts.join(',')}`, (pair) => this.#prepare(pair, wanted), true);
    const search = new Search(lease.pair, wanted, this.#settings, trial);
    const pace = new Pace();
    try {
      for await (const frame of this.#scope.until(frames, signal)) {
        const hit = search.feed(frame);
        if (hit) yield hit;
        await pace.breathe();
      }
      if (this.#scope.signal.aborted && !signal.aborted) throw gone();
    } catch (error) {
      if (error instanceof CoreError) throw error;
      lease.discard();
      throw new CoreError('SPEECH_FAILED', { engine: 'soundswallower', reason: reasonOf(error) }, { cause: error });
    }
  }

  async unspeakable(phrases: readonly string[]): Promise<readonly string[]> {
    const { lexicon } = this.#voice;
    return phrases.filter((phrase) => {
      const words = plainWords(phrase);
      return words.length === 0 || !words.every((word) => lexicon.isSpeakable(word));
    });
  }

  #wanted({ phrase, threshold = this.#settings.threshold }: WakePhrase): Wanted {
    const words = plainWords(phrase);
    if (words.length === 0) throw invalid(`${JSON.stringify(phrase)} has no words`);
    return { phrase, words, threshold };
  }

  #prepare({ known, sounds }: Pair, wanted: readonly Wanted[]): void {
    known.teach(this.#voice.lexicon.entries(new Set(wanted.flatMap(({ words }) => words))));
    const texts = wanted.map(({ words }) => words.join(' '));
    known.setGrammar(phrasesAfterAnything(texts, this.#sounds), SOUND_WEIGHT);
    sounds.setGrammar(anything(this.#sounds), SOUND_WEIGHT);
  }
}

/** From the opening of the gate to its closing, or to a hit. */
class Search {
  readonly #pair: Pair;
  readonly #wanted: readonly Wanted[];
  readonly #settings: WakeSettings;
  readonly #trial: boolean;
  readonly #gate: Gate;
  /** Sound that the search has heard; while the gate is closed, the sound that it would hear first. */
  #heard: Heard[] = [];
  #cleaner = new Cleaner();
  #running = false;
  #votes = 0;
  #quietUntil = Number.NEGATIVE_INFINITY;
  #next: number | undefined;

  constructor(pair: Pair, wanted: readonly Wanted[], settings: WakeSettings, trial: boolean) {
    this.#trial = trial;
    this.#pair = pair;
    this.#wanted = wanted;
    this.#settings = settings;
    this.#gate = new Gate(settings.gateDb);
  }

  feed(frame: AudioFrame): WakeHit | undefined {
    const gap = this.#next !== undefined && frame.seq !== this.#next;
    this.#next = frame.seq + 1;
    if (gap) this.#end([]);
    const level = levelOf(frame.samples);
    const one = { frame, level };
    if (!this.#gate.passes(level)) {
      if (this.#running) this.#end([]);
      this.#heard.push(one);
      if (this.#heard.length > BEFORE) this.#heard.shift();
      return undefined;
    }
    if (this.#running && this.#heard.length >= MOST) this.#end(this.#heard.slice(-AGAIN));
    if (!this.#running) this.#begin();
    this.#hear(one);
    const hit = this.#look(frame.at);
    if (hit && !this.#trial) this.#end([]);
    return hit;
  }

  #begin(): void {
    const before = this.#heard;
    this.#heard = [];
    this.#votes = 0;
    this.#running = true;
    this.#cleaner = new Cleaner();
    this.#pair.known.start();
    this.#pair.sounds.start();
    for (const one of before) this.#hear(one);
  }

  #hear(one: Heard): void {
    this.#heard.push(one);
    const clean = this.#cleaner.clean(one.frame.samples);
    this.#pair.known.feed(clean);
    this.#pair.sounds.feed(clean);
  }

  #end(keep: Heard[]): void {
    if (this.#running) {
      this.#pair.known.stop();
      this.#pair.sounds.stop();
    }
    this.#running = false;
    this.#heard = keep;
  }

  #look(now: number): WakeHit | undefined {
    const text = this.#pair.known.text();
    const found = this.#wanted.find(({ words }) => ` ${text}`.endsWith(` ${words.join(' ')}`));
    this.#votes = found ? this.#votes + 1 : 0;
    if (!found || this.#votes < this.#settings.votes || now < this.#quietUntil) return undefined;
    const words = this.#pair.known.words().slice(-found.words.length);
    const [first, last] = [words[0], words.at(-1)];
    if (!first || !last) return undefined;
    const frames = last.from + last.frames - first.from;
    const lead = this.#pair.known.score() - this.#pair.sounds.score();
    const loud = contrastOf(this.#heard.map(({ level }) => level).concat(this.#gate.floor));
    const evidence = { lead, words: frames, sounds: frames, contrast: loud };
    const { accepted, confidence, strictest } = judge(evidence, found.threshold, frames, PHRASES);
    if (!accepted) return undefined;
    if (!this.#trial) this.#quietUntil = now + this.#settings.refractoryMs;
    const end = Math.min(this.#heard.length - 1, Math.floor(((last.from + last.frames) * 10) / FRAME_MS));
    return { phrase: found.phrase, score: confidence, strictest, at: this.#heard[end]?.frame.at ?? now };
  }
}

function invalid(reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where: 'phrases', reason });
}
