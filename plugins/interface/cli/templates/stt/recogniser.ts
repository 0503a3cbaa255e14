import { CoreError } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { keyOf } from './keys.ts';

export const LANGUAGES = ['en'];
/** Frames of 20 ms that a key must last, lest a click is one. */
const LEAST_FRAMES = 2;
const MOST_WORDS = 64;

/** Hears the keys of a telephone. A recogniser of speech has the same form: frames in, words out. */
export class Recogniser implements SttEngine {
  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, partial, signal } = options;
    if (!LANGUAGES.includes(language.split('-')[0]!))
      throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: 'plugin-id', language });
    const words: string[] = [];
    let key: string | undefined;
    let lasted = 0;
    for await (const { samples } of frames) {
      // A caller that cancels has stopped the frames, or will: the error carries the reason.
      if (signal.aborted) throw new CoreError('CANCELLED', { what: 'plugin-id', reason: 'the caller no longer waits' });
      const now = keyOf(samples);
      lasted = now === key ? lasted + 1 : 1;
      key = now;
      if (key === undefined || lasted !== LEAST_FRAMES || words.length >= MOST_WORDS) continue;
      words.push(key);
      partial?.({ text: words.join(' '), language });
    }
    return { text: words.join(' '), language };
  }
}
