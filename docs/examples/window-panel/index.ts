import { definePlugin } from '@device-core/plugin-api';
import { DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { panel } from '@device-core/plugin-api/services/panel';
import { openController, type Settings } from './controller.ts';

export const plugin = definePlugin<Record<never, never>, Settings>({
  async setup(host) {
    const { scope, log, config } = host;
    const driven = await DrivenPanel.start({
      scope,
      log,
      name: config.device,
      open: () => openController(config),
    });
    host.provide(panel, driven);
    host.tap('health.collect', (report) => report.add(host.id, driven.health));
  },
});
