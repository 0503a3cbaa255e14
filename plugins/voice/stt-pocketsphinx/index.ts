import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { Decoder, ENGINE } from './decoder.ts';
import { loadPocketSphinx, missing, type Places } from './library.ts';
import { Pool } from './pool.ts';
import { Recogniser } from './stt.ts';
import { PhraseSpotter } from './wake.ts';

interface Settings extends Places {
  readonly language: string;
  readonly decoders: number;
  readonly wakeThreshold: number;
  readonly lookMs: number;
}

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  async setup(host, services) {
    const { scope, log, config } = host;
    let there = false;
    let problem: string | undefined;
    /** A package that is installed later is found then. */
    const look = async (): Promise<void> => {
      if (there) return;
      try {
        problem = await missing(config);
        if (problem !== undefined) return;
        const library = await loadPocketSphinx(config);
        // The first decoder shows whether the model is good for anything.
        const first = new Decoder(library, config);
        if (scope.signal.aborted) return first[Symbol.dispose]();
        const pool = new Pool(scope, config.decoders, () => new Decoder(library, config), first);
        const of = { id: ENGINE, languages: [config.language], stage: 'local', streaming: true } as const;
        const stt = new Recogniser(pool, config.language, scope);
        const wake = new PhraseSpotter(pool, config.wakeThreshold, scope);
        const owner = `plugin.${host.id}`;
        const title = 'PocketSphinx';
        scope.use(
          `stt engine ${ENGINE}`,
          services.speech.register(
            'stt',
            { ...of, title, needsGrammar: true },
            {
              transcribe: (frames, options) => stt.transcribe(frames, options),
              unspeakable: (words) => stt.unspeakable(words),
            },
            owner,
          ),
        );
        scope.use(
          `wake engine ${ENGINE}`,
          services.speech.register(
            'wake',
            { ...of, title },
            {
              detect: (frames, options) => wake.detect(frames, options),
              unspeakable: (phrases) => wake.unspeakable(phrases),
            },
            owner,
          ),
        );
        there = true;
        log.info({ model: config.model }, 'PocketSphinx is there');
      } catch (error) {
        problem = reasonOf(error);
      }
    };
    await look();
    scope.interval('look for PocketSphinx', config.lookMs, look);
    host.tap('health.collect', (report) => {
      if (there) report.add(host.id, { status: 'okay' });
      else report.add(host.id, { status: 'waiting', code: 'ENGINE_MISSING', message: problem ?? 'it is looked for' });
    });
  },
});
