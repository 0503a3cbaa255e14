import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { MorseVoice, VOICES } from './voice.ts';

export const plugin = definePlugin({
  requires: { speech },
  setup(host, services) {
    const morse = new MorseVoice();
    // Morse has no language; an engine that has some is asked for those only.
    const about = { id: host.id, title: 'Morse', languages: [], stage: 'local', voices: Object.keys(VOICES) } as const;
    const engine = { speak: (...asked: Parameters<MorseVoice['speak']>) => morse.speak(...asked) };
    host.scope.use(`engine ${host.id}`, services.speech.register('tts', about, engine, `plugin.${host.id}`));
    // Files and libraries that are missing are no reason to fail: register when they are there, and say here what is waited for.
    host.tap('health.collect', (report) => report.add(host.id, { status: 'okay' }));
  },
});
