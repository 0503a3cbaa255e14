import { join } from 'node:path';
import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { KeptFile } from '@device-core/plugin-api/durable';
import { ACT_WORDS, type Acting, coreRestart, machineOf } from '@device-core/plugin-api/inside/core-restart';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { device } from '@device-core/plugin-api/services/device';
import { Rauc, unavailable } from './rauc.ts';
import { RaucSlots } from './rauc-slots.ts';
import { FORM, Trials } from './trials.ts';

interface Config {
  readonly bus: string;
  readonly slotClass: string;
  readonly installMs: number;
}

export const plugin = definePlugin({
  requires: { device },
  async setup(host: PluginHost<Config>, services) {
    const { bus, slotClass, installMs } = host.config;
    const { paths } = await services.device.info();
    const rauc = new Rauc(bus, host.scope);
    const kept = await KeptFile.open(join(paths.var, 'slots-rauc/trials.json'), FORM, host.scope, host.log);
    const ours = new RaucSlots({ rauc, trials: new Trials(kept), slotClass, installMs });
    host.provide(slots, ours);
    host.provide(machine, machineOf(coreRestart(host.scope), actsOf(rauc)));
    host.tap('health.collect', async (report) => {
      kept.tell(report, 'slots-rauc.trials');
      const { cause } = await ours.status();
      if (cause === undefined) report.add('slots-rauc', { status: 'okay' });
      else report.add('slots-rauc', { status: 'error', code: 'SLOTS_UNAVAILABLE', message: cause });
    });
  },
});

/** logind reboots, where a rule of polkit lets the Core's user do so. */
function actsOf(rauc: Rauc): Acting {
  const can = async (member: string): Promise<boolean> => {
    // Nobody there, or not for us: both mean no, and the reason says so.
    const said = await rauc.login(member).catch(() => 'na');
    return said === 'yes';
  };
  return {
    others: async () => [
      ...((await can('CanReboot')) ? ['reboot' as const] : []),
      ...((await can('CanPowerOff')) ? ['powerOff' as const] : []),
    ],
    reason: 'logind does not let the Core do it',
    async order(act, safeMode) {
      if (safeMode) throw unavailable(`${ACT_WORDS[act]} in safe mode`, 'the boot loader of this device is not ours');
      await rauc.login(act === 'reboot' ? 'Reboot' : 'PowerOff', false);
    },
  };
}
