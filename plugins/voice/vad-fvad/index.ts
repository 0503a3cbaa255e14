import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import fvad from '@echogarden/fvad-wasm';
import { fvadEngine, type Settings } from './detector.ts';

const DESCRIPTION = { id: 'fvad', title: 'WebRTC voice activity', languages: [], stage: 'local' } as const;

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  async setup(host, services) {
    const engine = fvadEngine(await fvad(), host.config);
    const registered = services.speech.register('vad', DESCRIPTION, engine, `plugin.${host.id}`);
    host.scope.use('vad engine fvad', registered);
  },
});
