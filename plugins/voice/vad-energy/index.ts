import { definePlugin } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { energyEngine, type Settings } from './gate.ts';

const DESCRIPTION = { id: 'energy', title: 'Louder than the noise', languages: [], stage: 'local' } as const;

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  setup(host, services) {
    const registered = services.speech.register('vad', DESCRIPTION, energyEngine(host.config), `plugin.${host.id}`);
    host.scope.use('vad engine energy', registered);
  },
});
