import { join } from 'node:path';
import { CoreError, definePlugin } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, HandleTable } from '@device-core/plugin-api/buses';
import { PerCaller } from '@device-core/plugin-api/operation-kit';
import { device } from '@device-core/plugin-api/services/device';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { type GpioHandle, gpio } from '@device-core/plugin-api/services/gpio';
import { operations } from '@device-core/plugin-api/services/operations';
import { Edges } from './edges.ts';
import { LineMemory } from './line-memory.ts';
import { Lines } from './lines.ts';
import { checkLine } from './messages.ts';
import { edgeStream, gpioOperations } from './operations.ts';

interface Settings {
  readonly handles: readonly GpioHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
  readonly edgeQueue: number;
}

export const plugin = definePlugin<{ operations: typeof operations; device: typeof device }, Settings>({
  requires: { operations, device },
  async setup(host, services) {
    const { handles, inFlightPerHandle, inFlightPerApp, edgeQueue } = host.config;
    const { capabilities, scope, log, bus } = host;
    const table = new HandleTable<GpioHandle>('GPIO');
    const user: BusUser<GpioHandle> = new BusUser(table, scope, {
      class: ENDPOINT_CLASS.gpio,
      perHandle: inFlightPerHandle,
      check: checkLine,
      onEvent: (endpoint, event) => edges.take(endpoint, event),
    });
    const { paths } = await services.device.info();
    const memory = await LineMemory.open(join(paths.var, 'gpio', 'lines.json'), scope, log);
    const lines = new Lines(table, user, memory);
    const edges = new Edges(table, log);
    user.registerListed(handles);
    user.onConfigure((row, options, boot) => lines.restore(row, options, boot));
    // Apps without a stream hear of edges on the bus, where the bus tells them of what they missed.
    scope.use(
      'edges for the bus',
      edges.add('*', (edge) => {
        try {
          bus.publish('gpio.edge', edge);
        } catch (error) {
          if (!(error instanceof CoreError) || error.code !== 'QUEUE_FULL') throw error;
          edges.countsOf(table.find(edge.handle)).lostEdges++;
        }
      }),
    );
    host.when(endpoints, (service, part) => user.attach(service, part));
    host.tap('health.collect', (report) => {
      report.add('gpio', user.health);
      memory.tell(report);
    });
    host.provide(gpio, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () => table.rows.map((row) => ({ ...row.handle, owner: row.owner, ...edges.countsOf(row) })),
      read: (name, options) => lines.read(name, options),
      write: (name, level, options) => lines.write(name, level, options),
      configure: (name, settings, options) => lines.configure(name, settings, options),
      onEdge: (name, listener) => edges.add(name, listener),
    });
    const perCaller = new PerCaller(inFlightPerApp);
    for (const operation of gpioOperations({ table, lines, edges, capabilities, perCaller }))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    const stream = edgeStream(edges, table, edgeQueue);
    scope.use(`stream ${stream.name}`, services.operations.addStream(stream));
  },
});
