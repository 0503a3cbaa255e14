import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { ENGINE, Flite, VOICES } from './engine.ts';

export const plugin = definePlugin<{ speech: typeof speech }, { readonly voice: string; readonly keepMs: number }>({
  requires: { speech },
  setup(host, services) {
    const { voice, keepMs } = host.config;
    const engine = new Flite(voice, keepMs, host.scope);
    const voices = [voice, ...VOICES.filter((other) => other !== voice)];
    const description = {
      id: ENGINE,
      title: 'Flite',
      languages: ['en'],
      stage: 'local',
      streaming: true,
      voices,
    } as const;
    const speak = { speak: (...args: Parameters<Flite['speak']>) => engine.speak(...args) };
    const registered = services.speech.register('tts', description, speak, `plugin.${host.id}`);
    host.scope.use(`tts engine ${ENGINE}`, registered);
    // An answer follows a second or more after the wake: time enough to compile the program.
    host.bus.subscribe('audio.wake', () =>
      engine.warm().catch((err) => host.log.warn({ err }, 'cannot prepare flite; the next sentence tries again')),
    );
  },
});
