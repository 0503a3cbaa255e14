/** Phrases in a stream without end, by the keyphrase search. */
import { createHash } from 'node:crypto';
import { setImmediate as breath } from 'node:timers/promises';
import { CoreError, type Scope } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { WakeEngine, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import { type Decoder, failed, type Segment } from './decoder.ts';
import type { Pool } from './pool.ts';
import { pronounce } from './pronounce.ts';

/** Powers of ten between the phrase and a loop of phones: what strictness 0 and 1 ask for. */
const LENIENT = -75;
const STRICT = 0;
/** Scores of the search are units of 1024 * ln(1.0001), less this. */
const OFFSET = 1_500;
const DECADE = Math.LN10 / (1_024 * Math.log(1.0001));
/** Decades over the threshold at which a score is about 0.9. */
const SURE = 20;
const SEARCH_FRAME_MS = 10;
/** Times of frames that are remembered: a hit is told a tenth of a second after its end. */
const REMEMBERED = 256;
const BREATH = 25;
/** Without a hit the search begins anew now and then, or its times would outgrow what is remembered. */
const MOST_FRAMES = 30_000;

const WORDS = /^[\p{L}\p{M}' .-]+$/u;

interface Known extends WakePhrase {
  readonly exponent: number;
}

export class PhraseSpotter implements WakeEngine {
  readonly #pool: Pool;
  readonly #threshold: number;
  readonly #scope: Scope;

  constructor(pool: Pool, threshold: number, scope: Scope) {
    this.#pool = pool;
    this.#threshold = threshold;
    this.#scope = scope;
  }

  async *detect(
    frames: AsyncIterable<AudioFrame>,
    options: { readonly phrases: readonly WakePhrase[]; readonly signal: AbortSignal },
  ): AsyncGenerator<WakeHit, void, undefined> {
    const phrases = options.phrases.map((phrase) => this.#check(phrase));
    if (phrases.length === 0) throw new CoreError('PARAMS_INVALID', { where: 'phrases', reason: 'there is none' });
    const { decoder, release } = await this.#pool.lend(options.signal);
    try {
      decoder.know(phrases.flatMap(({ phrase }) => phrase.split(' ')));
      const lines = phrases.map(({ phrase, exponent }) => `${phrase} /1e${exponent}/`);
      await decoder.usePhrases(createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32), lines);
      yield* this.#spot(decoder, frames, phrases, options.signal);
    } finally {
      release();
    }
  }

  async unspeakable(phrases: readonly string[]): Promise<readonly string[]> {
    const wordsOf = (phrase: string) => phrase.trim().toLowerCase().split(/\s+/);
    const strange = phrases.filter((phrase) => wordsOf(phrase).some((word) => pronounce(word) === undefined));
    if (strange.length === 0) return [];
    return this.#pool.use(this.#scope.signal, async (decoder) =>
      strange.filter((phrase) => !wordsOf(phrase).every((word) => WORDS.test(word) && decoder.isSpeakable(word))),
    );
  }

  async *#spot(
    decoder: Decoder,
    frames: AsyncIterable<AudioFrame>,
    phrases: readonly Known[],
    signal: AbortSignal,
  ): AsyncGenerator<WakeHit, void, undefined> {
    const times: number[] = [];
    let count = 0;
    decoder.start();
    for await (const { samples, at } of this.#scope.until(frames, signal)) {
      decoder.feed(samples);
      times[count % REMEMBERED] = at;
      count++;
      if (count % BREATH === 0) await breath();
      const found = decoder.text === '' ? undefined : best(decoder.segments, phrases);
      if (found || count >= MOST_FRAMES) {
        decoder.start();
        const frame = found ? Math.floor((found.segment.lastFrame * SEARCH_FRAME_MS) / FRAME_MS) : 0;
        const oldest = Math.max(0, count - REMEMBERED);
        const heard = times[Math.max(oldest, Math.min(count - 1, frame)) % REMEMBERED] ?? at;
        count = 0;
        if (found) yield { phrase: found.phrase.phrase, score: found.score, at: heard };
      }
    }
    if (this.#scope.signal.aborted && !signal.aborted) throw failed('it leaves');
  }

  /** Throws PARAMS_INVALID. */
  #check({ phrase, threshold = this.#threshold }: WakePhrase): Known {
    const words = phrase.trim().toLowerCase().split(/\s+/).join(' ');
    const where = `phrase ${JSON.stringify(phrase)}`;
    if (!WORDS.test(words)) throw new CoreError('PARAMS_INVALID', { where, reason: 'it is not made of words' });
    if (!(threshold >= 0 && threshold <= 1))
      throw new CoreError('PARAMS_INVALID', { where, reason: 'its threshold is not 0 to 1' });
    return { phrase: words, threshold, exponent: Math.round(LENIENT + (STRICT - LENIENT) * threshold) };
  }
}

/** The one that is surest. */
function best(segments: readonly Segment[], phrases: readonly Known[]) {
  const hits = segments.flatMap((segment) => {
    const phrase = phrases.find((one) => one.phrase === segment.word);
    if (!phrase) return [];
    const margin = (segment.score + OFFSET) / DECADE - phrase.exponent;
    return [{ phrase, segment, score: 1 / (1 + 9 ** (-margin / SURE)) }];
  });
  return hits.sort((one, other) => other.score - one.score)[0];
}
