import { definePlugin } from '@device-core/plugin-api';
import { Backlight, DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { panel } from '@device-core/plugin-api/services/panel';
import { Framebuffer } from './framebuffer.ts';
import { openNode } from './node.ts';

interface Settings {
  readonly device: string;
  readonly backlight?: string;
}

export const plugin = definePlugin<Record<never, never>, Settings>({
  async setup(host) {
    const { scope, log, config } = host;
    const driven = await DrivenPanel.start({
      scope,
      log,
      name: config.device,
      open: async () =>
        Framebuffer.open(await openNode(config.device), await Backlight.find({ name: config.backlight })),
    });
    host.provide(panel, driven);
    host.tap('health.collect', (report) => report.add(host.id, driven.health));
  },
});
