import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { Lexicon } from './lexicon.ts';
import { type Language, Library } from './library.ts';
import { Pairs } from './pairs.ts';
import { Transcriber, type Voice } from './transcriber.ts';
import { Waker, type WakeSettings } from './waker.ts';

interface Settings extends WakeSettings {
  readonly languages: readonly Language[];
  readonly strictness: number;
  readonly decoders: number;
  readonly keepMs: number;
}

const TITLE = 'SoundSwallower';

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  async setup(host, services) {
    const { languages, strictness, decoders, keepMs } = host.config;
    const owner = `plugin.${host.id}`;
    const library = await Library.open();
    const voices = new Map<string, Voice>();
    for (const [index, language] of languages.entries()) {
      const model = await library.model(language);
      const pairs = new Pairs({
        stays: library,
        open: Library.open,
        model,
        most: decoders,
        keepMs,
        scope: host.scope,
      });
      const voice = { lexicon: await Lexicon.of(model), pairs };
      voices.set(language, voice);
      // A phrase has a language, the way to ask for it has none: the first language is that of the phrases.
      if (index > 0) continue;
      await pairs.listen();
      const wake = {
        id: 'soundswallower',
        title: `${TITLE}: phrases`,
        languages: [language],
        stage: 'local',
        scores: true,
      } as const;
      const waker = new Waker(voice, model.phones, host.config, host.scope);
      host.scope.use('wake engine soundswallower', services.speech.register('wake', wake, waker, owner));
    }
    const description = {
      id: 'soundswallower',
      title: `${TITLE}: sentences of a grammar`,
      languages,
      stage: 'local',
      streaming: true,
      needsGrammar: true,
      hearsAgain: true,
    } as const;
    const registered = services.speech.register(
      'stt',
      description,
      new Transcriber(voices, strictness, host.scope),
      owner,
    );
    host.scope.use('stt engine soundswallower', registered);
  },
});
