/** Phrases that the configuration knows the tokens of, in a stream without end. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as breath } from 'node:timers/promises';
import { CoreError } from '@device-core/plugin-api';
import { type AudioFrame, CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { WakeEngine, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import { toFloats } from './samples.ts';
import { type Shape, type WakeSettings, wakeShape } from './shapes.ts';
import type { KeywordSpotter, Sherpa } from './sherpa.ts';

const FRAMES_PER_SECOND = 50;
const BREATH = 10;
/** Times of frames that are remembered: a hit is told within two seconds of its end. */
const REMEMBERED = 100;

type Phrases = WakeSettings['phrases'];

export class PhraseSpotter implements WakeEngine {
  readonly #sherpa: Sherpa;
  readonly #settings: WakeSettings;
  /** A spotter is made for a set of phrases; the device asks for the same ones again and again. */
  #made: { readonly lines: string; readonly spotter: KeywordSpotter } | undefined;

  constructor(sherpa: Sherpa, settings: WakeSettings) {
    this.#sherpa = sherpa;
    this.#settings = settings;
  }

  async *detect(
    frames: AsyncIterable<AudioFrame>,
    { phrases }: { readonly phrases: readonly WakePhrase[] },
  ): AsyncGenerator<WakeHit, void, undefined> {
    const known = phrases.map((phrase) => this.#known(phrase));
    if (known.length === 0) throw new CoreError('PARAMS_INVALID', { where: 'phrases', reason: 'there is none' });
    const spotter = await this.#spotterFor(known);
    const stream = spotter.createStream();
    const times: number[] = [];
    let count = 0;
    for await (const { samples, at } of frames) {
      times[count % REMEMBERED] = at;
      count++;
      stream.acceptWaveform({ samples: toFloats(samples), sampleRate: CAPTURE_RATE });
      if (count % BREATH === 0) await breath();
      while (spotter.isReady(stream)) {
        spotter.decode(stream);
        const { keyword, timestamps = [] } = spotter.getResult(stream);
        const phrase = known[Number(keyword.replace(/^@/, ''))];
        if (keyword === '' || !phrase) continue;
        spotter.reset(stream);
        const told = Math.floor((timestamps.at(-1) ?? 0) * FRAMES_PER_SECOND);
        // A time that is not of the last seconds is counted from another beginning: the present is nearer.
        const end = told < count && told >= count - REMEMBERED ? told : count - 1;
        // The spotter does not tell how sure it is: its threshold was met.
        yield { phrase: phrase.phrase, score: 1, at: times[end % REMEMBERED] ?? at };
      }
    }
  }

  async unspeakable(phrases: readonly string[]): Promise<readonly string[]> {
    return phrases.filter((phrase) => !this.#tokensOf(plain(phrase)));
  }

  #tokensOf(words: string): Phrases[number] | undefined {
    return this.#settings.phrases.find((one) => one.phrase.toLowerCase() === words);
  }

  /** Throws PARAMS_INVALID: tokens are not made of words here, the vocabulary is the model's. */
  #known({ phrase, threshold }: WakePhrase): Phrases[number] {
    const words = plain(phrase);
    const found = this.#tokensOf(words);
    if (!found)
      throw new CoreError('PARAMS_INVALID', {
        where: phrase,
        reason: 'the configuration of sherpa has no tokens for it',
      });
    return { ...found, phrase: words, threshold: threshold ?? found.threshold };
  }

  async #spotterFor(phrases: Phrases): Promise<KeywordSpotter> {
    const lines = linesOf(phrases);
    if (this.#made?.lines === lines) return this.#made.spotter;
    const spotter = await withPhrases(
      this.#settings,
      phrases,
      async ({ config }) => new this.#sherpa.KeywordSpotter(config),
    );
    this.#made = { lines, spotter };
    return spotter;
  }
}

/** sherpa takes phrases from a file only, which it reads when the engine is made. */
export async function withPhrases<T>(
  settings: WakeSettings,
  phrases: Phrases,
  work: (shape: Shape) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'phrases-'));
  try {
    const file = join(folder, 'list');
    await writeFile(file, linesOf(phrases));
    return await work(wakeShape(settings, file));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const plain = (phrase: string): string => phrase.trim().toLowerCase().split(/\s+/).join(' ');

function linesOf(phrases: Phrases): string {
  return phrases.map(({ tokens, threshold }, index) => `${tokens} #${threshold} @${index}\n`).join('');
}
