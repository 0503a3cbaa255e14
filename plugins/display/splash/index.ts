import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { BAR, BAR_UNITS, splashScene } from './scene.ts';

const requires = { device, display, pluginManager };
const SURFACE = 'splash';
/** Between two changes of the bar: many plugins start in this time. */
const STEP_MS = 150;
/** Home draws over the splash after the start; its end is unseen then. */
const STAYS_MS = 1_000;
/** A plugin that never comes up does not hold it. */
const MOST_MS = 20_000;
const UNDER_WAY = ['starting', 'waiting'];

/**
 * The first picture. It lies in the layer of home, below what comes there later, so that home takes its place without
 * anything in between. It goes when the device has started, and is not shown again by a device that runs.
 */
export const plugin = definePlugin<typeof requires>({
  requires,
  async setup(host, { device: about, display: screen, pluginManager: manager }) {
    const { scope, bus, log } = host;
    const all = await manager.list();
    const open = new Set(all.filter(({ state }) => UNDER_WAY.includes(state)).map(({ id }) => id));
    open.delete(host.id);
    if (open.size === 0) return;
    const { sku } = await about.info();
    const part = scope.child(SURFACE);
    const share = () => 1 - open.size / all.length;
    let version = await screen.put({ id: SURFACE, layer: 'home', scene: splashScene(sku.title, share()) });
    const failed = (error: unknown) => log.debug({ reason: reasonOf(error) }, 'the splash is gone');
    const end = async () => {
      await screen.remove(SURFACE);
      void part[Symbol.asyncDispose]();
    };
    let steps = false;
    const step = async () => {
      steps = false;
      const set = [{ id: BAR, w: Math.round(BAR_UNITS * share()) }];
      version = await screen.patch(SURFACE, { version, set });
    };
    part.use(
      'plugins that start',
      bus.subscribe('plugin.state', ({ payload }) => {
        const { plugin: id, state } = payload as { readonly plugin: string; readonly state: string };
        if (UNDER_WAY.includes(state) || !open.delete(id)) return;
        if (steps) return;
        steps = true;
        part.timeout('a step of the bar', STEP_MS, () => step().catch(failed));
      }),
    );
    host.tap('kernel.ready', () => {
      if (!part.signal.aborted) part.timeout('home is there', STAYS_MS, () => end().catch(failed));
    });
    part.timeout('the splash', MOST_MS, () => end().catch(failed));
  },
});
