import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { LANGUAGES, Recogniser } from './recogniser.ts';

export const plugin = definePlugin({
  requires: { speech },
  setup(host, services) {
    const recogniser = new Recogniser();
    // `cloud` if the sound leaves the device; `needsGrammar` if it knows only the sentences that it is given.
    const about = {
      id: host.id,
      title: 'Keys of a telephone',
      languages: LANGUAGES,
      stage: 'local',
      streaming: true,
    } as const;
    const engine = { transcribe: (...asked: Parameters<Recogniser['transcribe']>) => recogniser.transcribe(...asked) };
    host.scope.use(`engine ${host.id}`, services.speech.register('stt', about, engine, `plugin.${host.id}`));
    // Files and libraries that are missing are no reason to fail: register when they are there, and say here what is waited for.
    host.tap('health.collect', (report) => report.add(host.id, { status: 'okay' }));
  },
});
