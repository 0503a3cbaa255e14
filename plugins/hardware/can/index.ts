import { CoreError, definePlugin, type Priority } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, HandleTable } from '@device-core/plugin-api/buses';
import { Listeners, PerCaller } from '@device-core/plugin-api/operation-kit';
import { type CanArrival, type CanHandle, can } from '@device-core/plugin-api/services/can';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { Buses } from './buses.ts';
import { Filters } from './filters.ts';
import { canOperations, receiveStream, told } from './operations.ts';

interface Settings {
  readonly handles: readonly CanHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
  readonly frameQueue: number;
  readonly events: boolean;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { handles, inFlightPerHandle, inFlightPerApp, frameQueue, events } = host.config;
    const { capabilities, scope, log, bus } = host;
    const table = new HandleTable<CanHandle>('CAN');
    const user: BusUser<CanHandle> = new BusUser(table, scope, {
      class: ENDPOINT_CLASS.can,
      perHandle: inFlightPerHandle,
      check: (handle) => buses.check(handle),
      onEvent: (endpoint, event) => buses.take(endpoint, event),
    });
    const listeners = new Listeners<CanArrival>(log);
    const publish = (topic: string, payload: object, priority: Priority) => {
      try {
        bus.publish(topic, payload, priority);
        return true;
      } catch (error) {
        if (!(error instanceof CoreError) || error.code !== 'QUEUE_FULL') throw error;
        return false;
      }
    };
    const buses = new Buses({
      table,
      user,
      filters: new Filters({ table, user, scope, always: events }),
      listeners,
      onFrame(handle, frame) {
        if (events && !publish('can.frame', { handle, ...told(frame) }, 'normal'))
          buses.countsOf(table.find(handle)).lost++;
      },
      onState(endpoint, state, errors) {
        const level = state === 'bus-off' ? 'warn' : 'info';
        log[level]({ endpoint, state, errors }, `the CAN controller of ${endpoint} is ${state}`);
        publish('can.state', { endpoint, state, errors }, 'high');
      },
    });
    user.registerListed(handles);
    user.onConfigure((row, options) => buses.apply(row, options));
    host.when(endpoints, (service, part) => user.attach(service, part));
    host.tap('health.collect', (report) => report.add('can', user.health));
    host.provide(can, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () =>
        table.rows.map((row) => ({
          ...row.handle,
          owner: row.owner,
          state: buses.state(row.handle.endpoint),
          ...buses.countsOf(row),
        })),
      send: (name, frame, options) => buses.send(name, frame, options),
      onFrame: (name, listener) => buses.listen(name, listener),
    });
    const perCaller = new PerCaller(inFlightPerApp);
    for (const operation of canOperations({ table, buses, capabilities, perCaller }))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    const stream = receiveStream(table, buses, frameQueue);
    scope.use(`stream ${stream.name}`, services.operations.addStream(stream));
  },
});
