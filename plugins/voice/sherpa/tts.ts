import { CoreError, reasonOf } from '@device-core/plugin-api';
import { clausesOf } from '@device-core/plugin-api/audio';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import { toInts } from './samples.ts';
import { base, type TtsSettings } from './shapes.ts';
import type { OfflineTts } from './sherpa.ts';
import { ENGINE } from './stt.ts';

const MOST_CHARACTERS = 5_000;

/** Clause by clause, each in a thread of sherpa's own. */
export class Speaker implements TtsEngine {
  readonly #tts: OfflineTts;
  readonly #settings: TtsSettings;

  constructor(tts: OfflineTts, settings: TtsSettings) {
    this.#tts = tts;
    this.#settings = settings;
  }

  async *speak(text: string, { language, voice, signal }: SpeakOptions): AsyncGenerator<PcmChunk, void, undefined> {
    const { languages, voices, speed } = this.#settings;
    if (language !== undefined && !languages.some((one) => base(one) === base(language)))
      throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: ENGINE, language });
    const sid = voice === undefined ? 0 : voices.indexOf(voice);
    if (sid < 0)
      throw new CoreError('PARAMS_INVALID', {
        where: 'voice',
        reason: `there are ${voices.join(', ') || 'no names of voices'}`,
      });
    if (text.length > MOST_CHARACTERS) {
      const reason = `it has ${text.length} characters, at most ${MOST_CHARACTERS} are spoken at once`;
      throw new CoreError('PARAMS_INVALID', { where: 'text', reason });
    }
    for (const clause of clausesOf(text)) {
      if (signal?.aborted) throw cancelled();
      if (!/[\p{L}\p{N}]/u.test(clause.text)) continue;
      const { samples, sampleRate } = await this.#make(clause.text, sid, speed, signal);
      if (signal?.aborted) throw cancelled();
      if (samples.length > 0) yield { rate: sampleRate, samples: toInts(samples) };
      const pause = Math.round((clause.pauseMs * sampleRate) / 1_000);
      if (pause > 0) yield { rate: sampleRate, samples: new Int16Array(pause) };
    }
  }

  async #make(text: string, sid: number, speed: number, signal: AbortSignal | undefined) {
    try {
      const onProgress = () => signal?.aborted !== true;
      return await this.#tts.generateAsync({ text, sid, speed, enableExternalBuffer: false, onProgress });
    } catch (cause) {
      throw new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: reasonOf(cause) }, { cause });
    }
  }
}

function cancelled(): CoreError {
  return new CoreError('CANCELLED', { what: ENGINE, reason: 'the caller no longer listens' });
}
