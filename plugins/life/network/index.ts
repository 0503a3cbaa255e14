import { CoreError, definePlugin, maybe, type Scope } from '@device-core/plugin-api';
import { followPeer } from '@device-core/plugin-api/inside/dbus-peer';
import { Asked } from '@device-core/plugin-api/inside/remote-fact';
import { networkSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { device } from '@device-core/plugin-api/services/device';
import { type Network, type NetworkState, network } from '@device-core/plugin-api/services/network';
import { operations } from '@device-core/plugin-api/services/operations';
import { NetworkManager } from './network-manager.ts';
import { NM } from './nm-names.ts';
import { networkOperations } from './operations.ts';
import type { Provider } from './provider.ts';
import { KernelNetwork } from './rtnetlink.ts';
import { SimulatedNetwork } from './simulated.ts';

interface Settings {
  readonly provider: 'auto' | Provider['name'];
  readonly bus: string;
  readonly sys: string;
  readonly proc: string;
  readonly events?: string;
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, bus, config } = host;
    const { sku } = await services.device.info();
    const chosen = config.provider === 'auto' && sku.simulated ? 'sim' : config.provider;
    const asked = new Asked<Provider, NetworkState>({
      what: 'the network',
      log,
      look: (one) => one.state(),
      tell: (state) => void bus.publish('system.network', state),
    });

    const { sys, proc, events } = config;
    const kernel = async (without: string, during: Scope) => {
      const asks = { sys, proc, ...maybe({ events }), changed: asked.changed, without };
      await asked.take(await KernelNetwork.open({ ...asks, scope: during }));
    };
    if (chosen === 'sim') await asked.take(new SimulatedNetwork(asked.changed));
    else if (chosen === 'rtnetlink') await kernel('NetworkManager is not asked on this device', scope);
    else
      await followPeer({
        path: config.bus,
        name: NM,
        scope,
        there: async (peer, during) => asked.take(await NetworkManager.open(peer, during, asked.changed)),
        // The kernel stands in while NetworkManager is away, unless the SKU wants nobody else.
        async away(why, during) {
          if (chosen === 'networkmanager') asked.lost(why);
          else await kernel(why, during);
        },
      });

    const service: Network = {
      status: () => asked.ask(async (one) => ({ provider: one.name, ...(await one.look()) })),
      networks: () => asked.ask((one) => one.networks()),
      join: (ssid, passphrase) => asked.ask((one) => one.join(ssid, passphrase === '' ? undefined : passphrase)),
      forget: (ssid) => asked.ask((one) => one.forget(ssid)),
    };
    host.provide(network, service);
    host.provide(networkSimulator, {
      async simulate(state) {
        if (!(asked.provider instanceof SimulatedNetwork))
          throw new CoreError('UNAVAILABLE', {
            what: 'the simulated network',
            reason: 'the network here is a real one',
          });
        asked.provider.simulate(state);
        await asked.stir();
      },
    });
    for (const operation of networkOperations(service)) scope.use(operation.name, services.operations.add(operation));
    host.tap('health.collect', (report) => {
      const { provider } = asked;
      const deaf = provider instanceof KernelNetwork ? provider.deaf : undefined;
      asked.tell(report, 'network', deaf && `changes are seen once a minute: ${deaf}`);
    });
  },
});
