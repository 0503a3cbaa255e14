import { definePlugin } from '@device-core/plugin-api';
import { Backlight, DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { type PixelFormat, panel } from '@device-core/plugin-api/services/panel';
import { openCard } from './node.ts';
import { Screen } from './screen.ts';

interface Settings {
  readonly device: string;
  readonly format: PixelFormat;
  readonly connector?: number;
  readonly width?: number;
  readonly height?: number;
  readonly flipMs: number;
  readonly backlight?: string;
}

export const plugin = definePlugin<Record<never, never>, Settings>({
  async setup(host) {
    const { scope, log, config } = host;
    const { device, format, connector, width, height, flipMs, backlight } = config;
    const driven = await DrivenPanel.start({
      scope,
      log,
      name: device,
      open: async () => {
        const light = await Backlight.find({ name: backlight });
        const card = await openCard(device);
        return await Screen.open({ scope, card, light, format, connector, width, height, flipMs });
      },
      // A flip has its own limit, which tells more.
      limitMs: 2 * flipMs,
    });
    host.provide(panel, driven);
    host.tap('health.collect', (report) => report.add(host.id, driven.health));
  },
});
