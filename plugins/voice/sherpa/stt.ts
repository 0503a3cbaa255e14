/** Recognition of open text: streaming models while one speaks, others when the speech is over. */
import { setImmediate as breath } from 'node:timers/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { concatSamples } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { toFloats } from './samples.ts';
import { base } from './shapes.ts';
import type { OfflineRecognizer, OnlineRecognizer, OnlineStream } from './sherpa.ts';

export const ENGINE = 'sherpa';
const PARTIAL = 5;
const BREATH = 10;
/** Silence after the last word, which streaming models need to give it. */
const TAIL = new Float32Array(CAPTURE_RATE * 0.5);
/** Most frames held in memory for an engine that does not stream: no command is longer. */
const MOST_FRAMES = 50 * 60;

abstract class Recogniser implements SttEngine {
  readonly #languages: readonly string[];

  constructor(languages: readonly string[]) {
    this.#languages = languages.map(base);
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, prefix = [] } = options;
    if (!this.#languages.includes(base(language)))
      throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: ENGINE, language });
    const text = plain(await this.#heard(frames, options));
    const said = prefix
      .map(plain)
      .find((phrase) => phrase !== '' && (text === phrase || text.startsWith(`${phrase} `)));
    return { text: said === undefined ? text : text.slice(said.length).trim(), language };
  }

  async #heard(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<string> {
    try {
      return await this.hear(frames, options);
    } catch (cause) {
      if (cause instanceof CoreError) throw cause;
      throw new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: reasonOf(cause) }, { cause });
    }
  }

  protected abstract hear(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<string>;
}

export class StreamingRecogniser extends Recogniser {
  readonly #recognizer: OnlineRecognizer;

  constructor(recognizer: OnlineRecognizer, languages: readonly string[]) {
    super(languages);
    this.#recognizer = recognizer;
  }

  protected override async hear(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<string> {
    const { signal, partial, language } = options;
    const stream = this.#recognizer.createStream();
    let told = '';
    let count = 0;
    for await (const { samples } of frames) {
      this.#feed(stream, toFloats(samples));
      count++;
      if (count % BREATH === 0) await breath();
      if (!partial || count % PARTIAL > 0) continue;
      const text = plain(this.#recognizer.getResult(stream).text);
      if (text === '' || text === told) continue;
      told = text;
      partial({ text, language });
    }
    if (signal.aborted) throw cancelled();
    this.#feed(stream, TAIL);
    stream.inputFinished();
    this.#decode(stream);
    return this.#recognizer.getResult(stream).text;
  }

  #feed(stream: OnlineStream, samples: Float32Array): void {
    stream.acceptWaveform({ samples, sampleRate: CAPTURE_RATE });
    this.#decode(stream);
  }

  #decode(stream: OnlineStream): void {
    while (this.#recognizer.isReady(stream)) this.#recognizer.decode(stream);
  }
}

export class WholeRecogniser extends Recogniser {
  readonly #recognizer: OfflineRecognizer;

  constructor(recognizer: OfflineRecognizer, languages: readonly string[]) {
    super(languages);
    this.#recognizer = recognizer;
  }

  protected override async hear(frames: AsyncIterable<AudioFrame>, { signal }: TranscribeOptions): Promise<string> {
    const pieces: Int16Array[] = [];
    for await (const { samples } of frames) {
      if (pieces.length >= MOST_FRAMES)
        throw new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: 'the speech is longer than a minute' });
      pieces.push(samples);
    }
    if (signal.aborted) throw cancelled();
    if (pieces.length === 0) return '';
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ samples: toFloats(concatSamples(pieces)), sampleRate: CAPTURE_RATE });
    await this.#recognizer.decodeAsync(stream);
    if (signal.aborted) throw cancelled();
    return this.#recognizer.getResult(stream).text;
  }
}

/** Lower case, without punctuation: what intents are matched with. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[.,!?;:"“”]+(?=\s|$)/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function cancelled(): CoreError {
  return new CoreError('CANCELLED', { what: ENGINE, reason: 'the caller no longer waits' });
}
