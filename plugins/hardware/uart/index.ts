import { definePlugin } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, HandleTable } from '@device-core/plugin-api/buses';
import { Listeners, PerCaller } from '@device-core/plugin-api/operation-kit';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { type UartChunk, type UartHandle, uart } from '@device-core/plugin-api/services/uart';
import { receiveStream, uartOperations } from './operations.ts';
import { Ports } from './ports.ts';

interface Settings {
  readonly handles: readonly UartHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
  readonly bufferBytes: number;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { handles, inFlightPerHandle, inFlightPerApp, bufferBytes } = host.config;
    const { capabilities, scope, log, bus } = host;
    const table = new HandleTable<UartHandle>('UART');
    const user: BusUser<UartHandle> = new BusUser(table, scope, {
      class: ENDPOINT_CLASS.uart,
      perHandle: inFlightPerHandle,
      check: (handle) => ports.check(handle),
      onEvent: (endpoint, event) => ports.take(endpoint, event),
    });
    const listeners = new Listeners<UartChunk>(log);
    const onError = (handle: string, errors: readonly string[]) => {
      log.warn({ handle, errors }, `errors on serial line ${handle}: ${errors.join(', ')}`);
      bus.publish('uart.error', { handle, errors }, 'low');
    };
    const ports = new Ports({ table, user, listeners, scope, bufferBytes, onError });
    user.registerListed(handles);
    user.onConfigure((row, options) => ports.apply(row, row.handle, options));
    host.when(endpoints, (service, part) => user.attach(service, part));
    host.tap('health.collect', (report) => report.add('uart', user.health));
    host.provide(uart, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () =>
        table.rows.map((row) => {
          const { written, received, lost, lostPackets, lineErrors } = ports.portOf(row);
          return { ...row.handle, owner: row.owner, written, received, lost, lostPackets, lineErrors };
        }),
      write: (name, bytes, options) => ports.write(name, bytes, options),
      configure: (name, settings, options) => ports.configure(name, settings, options),
      onReceive: (name, listener) => listeners.add(name, listener),
    });
    const perCaller = new PerCaller(inFlightPerApp);
    for (const operation of uartOperations({ table, ports, capabilities, perCaller }))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    const stream = receiveStream(table, listeners, bufferBytes, (handle, bytes) => {
      ports.portOf(table.find(handle)).lost += bytes;
      log.warn({ handle, bytes }, `the reader of a stream of ${handle} is too slow: ${bytes} bytes were dropped`);
    });
    scope.use(`stream ${stream.name}`, services.operations.addStream(stream));
  },
});
