import type { Caller, PluginHost, ServesEachUser, ServiceUser } from '@device-core/plugin-api';
import { FOR_USER, steadyMs } from '@device-core/plugin-api';
import { type OperationGate, operationGate, Schemas } from '@device-core/plugin-api/inside/operations';
import type {
  Invocation,
  Operation,
  Operations,
  StreamChannel,
  StreamEndpoint,
} from '@device-core/plugin-api/services/operations';
import { STARTS, type Starts } from './entries.ts';

export const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const TIMEOUT_MS = 30_000;
/** Compiled once for all tests of a file. */
const schemas = new Schemas({ atOnce: true });

/**
 * The service `operations` for tests of one plugin: give it to createTestHost(), which makes it the table and the gate
 * of the device. Who calls needs the capability, params get their defaults, and neither params nor results may have a
 * member that their schema does not know.
 */
export class TestOperations implements Operations, ServesEachUser<Operations>, Starts {
  #gate: OperationGate | undefined;

  [STARTS]({ capabilities, scope, log, hook }: PluginHost): void {
    this.#gate = operationGate({
      capabilities,
      scope,
      log,
      before: hook('operation.before'),
      confirm: hook('operation.confirm'),
      checkResults: () => true,
      schemas,
    });
  }

  [FOR_USER](user: ServiceUser): Operations {
    return this.#open.service[FOR_USER](user);
  }

  /** Names of the operations and streams that are there now, each of the two sorted. */
  get names(): readonly string[] {
    const { table } = this.#open;
    return [...table.list(), ...table.streams()].map(({ name }) => name);
  }

  /**
   * Calls an operation, as the operator if no caller is named. Rejects with a CoreError; it is INTERNAL if the result
   * does not fit its schema.
   */
  async run<R = Record<string, unknown>>(name: string, params: object, call: Partial<Invocation> = {}): Promise<R> {
    return (await this.invoke(name, params, invocation(call))) as R;
  }

  /** Opens a stream, writes the chunks, closes it, and resolves with what came back when the stream is over. */
  async stream(
    name: string,
    params: object,
    chunks: readonly Uint8Array[] = [],
    call: Partial<Invocation> = {},
  ): Promise<readonly Uint8Array[]> {
    const sent: Uint8Array[] = [];
    const over = new AbortController();
    const channel: StreamChannel = {
      id: 'test',
      signal: over.signal,
      incoming: (async function* () {
        yield* chunks;
      })(),
      send: async (chunk) => void sent.push(chunk),
    };
    const { done } = await this.openStream(name, params, channel, call);
    try {
      await done;
    } finally {
      over.abort();
    }
    return sent;
  }

  openStream(name: string, params: unknown, channel: StreamChannel, call: Partial<Invocation> = {}) {
    return this.#open.service.openStream(name, params, channel, invocation(call));
  }

  add(operation: Operation<never, unknown>): Disposable {
    return this.#open.service.add(operation);
  }

  addStream(endpoint: StreamEndpoint<never>): Disposable {
    return this.#open.service.addStream(endpoint);
  }

  invoke(name: string, params: unknown, call: Invocation): Promise<unknown> {
    return this.#open.service.invoke(name, params, call);
  }

  list() {
    return this.#open.service.list();
  }

  streams() {
    return this.#open.service.streams();
  }

  watch(listener: Parameters<Operations['watch']>[0]): Disposable {
    return this.#open.service.watch(listener);
  }

  permitted(name: string, call: Invocation) {
    return this.#open.service.permitted(name, call);
  }

  get #open(): OperationGate {
    if (this.#gate) return this.#gate;
    throw new TypeError('give these operations to createTestHost() first');
  }
}

function invocation(call: Partial<Invocation>): Invocation {
  return { caller: OPERATOR, signal: new AbortController().signal, deadline: steadyMs() + TIMEOUT_MS, ...call };
}
