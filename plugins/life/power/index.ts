import { CoreError, definePlugin, maybe, type Scope } from '@device-core/plugin-api';
import { followPeer } from '@device-core/plugin-api/inside/dbus-peer';
import { Asked } from '@device-core/plugin-api/inside/remote-fact';
import { powerSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Power, type PowerState, power } from '@device-core/plugin-api/services/power';
import { powerOperation } from './operations.ts';
import type { Marks, Provider } from './provider.ts';
import { SimulatedPower } from './simulated.ts';
import { SysfsPower } from './sysfs.ts';
import { UPOWER, UPower } from './upower.ts';

interface Settings extends Marks {
  readonly provider: 'auto' | Provider['name'];
  readonly bus: string;
  readonly sys: string;
  readonly events?: string;
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, bus, config } = host;
    const { sku } = await services.device.info();
    const chosen = config.provider === 'auto' && sku.simulated ? 'sim' : config.provider;
    const asked = new Asked<Provider, PowerState>({
      what: 'the power',
      log,
      look: (one) => one.look(),
      tell: (state) => void bus.publish('system.power', state),
    });
    const marks = { lowAt: config.lowAt, criticalAt: config.criticalAt };
    const files = async (during: Scope) => {
      const { sys, events } = config;
      const asks = { ...marks, sys, ...maybe({ events }), changed: asked.changed, scope: during };
      await asked.take(await SysfsPower.open(asks));
    };
    if (chosen === 'sim') await asked.take(new SimulatedPower());
    else if (chosen === 'sysfs') await files(scope);
    else
      await followPeer({
        path: config.bus,
        name: UPOWER,
        scope,
        start: true,
        there: async (peer, during) => asked.take(await UPower.open(peer, during, marks, asked.changed)),
        // The kernel stands in while UPower is away, unless the SKU wants nobody else.
        async away(why, during) {
          if (chosen === 'upower') asked.lost(why);
          else await files(during);
        },
      });

    const service: Power = {
      status: () => asked.ask(async (one) => ({ provider: one.name, ...(await one.look()) })),
    };
    host.provide(power, service);
    host.provide(powerSimulator, {
      async simulate(state) {
        if (!(asked.provider instanceof SimulatedPower))
          throw new CoreError('UNAVAILABLE', { what: 'the simulated power', reason: 'the power here is real' });
        asked.provider.simulate(state);
        await asked.stir();
      },
    });
    scope.use('power.status', services.operations.add(powerOperation(service)));
    host.tap('health.collect', (report) => {
      const { provider } = asked;
      const deaf = provider instanceof SysfsPower ? provider.deaf : undefined;
      asked.tell(report, 'power', deaf && `chargers are not seen at once: ${deaf}`);
    });
  },
});
