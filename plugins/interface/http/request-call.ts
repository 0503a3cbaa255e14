/** One request as the gate sees it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Caller, CoreError, type Invocation, LazyAbort, type OperationInfo } from '@device-core/plugin-api';
import { parseTraceparent, type TraceContext } from '@device-core/plugin-api/tracing';

export class RequestCall implements Invocation {
  readonly operation: OperationInfo;
  readonly caller: Caller;
  /** A REST caller sets none: the operation's own time limit applies. */
  readonly deadline = Number.MAX_SAFE_INTEGER;
  /** Who calls may not, whatever the params; they are read only to name what is missing. */
  refusal: CoreError | undefined;
  /** What the header `traceparent` names. Only the operator's is the parent of what is done here. */
  readonly trace: TraceContext | undefined;
  readonly #response: ServerResponse;
  #abort: LazyAbort | undefined;

  constructor(operation: OperationInfo, caller: Caller, request: IncomingMessage, response: ServerResponse) {
    this.operation = operation;
    this.caller = caller;
    this.#response = response;
    const { traceparent } = request.headers;
    this.trace = traceparent === undefined ? undefined : traceOf(traceparent, caller);
  }

  /** Aborted when the client goes away before it has its answer. Made when first asked for: most requests are done by then. */
  get signal(): AbortSignal {
    this.#abort ??= new LazyAbort(() => this.#follow());
    return this.#abort.signal;
  }

  #follow(): void {
    const response = this.#response;
    const gone = (): void => {
      if (response.writableFinished) return;
      const details = { what: this.operation.name, reason: 'the client closed the connection' };
      this.#abort?.abort(new CoreError('CANCELLED', details));
    };
    if (response.closed || response.destroyed || response.socket?.destroyed) gone();
    else response.once('close', gone);
  }
}

function traceOf(traceparent: unknown, { kind }: Caller): TraceContext | undefined {
  const trace = parseTraceparent(traceparent);
  return trace && { ...trace, remote: kind === 'operator' ? 'parent' : 'link' };
}
