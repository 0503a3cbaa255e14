/** A whole Core with a screen in the machine: a scene goes out, a touch comes in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PluginSurface, SurfaceInput } from '@device-core/plugin-api/services/display';
import { display } from '@device-core/plugin-api/services/display';
import { type Core, startCore } from '../../fixtures/core.ts';

let core: Core | undefined;
const touched: (readonly [surface: string, input: SurfaceInput])[] = [];

export async function startDevice(renderer: string): Promise<void> {
  const plugins = ['operations', 'system', 'panel-drm', 'input-evdev', 'display', `render-${renderer}`];
  const device = { id: 'tablet', name: 'QEMU Virtio Tablet', grab: true, touch: {} };
  core = await startCore({
    plugins: Object.fromEntries(plugins.map((id) => [id, '^1.0.0'])),
    config: {
      'panel-drm': { flipMs: 10_000 },
      'input-evdev': { devices: [device] },
      // The card cannot be dimmed: what is less than all of its light would be painted.
      display: { renderers: [renderer], locale: 'en', timeZone: 'UTC', brightness: 1, night: { brightness: 1 } },
    },
  });
  core.service(display).onInput((surface, input) => void touched.push([surface, input]));
}

export const put = (surface: PluginSurface): Promise<number> => there().service(display).put(surface);
export const state = () => there().service(display).state();
export const heard = () => touched;
/** The end of its log, for a test that fails. */
export const log = () => readFileSync(join(there().paths.var, 'log/core.log'), 'utf8').slice(-6_000);

export async function stopDevice(): Promise<void> {
  await core?.stop();
  core = undefined;
  touched.length = 0;
}

function there(): Core {
  if (!core) throw new Error('no Core runs');
  return core;
}
