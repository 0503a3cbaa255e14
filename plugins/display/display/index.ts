import { definePlugin, type PluginState, reasonOf } from '@device-core/plugin-api';
import { device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { panel } from '@device-core/plugin-api/services/panel';
import { renderers } from '@device-core/plugin-api/services/renderer';
import { openApps } from './apps-wiring.ts';
import { type DisplayConfig, surroundingsOf } from './configuration.ts';
import { openInput } from './input/wiring.ts';
import { PluginSurfaces } from './plugin-surfaces.ts';
import type { PanelLight } from './power/light.ts';
import { openLight } from './power/wiring.ts';
import { Screen } from './screen.ts';
import { openLook } from './settings/wiring.ts';
import { FrameWatch } from './watch/frame-watch.ts';

/** Characters that /health names. */
const MOST_NAMED = 20;
/** A plugin in one of these shows nothing any more. */
const OVER: readonly PluginState[] = ['stopping', 'stopped', 'failed', 'quarantined'];

export const plugin = definePlugin<{ device: typeof device }, DisplayConfig>({
  requires: { device },
  async setup(host, services) {
    const { scope, log, bus, config } = host;
    const frames: FrameWatch = new FrameWatch(host.clock, () => screen.stage.repaint());
    const screen: Screen = new Screen({
      scope,
      log,
      renderers: config.renderers,
      surroundings: surroundingsOf(config),
      imageBytes: config.quota.imageBytes,
      frames,
    });
    const { sku } = await services.device.info();
    const light: PanelLight = openLight(host, {
      seam: screen,
      keep: (level) => looks.keep(level),
      changed: (power) => looks.look.asleep(power === 'off'),
    });
    screen.light = light;
    const looks = openLook(host, { seam: screen, light: () => light });
    openInput(host, { seam: screen, light, simulated: sku.simulated });
    const surfaces = new PluginSurfaces(screen);
    screen.ofPlugins = (surface, input) => surfaces.deliver(surface, input);
    openApps(host, screen, frames);
    scope.defer('renderer', () => screen.stage.end());
    scope.use(
      'state of the screen',
      screen.onState((state) => {
        try {
          bus.publish('display.state', state);
        } catch (error) {
          log.warn({ reason: reasonOf(error) }, 'cannot publish the state of the screen');
        }
      }),
    );
    bus.subscribe('plugin.state', ({ payload }) => {
      const { plugin: id, state } = payload as { readonly plugin: string; readonly state: PluginState };
      if (OVER.includes(state)) surfaces.gone(id);
    });
    screen.begin();
    host.provide(renderers, screen.registry);
    host.provide(display, Object.assign(surfaces, surfaces.view({ plugin: host.id })));
    host.when(panel, (service, part) => screen.link.follow(service, part));
    host.tap('health.collect', (report) => {
      const { renderer, panel: driver, problem } = screen.state;
      if (problem !== undefined)
        report.add('display', { status: 'waiting', code: 'PANEL_UNAVAILABLE', message: problem });
      else report.add('display', { status: 'okay', message: `${renderer} paints on ${driver}` });
      const [wanted] = config.renderers;
      if (problem === undefined && wanted !== undefined && renderer !== wanted)
        report.warn('RENDERER_SECOND', `${renderer} paints, not ${wanted}: ${screen.stage.whyNot(wanted)}`);
      const glyphs = [...screen.missingGlyphs];
      if (glyphs.length > 0) report.warn('GLYPHS_MISSING', `no font has ${glyphs.slice(0, MOST_NAMED).join(' ')}`);
    });
    return { configure: (next) => looks.configure(next) };
  },
});
