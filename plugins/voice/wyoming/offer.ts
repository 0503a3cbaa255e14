/** Engines offered to others: those on this device, in the order of the device. */
import { CoreError, maybe } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { EngineInfo, Speech, SpeechGrammar } from '@device-core/plugin-api/services/speech';
import type { ServeSettings } from './settings.ts';
import { baseOf, languageFor, phraseOf } from './words.ts';

export interface Voice {
  readonly name: string;
  readonly language: string | undefined;
  /** As its engine knows it; undefined where the engine names none. */
  readonly voice: string | undefined;
}

const BY = { attribution: { name: 'Device Core', url: '' }, installed: true, version: '1' };
const NAME = 'device-core';

export class Offer {
  readonly #speech: Speech;
  readonly #settings: ServeSettings;
  readonly #intents: () => Intents | undefined;

  /** `intents` knows what can be said now, for recognisers that hear nothing else. */
  constructor(speech: Speech, settings: ServeSettings, intents: () => Intents | undefined) {
    this.#speech = speech;
    this.#settings = settings;
    this.#intents = intents;
  }

  /** Data of an `info` event. */
  async info(): Promise<object> {
    const [recognisers, voices, wakers] = await Promise.all([
      this.#recognisers(),
      this.#voices(),
      this.#engines('wake'),
    ]);
    const program = (description: string, more: object) => ({ ...BY, name: NAME, description, ...more });
    const models = recognisers.map(({ id, title, languages }) => ({ ...BY, name: id, description: title, languages }));
    const spoken = voices.map(({ name, language }) => {
      return { ...BY, name, description: name, languages: language === undefined ? [] : [language], speakers: null };
    });
    const phrases = wakers.length === 0 ? [] : this.#settings.phrases;
    const woken = phrases.map((phrase) => {
      return { ...BY, name: nameOf(phrase), description: phrase, phrase, languages: wakers[0]?.languages ?? [] };
    });
    const ours =
      this.#intents() === undefined ? [] : [{ ...BY, name: 'sentences', description: 'Sentences of this device' }];
    const understood = ours.map((model) => ({ ...model, languages: [this.#settings.language] }));
    const streaming = { supports_transcript_streaming: false };
    return {
      asr: models.length === 0 ? [] : [program('Speech to text of this device', { models, ...streaming })],
      tts:
        spoken.length === 0
          ? []
          : [program('Voices of this device', { voices: spoken, supports_synthesize_streaming: false })],
      wake: woken.length === 0 ? [] : [program('Wake phrases of this device', { models: woken })],
      handle: [],
      intent: understood.length === 0 ? [] : [program('What sentences mean to this device', { models: understood })],
      mic: [],
      snd: [],
    };
  }

  /** Arguments for `speech`. Rejects with PARAMS_INVALID (a name that is not offered). */
  async recogniser(
    name: unknown,
    language: unknown,
  ): Promise<{ readonly language: string; readonly engine?: string; readonly grammar?: SpeechGrammar }> {
    const engines = await this.#recognisers();
    const own = typeof name === 'string' ? engines.find(({ id }) => id === name) : undefined;
    if (typeof name === 'string' && name !== NAME && !own)
      throw notOffered(
        'recogniser',
        name,
        engines.map(({ id }) => id),
      );
    const asked = typeof language === 'string' && language !== '' ? language : undefined;
    const known = own?.languages ?? [];
    const usual =
      known.length === 0 ? this.#settings.language : (languageFor(this.#settings.language, known) ?? known[0]!);
    const chosen = asked ?? usual;
    const grammar = await this.#intents()?.grammar(chosen);
    return { language: chosen, ...(own && { engine: own.id }), ...maybe({ grammar }) };
  }

  /** Rejects with PARAMS_INVALID. */
  async voice(name: unknown, language: unknown): Promise<{ readonly language?: string; readonly voice?: string }> {
    const asked = typeof language === 'string' && language !== '' ? language : undefined;
    if (typeof name !== 'string' || name === '' || name === NAME) return asked === undefined ? {} : { language: asked };
    const voices = await this.#voices();
    const own = voices.find((one) => one.name === name);
    if (!own)
      throw notOffered(
        'voice',
        name,
        voices.map((one) => one.name),
      );
    const spoken = asked ?? own.language;
    return { ...maybe({ language: spoken, voice: own.voice }) };
  }

  /** Phrases by the names that they are offered by. Throws PARAMS_INVALID. */
  phrases(names: unknown): ReadonlyMap<string, string> {
    const offered = new Map(this.#settings.phrases.map((phrase) => [phrase, nameOf(phrase)]));
    if (offered.size === 0) throw notOffered('wake phrase', 'any', []);
    const wanted = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    if (wanted.length === 0) return offered;
    return new Map(
      wanted.map((name) => {
        const phrase = [...offered.keys()].find((one) => phraseOf(one) === phraseOf(name));
        if (phrase === undefined) throw notOffered('wake phrase', name, [...offered.values()]);
        return [phrase, name];
      }),
    );
  }

  /** Those that need to know what may be said are offered where somebody tells them. */
  async #recognisers(): Promise<readonly EngineInfo[]> {
    const engines = await this.#engines('stt');
    return engines.filter(({ needsGrammar }) => !needsGrammar || this.#intents() !== undefined);
  }

  /** Voices of the first engine of each language: it would get a voice of any other, too. */
  async #voices(): Promise<readonly Voice[]> {
    const taken = new Set<string>();
    const voices: Voice[] = [];
    for (const { id, voices: names = [], languages } of await this.#engines('tts')) {
      const language = languages.find((one) => !taken.has(baseOf(one)));
      if (language === undefined && (languages.length > 0 || taken.has(''))) continue;
      for (const one of languages.length === 0 ? [''] : languages) taken.add(baseOf(one));
      for (const voice of names.length === 0 ? [undefined] : names) voices.push({ name: voice ?? id, language, voice });
    }
    return voices;
  }

  /** Sound of others never goes on to a cloud. */
  async #engines(kind: 'stt' | 'tts' | 'wake'): Promise<readonly EngineInfo[]> {
    return (await this.#speech.list(kind)).filter(({ stage, rank }) => stage === 'local' && rank !== undefined);
  }
}

function nameOf(phrase: string): string {
  return phraseOf(phrase).replaceAll(' ', '_');
}

function notOffered(what: string, name: string, known: readonly string[]): CoreError {
  const reason = known.length === 0 ? 'none is offered' : `there is ${known.slice(0, 20).join(', ')}`;
  return new CoreError('PARAMS_INVALID', { where: `the ${what} ${name.slice(0, 100)}`, reason });
}
