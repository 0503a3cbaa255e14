/** `power/` in the plugin: what wakes the panel, what keeps it lit, and the light of the room. */

import type { PluginHost } from '@device-core/plugin-api';
import type { PanelPower } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { sensors } from '@device-core/plugin-api/services/sensors';
import type { DisplayConfig } from '../configuration.ts';
import type { InputSeam, LightSeam, SurroundingsSeam } from '../seams.ts';
import type { Presence } from './idle.ts';
import { PanelLight } from './light.ts';
import { powerOperations } from './operations.ts';

/** States of a turn in which a person speaks with the device. */
const TURN = ['listening', 'thinking', 'speaking'];

export function openLight(
  host: PluginHost<DisplayConfig>,
  parts: {
    readonly seam: LightSeam & Pick<SurroundingsSeam, 'change'> & Pick<InputSeam, 'onTouched'>;
    readonly keep: (level: number) => Promise<void>;
    readonly changed: (power: PanelPower) => void;
  },
): PanelLight {
  const { scope, log, bus, config } = host;
  const { brightness, dimMs, offMs, ambient } = config;
  const { seam, keep } = parts;
  let measure: ((power: PanelPower) => void) | undefined;
  let urgent: Disposable | undefined;
  const light: PanelLight = new PanelLight({
    scope,
    log,
    seam,
    brightness,
    keep,
    idle: { dimMs, offMs },
    changed(power) {
      parts.changed(power);
      measure?.(power);
      urgent?.[Symbol.dispose]();
      urgent = undefined;
      // A critical event changes nothing on a lit panel, so the bus is not watched then.
      if (power === 'on' || scope.signal.aborted) return;
      const wake = ({ priority }: { readonly priority: string }) => {
        if (priority === 'critical') return light.wake('a critical event');
      };
      urgent = bus.subscribe('**', wake, { retained: false });
    },
  });
  scope.use(
    'touches',
    seam.onTouched(() => light.touched()),
  );
  bus.subscribe('system.presence', ({ payload }) => light.presence((payload as { readonly state: Presence }).state));
  bus.subscribe('audio.wake', () => light.wake('voice'));
  bus.subscribe('audio.state', ({ payload }) =>
    light.hold('voice', TURN.includes((payload as { readonly state: string }).state)),
  );
  const open = new Set<string>();
  bus.subscribe('prompt.state', ({ payload }) => {
    const { id, state } = payload as { readonly id: string; readonly state: string };
    if (state === 'open') open.add(id);
    else open.delete(id);
    light.hold('prompt', open.size > 0);
  });
  if (ambient)
    host.when(sensors, (service, part) => {
      let following: Disposable | undefined;
      measure = (power) => {
        following?.[Symbol.dispose]();
        // A dark panel needs no light to be measured.
        following =
          power === 'off'
            ? undefined
            : service.subscribe(ambient.sensor, ambient.everyMs, ({ values }) => light.lux(values[ambient.quantity]));
      };
      measure(light.dark ? 'off' : 'on');
      part.defer('light of the room', () => {
        measure = undefined;
        following?.[Symbol.dispose]();
        light.lux(undefined);
      });
    });
  host.when(operations, (service, part) => {
    for (const operation of powerOperations(light)) part.use(`operation ${operation.name}`, service.add(operation));
  });
  return light;
}
