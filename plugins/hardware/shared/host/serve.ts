/** The buses of one host plugin, each a source of endpoints and a part of its health. */
import type { PluginHost } from '@device-core/plugin-api';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { KernelCalls } from './calls.ts';
import { type DeviceEars, HostBus, type HostDevice } from './host-bus.ts';

export interface HostClass<B> {
  /** Class of the endpoints (docs/cbp.md section 11). */
  readonly class: number;
  readonly maxTransfer: number;
  readonly buses: readonly B[];
  /** Calls of the kernel, asked for by each attempt to open: they may come later. */
  readonly calls: () => Promise<KernelCalls>;
  readonly open: (bus: B, calls: KernelCalls, ears: DeviceEars) => HostDevice | Promise<HostDevice>;
}

type Host = Pick<PluginHost, 'id' | 'scope' | 'log' | 'when'>;

/** Opens the buses and serves them. Resolves with their health, to be tapped. */
export async function serveBuses<B extends { readonly name: string; readonly path: string }>(
  host: Host,
  { buses: listed, calls, open, ...about }: HostClass<B>,
): Promise<(report: HealthReport) => void> {
  const { id: plugin, scope, log } = host;
  const buses = listed.map((bus) => {
    const named = { plugin, endpoint: bus.name, path: bus.path };
    const source = new HostBus({
      ...named,
      ...about,
      scope,
      log,
      open: async (ears) => open(bus, await calls(), ears),
    });
    return scope.use(`host bus ${bus.name}`, source);
  });
  await Promise.all(buses.map((bus) => bus.start()));
  host.when(endpoints, async (hub, part) => {
    for (const bus of buses) await part.use(`source ${bus.name}`, hub.serve(bus));
  });
  return (report) => {
    report.add(plugin, { status: 'okay' });
    for (const bus of buses) report.add(`${plugin}.${bus.endpoint}`, bus.health);
  };
}
