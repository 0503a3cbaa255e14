import { CoreError, definePlugin } from '@device-core/plugin-api';
import { coreRestart } from '@device-core/plugin-api/inside/core-restart';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { type Slots, slots } from '@device-core/plugin-api/inside/services/slots';
import { device } from '@device-core/plugin-api/services/device';

const REASON = 'this device has no slots; install an image to get them';

/** For a checkout and for a Core that the system's own packages bring. */
export const plugin = definePlugin({
  requires: { device },
  setup(host) {
    const none: Slots = {
      status: async () => ({
        provider: 'none',
        slots: [],
        rung: 'normal',
        floor: { time: 0 },
        writer: 'none',
      }),
      stateForms: async () => refuse('read the images'),
      inspect: async () => refuse('read the image'),
      stage: async () => refuse('stage the image'),
      activate: async () => refuse('activate a slot'),
      markGood: async () => refuse('mark the slot good'),
      markBad: async () => refuse('mark the slot bad'),
    };
    const restart = coreRestart(host.scope);
    host.provide(slots, none);
    host.provide(machine, {
      able: async () =>
        restart.supervised
          ? { acts: ['restart'], reason: 'no helper of root is here: it cannot reboot or power off' }
          : { acts: [], reason: restart.reason },
      async act(act, { safeMode = false } = {}) {
        if (act !== 'restart') refuse(act === 'reboot' ? 'reboot' : 'power off', 'no helper of root is here');
        if (!restart.supervised) refuse('restart', restart.reason);
        if (safeMode) refuse('restart in safe mode', 'no boot loader is here');
        restart.begin();
      },
    });
    host.tap('health.collect', (report) => {
      report.add('slots-none', { status: 'okay', message: 'no slots: it is updated by its installer' });
    });
  },
});

function refuse(verb: string, reason = REASON): never {
  throw new CoreError('SLOTS_UNAVAILABLE', { verb, reason });
}
