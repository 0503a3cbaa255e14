/** `input/` in the plugin: the registry, what the device's own keys do, and what health says of sources. */

import { type PluginHost, reasonOf, whileThere } from '@device-core/plugin-api';
import { audio } from '@device-core/plugin-api/services/audio';
import { inputs } from '@device-core/plugin-api/services/input';
import type { DisplayConfig } from '../configuration.ts';
import type { PanelLight } from '../power/light.ts';
import type { InputSeam } from '../seams.ts';
import { KeyTable } from './keys.ts';
import { InputRouter } from './router.ts';

export function openInput(
  host: PluginHost<DisplayConfig>,
  { seam, light, simulated }: { readonly seam: InputSeam; readonly light: PanelLight; readonly simulated: boolean },
): InputRouter {
  const { scope, log, bus, config } = host;
  const speaker = whileThere(host, audio);
  const failed = (what: string) => (error: unknown) => log.error({ reason: reasonOf(error) }, `cannot ${what}`);
  const mute = async (onlyMute: boolean): Promise<void> => {
    const sound = speaker();
    if (!sound) return log.warn({}, 'the mute key was pressed, and there is no sound');
    const { muted } = await sound.state();
    if (!muted || !onlyMute) await sound.setMuted(!muted);
  };
  const router = new InputRouter({
    scope,
    log,
    seam,
    simulated,
    keys: new KeyTable(config.keys),
    trusted: config.trustedInputs,
    light: { dark: () => light.dark, wake: (reason) => void light.wake(reason).catch(failed('light the panel')) },
    mute: (onlyMute) => void mute(onlyMute).catch(failed('mute the microphone')),
    power: () => void light.power(light.dark ? 'on' : 'off').catch(failed('switch the panel')),
    publish(name, phase) {
      try {
        bus.publish('input.key', { name, phase });
      } catch (error) {
        failed('publish a key')(error);
      }
    },
  });
  host.provide(inputs, router);
  host.tap('health.collect', (report) => {
    for (const { description, problem, counts } of router.sources) {
      const { id } = description;
      if (problem !== undefined)
        report.add(`display.${id}`, { status: 'waiting', code: 'UNAVAILABLE', message: `input is gone: ${problem}` });
      if (counts.bad > 0) report.warn('INPUT_BAD', `${id} told ${counts.bad} events that mean nothing`);
      if (counts.dropped > 0) report.warn('INPUT_DROPPED', `${id} was faster than fingers: ${counts.dropped} left out`);
    }
    if (router.refused > 0)
      report.warn('INPUT_REFUSED', `${router.refused} injected touches were meant for prompts or the system`);
  });
  return router;
}
