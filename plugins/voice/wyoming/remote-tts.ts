import { CoreError, maybe } from '@device-core/plugin-api';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import type { Link } from './link.ts';
import { formatOf, PcmReader, sameFormat } from './pcm.ts';
import { type RemoteService, voiceFor } from './remote-info.ts';
import type { EngineSettings } from './settings.ts';
import { languageFor } from './words.ts';

/** `synthesize` -> sound. */
export class RemoteTts implements TtsEngine {
  readonly #link: Link;
  readonly #service: RemoteService;
  readonly #settings: EngineSettings;

  constructor(link: Link, service: RemoteService, settings: EngineSettings) {
    this.#link = link;
    this.#service = service;
    this.#settings = settings;
  }

  async *speak(text: string, options: SpeakOptions): AsyncGenerator<PcmChunk, void, undefined> {
    const signal = options.signal ?? this.#link.scopeSignal;
    const voice = this.#voice(options);
    if (text.trim() === '') return;
    await using use = await this.#link.open(signal);
    const { connection } = use;
    const { answerMs, mostSpeechSeconds } = this.#link.settings;
    try {
      await connection.send('synthesize', { text, ...maybe({ voice }) });
      let reader: PcmReader | undefined;
      let seconds = 0;
      for (;;) {
        connection.expect('the sound', answerMs);
        const event = await connection.next();
        if (!event) throw this.#link.hungUp('the end of the sound');
        if (event.type === 'audio-stop') return;
        if (event.type === 'error') throw this.#link.refused(event);
        if (event.type !== 'audio-start' && event.type !== 'audio-chunk') continue;
        const format = formatOf(event.data);
        if (!reader || !sameFormat(reader.format, format)) reader = new PcmReader(format);
        const samples = reader.read(event.payload);
        seconds += samples.length / format.rate;
        if (seconds > mostSpeechSeconds)
          throw this.#link.failed(`it speaks for more than ${mostSpeechSeconds} seconds`);
        if (samples.length === 0) continue;
        // The player takes its time.
        connection.calm();
        yield { rate: format.rate, samples };
      }
    } catch (error) {
      throw this.#link.told(error, signal);
    }
  }

  /** The voice that is asked for, the one of the configuration where it speaks the language, or the first that does. */
  #voice({ voice, language }: SpeakOptions): object | undefined {
    const { models, languages } = this.#service;
    if (voice !== undefined) {
      if (models.some(({ name }) => name === voice)) return this.#named(voice);
      const reason = `${this.#link.name} has no voice ${voice}`;
      throw new CoreError('PARAMS_INVALID', { where: 'voice', reason });
    }
    const { voice: usual } = this.#settings;
    if (language === undefined || languages.length === 0) return usual === undefined ? undefined : this.#named(usual);
    const model = models.find(({ name }) => name === usual);
    if (usual !== undefined && (!model || languageFor(language, model.languages) !== undefined))
      return this.#named(usual);
    const own = voiceFor(this.#service, language);
    if (own) return { name: own.name, language: languageFor(language, own.languages) };
    // The configuration may know of languages that the service does not name.
    const known = languageFor(language, languages);
    if (known === undefined) throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: this.#link.name, language });
    return { language: known };
  }

  #named(name: string): object {
    const { speaker, voice } = this.#settings;
    return { name, ...(speaker !== undefined && name === voice && { speaker }) };
  }
}
