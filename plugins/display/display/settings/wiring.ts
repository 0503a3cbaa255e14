/** `settings/` in the plugin: what was chosen on the device, the hours of the night, the battery, and what can be said to the screen. */

import { type PluginHost, reasonOf } from '@device-core/plugin-api';
import { type Config, config as configService } from '@device-core/plugin-api/services/config';
import { intents } from '@device-core/plugin-api/services/intents';
import { type DisplayConfig, surroundingsOf } from '../configuration.ts';
import type { PanelLight } from '../power/light.ts';
import type { SurroundingsSeam } from '../seams.ts';
import { type DeviceSettings, PREFIX, settingsOf } from './device-settings.ts';
import { type Defaults, Look } from './look.ts';
import { type Spoken, speakScreen } from './spoken.ts';
import { themesOf } from './themes.ts';

export interface Looks {
  readonly look: Look;
  /** Takes the members of the configuration that are live. */
  configure(config: DisplayConfig): void;
  /** Keeps a brightness as the setting of the device. */
  keep(level: number): Promise<void>;
}

/** Throws PARAMS_INVALID: a theme of the SKU that cannot be read. */
export function openLook(
  host: PluginHost<DisplayConfig>,
  parts: { readonly seam: SurroundingsSeam & Spoken; readonly light: () => PanelLight },
): Looks {
  const { scope, log, bus, config } = host;
  const { night } = config;
  const look = new Look({
    scope,
    seam: parts.seam,
    themes: themesOf(config.themes),
    hours: night,
    defaults: defaultsOf(config),
    night: (dark) => parts.light().night(dark ? night.brightness : undefined),
  });
  bus.subscribe('system.power', ({ payload }) => look.low((payload as { readonly state?: unknown }).state === 'low'));

  let kept: Config | undefined;
  let chosen: DeviceSettings = {};
  let { brightness } = config;
  let problems: readonly string[] = [];
  host.when(configService, async (service, part) => {
    kept = service;
    part.defer('settings', () => {
      kept = undefined;
    });
    const read = async () => {
      const found = settingsOf(await service.list({}, PREFIX));
      for (const problem of found.problems)
        if (!problems.includes(problem)) log.warn({}, `a setting means nothing: ${problem}`);
      problems = found.problems;
      chosen = found.settings;
      look.use(chosen);
      parts.light().set(chosen.brightness ?? brightness);
    };
    part.use(
      'changes of the configuration',
      service.watch({}, ({ key }) => {
        if (!key.startsWith(`${PREFIX}.`) && key !== PREFIX) return;
        read().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, `cannot read ${PREFIX}`));
      }),
    );
    await read();
  });
  host.tap('health.collect', (report) => {
    for (const problem of problems) report.warn('SETTING_INVALID', problem);
  });
  host.when(intents, (service, part) => speakScreen(service, part, parts.seam));
  return {
    look,
    configure(next) {
      brightness = next.brightness;
      look.useDefaults(defaultsOf(next));
      parts.light().set(chosen.brightness ?? brightness);
      parts.light().idleAfter(next);
    },
    async keep(level) {
      await kept?.set({}, `${PREFIX}.brightness`, level, { by: `plugin.${host.id}` });
    },
  };
}

function defaultsOf(config: DisplayConfig): Defaults {
  const { theme, textScale, reducedMotion, fps } = config;
  const { locale, timeZone } = surroundingsOf(config);
  return { theme, textScale, reducedMotion, fps, locale, timeZone };
}
