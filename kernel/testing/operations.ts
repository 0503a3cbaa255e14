import type {
  CallContext,
  Caller,
  Invocation,
  Operation,
  Operations,
  StreamChannel,
  StreamEndpoint,
} from '@device-core/plugin-api';
import { CoreError, toCoreError } from '@device-core/plugin-api';
import { Ajv } from 'ajv';

export const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const TIMEOUT_MS = 30_000;
const quiet = () => undefined;
const LOG = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A table of operations for tests of one plugin: it keeps what is added, and run() and stream() check params and results by their schemas. */
export class TestOperations implements Operations {
  readonly #operations = new Map<string, Operation<never, unknown>>();
  readonly #streams = new Map<string, StreamEndpoint<never>>();

  /** Names of the operations and streams that are there now. */
  get names(): readonly string[] {
    return [...this.#operations.keys(), ...this.#streams.keys()];
  }

  add(operation: Operation<never, unknown>): Disposable {
    return keep(this.#operations, operation);
  }

  addStream(endpoint: StreamEndpoint<never>): Disposable {
    return keep(this.#streams, endpoint);
  }

  /** Calls an operation, as the operator if nobody else is named. Rejects with a CoreError, or because the result does not fit its schema. */
  async run(name: string, params: object, call: Partial<Invocation> = {}): Promise<unknown> {
    const operation = find(this.#operations, name);
    check(operation.params, params, 'params');
    let result: unknown;
    try {
      result = await operation.run(params as never, context(call));
    } catch (error) {
      throw toCoreError(error, name);
    }
    check(operation.result, result, `the result of ${name}`);
    return result;
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

  async openStream(
    name: string,
    params: unknown,
    channel: StreamChannel,
    call: Partial<Invocation> = {},
  ): Promise<{ readonly done: Promise<void> }> {
    const endpoint = find(this.#streams, name);
    check(endpoint.params, params, 'params');
    return { done: endpoint.run(params as never, channel, context(call)) };
  }

  invoke(name: string, params: unknown, call: Invocation): Promise<unknown> {
    return this.run(name, params as object, call);
  }

  async list(): Promise<readonly Operation<never, unknown>[]> {
    return [...this.#operations.values()];
  }

  async streams(): Promise<readonly StreamEndpoint<never>[]> {
    return [...this.#streams.values()];
  }

  watch(listener: (operations: readonly Operation<never, unknown>[]) => void): Disposable {
    listener([...this.#operations.values()]);
    return { [Symbol.dispose]: quiet };
  }

  async permitted(): Promise<undefined> {
    return undefined;
  }
}

function keep<T extends { readonly name: string }>(table: Map<string, T>, row: T): Disposable {
  const { name } = row;
  if (table.has(name)) throw new CoreError('OPERATION_CONFLICT', { name, what: 'the name' });
  table.set(name, row);
  return { [Symbol.dispose]: () => void table.delete(name) };
}

function find<T>(table: ReadonlyMap<string, T>, name: string): T {
  const row = table.get(name);
  if (!row) throw new CoreError('METHOD_NOT_FOUND', { name });
  return row;
}

function check(schema: object, value: unknown, where: string): void {
  const ajv = new Ajv({ strict: false });
  if (!ajv.validate({ ...schema }, value)) throw new CoreError('PARAMS_INVALID', { where, reason: ajv.errorsText() });
}

function context(call: Partial<Invocation>): CallContext {
  return {
    caller: OPERATOR,
    signal: new AbortController().signal,
    deadline: Date.now() + TIMEOUT_MS,
    log: LOG,
    ...call,
  };
}
