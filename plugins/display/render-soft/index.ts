import { definePlugin } from '@device-core/plugin-api';
import { renderers } from '@device-core/plugin-api/services/renderer';
import { SoftRenderer } from './renderer.ts';

interface Settings {
  readonly fps: number;
}

export const plugin = definePlugin<{ renderers: typeof renderers }, Settings>({
  requires: { renderers },
  setup(host, services) {
    const renderer = new SoftRenderer(host.clock, host.log, host.config.fps);
    host.scope.defer('the picture', () => renderer.close());
    host.scope.use('renderer soft', services.renderers.register('soft', renderer));
  },
});
