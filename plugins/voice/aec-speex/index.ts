import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { type EchoCanceller, echoCanceller } from '@device-core/plugin-api/services/audio';
import { SpeexCanceller, unavailable } from './canceller.ts';
import { loadSpeexDsp } from './library.ts';

interface Settings {
  readonly library: string;
  readonly tailMs: number;
  readonly lookMs: number;
}

export const plugin = definePlugin<Record<never, never>, Settings>({
  async setup(host) {
    const { scope, log, config } = host;
    let canceller: SpeexCanceller | undefined;
    let problem = 'it is looked for';
    /** A package that is installed later is found then. */
    const look = async (): Promise<void> => {
      if (canceller) return;
      try {
        const library = await loadSpeexDsp(config.library);
        if (scope.signal.aborted) return;
        canceller = scope.use('echo canceller', new SpeexCanceller(library, config.tailMs));
        log.info({ library: config.library }, 'libspeexdsp is there');
      } catch (error) {
        problem = reasonOf(error);
      }
    };
    await look();
    scope.interval('look for libspeexdsp', config.lookMs, look);
    host.provide<EchoCanceller>(echoCanceller, {
      async *clean(frames, options) {
        if (!canceller) throw unavailable(problem);
        yield* canceller.clean(frames, options);
      },
    });
    host.tap('health.collect', (report) => {
      if (canceller) report.add(host.id, { status: 'okay' });
      else report.add(host.id, { status: 'waiting', code: 'AUDIO_UNAVAILABLE', message: problem });
    });
  },
});
