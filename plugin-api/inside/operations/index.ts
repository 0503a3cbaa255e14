/**
 * The table of operations and its gate, for the plugin that provides the service `operations` and for the test kit:
 * both answer the same.
 */
import { type Capabilities, FOR_USER, type Scope, type ServesEachUser, type ServiceUser } from '../../index.ts';
import { checkedTrace, Tracer } from '../../kits/tracing/index.ts';
import type { Invocation, Operations } from '../../services/operations.ts';
import { Gate, type GateOptions } from './gate.ts';
import { InFlight } from './in-flight.ts';
import { checkOwnOperation, checkOwnStream } from './own.ts';
import { Schemas } from './schema.ts';
import { Table } from './table.ts';

export type { Refused } from './own.ts';
export { Schemas } from './schema.ts';
export type { Table } from './table.ts';

export interface OperationGateOptions extends GateOptions {
  readonly capabilities: Capabilities;
  /** Calls in flight end with it. */
  readonly scope: Scope;
  /** Tracer of calls, where traces are kept. */
  readonly tracer?: Tracer;
  /** Shared by those who compile the same schemas again and again. */
  readonly schemas?: Schemas;
}

export interface OperationGate {
  readonly table: Table;
  /** Service for plugins; each plugin that adds to it is known by its id. */
  readonly service: Operations & ServesEachUser<Operations>;
  /** Answers that came after their deadline or cancellation, and were dropped. */
  late(): number;
}

export function operationGate(options: OperationGateOptions): OperationGate {
  const { capabilities, scope, log, schemas = new Schemas(), tracer = new Tracer(scope.clock) } = options;
  const inFlight = new InFlight(scope, tracer);
  const table = new Table(schemas, capabilities, scope, log, (entry) =>
    inFlight.endAll((call) => call.name === entry.name, 'its plugin is stopping'),
  );
  const gate = new Gate(table, inFlight, options);
  const judge = { table, capabilities, refused: options.refused };
  const serviceFor = (user?: ServiceUser): Operations => ({
    add(operation) {
      checkOwnOperation(operation, user, judge);
      return table.add(operation, user);
    },
    addStream(endpoint) {
      checkOwnStream(endpoint, user, judge);
      return table.addStream(endpoint, user);
    },
    list: async () => table.list(),
    streams: async () => table.streams(),
    watch: (listener) => table.watch(listener),
    permitted: async (name, call) => gate.permitted(name, own(call, user)),
    invoke: (name, params, call) => gate.invoke(name, params, own(call, user)),
    openStream: (name, params, channel, call) => gate.openStream(name, params, channel, own(call, user)),
  });
  return { table, service: Object.assign(serviceFor(), { [FOR_USER]: serviceFor }), late: () => gate.late };
}

/** Front ends of the Core call for others; a plugin from outside calls as itself, without a session. */
function own(call: Invocation, user: ServiceUser | undefined): Invocation {
  if (!user?.outside) return call;
  const { signal, deadline } = call;
  return { caller: { kind: 'plugin', id: user.plugin }, signal, deadline, trace: checkedTrace(call.trace) };
}
