import { CoreError, definePlugin, type Scope } from '@device-core/plugin-api';
import { followPeer } from '@device-core/plugin-api/inside/dbus-peer';
import { Asked } from '@device-core/plugin-api/inside/remote-fact';
import { wallTimeSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { type WallTime, type WallTimeState, wallTime } from '@device-core/plugin-api/services/wall-time';
import { FilesTime } from './files.ts';
import { timeOperations } from './operations.ts';
import type { Provider } from './provider.ts';
import { kernelClock, SetFlag } from './set-flag.ts';
import { SimulatedTime } from './simulated.ts';
import { TIMEDATED, Timedated } from './timedated.ts';
import { checkZone } from './zone.ts';

interface Settings {
  readonly provider: 'auto' | Provider['name'];
  readonly bus: string;
  readonly flag: string;
  readonly localtime: string;
  readonly askKernel: boolean;
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, bus, clock, config } = host;
    const { sku } = await services.device.info();
    const chosen = config.provider === 'auto' && sku.simulated ? 'sim' : config.provider;
    const asked = new Asked<Provider, WallTimeState>({
      what: 'the time of the system',
      log,
      look: (one) => one.look(),
      tell: (state) => void bus.publish('system.time', state),
    });
    const setZone = async (zone: string): Promise<void> => {
      checkZone(zone);
      await asked.one().setZone(zone);
      await asked.stir();
    };

    if (chosen === 'sim') await asked.take(new SimulatedTime());
    else {
      const kernel = config.askKernel ? await kernelClock() : undefined;
      const flag = new SetFlag({ scope, flag: config.flag, kernel, changed: asked.changed });
      await flag.begin();
      const files = (without: string, during: Scope) =>
        asked.take(
          new FilesTime({ scope: during, flag, localtime: config.localtime, changed: asked.changed, without }),
        );
      if (chosen === 'files') await files('timedated is not asked on this device', scope);
      else
        await followPeer({
          // It ends by itself when nobody asks, and the bus starts it for the next question.
          path: config.bus,
          name: TIMEDATED,
          scope,
          start: true,
          returns: true,
          there: async (peer, during) => asked.take(await Timedated.open(peer, during, flag, asked.changed)),
          async away(why, during) {
            if (chosen === 'timedated') asked.lost(why);
            else await files(why, during);
          },
        });
    }

    const service: WallTime = {
      status: () => asked.ask(async (one) => ({ provider: one.name, now: clock.now(), ...(await one.look()) })),
      setZone,
    };
    host.provide(wallTime, service);
    host.provide(wallTimeSimulator, {
      async simulate(state) {
        if (!(asked.provider instanceof SimulatedTime))
          throw new CoreError('UNAVAILABLE', {
            what: 'the simulated time',
            reason: 'the clock of this SKU is not simulated',
          });
        checkZone(state.zone);
        asked.provider.simulate(state);
        await asked.stir();
      },
    });
    for (const operation of timeOperations(service)) scope.use(operation.name, services.operations.add(operation));
    host.tap('health.collect', (report) => asked.tell(report, 'time'));
  },
});
