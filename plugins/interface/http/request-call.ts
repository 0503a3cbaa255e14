/** One request as the gate sees it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Caller, CoreError, LazyAbort, steadyMs } from '@device-core/plugin-api';
import type { Invocation, OperationInfo } from '@device-core/plugin-api/services/operations';
import { parseTraceparent, type TraceContext } from '@device-core/plugin-api/tracing';

/** How long the answer is worth something (decisions D9b), as `meta.deadlineMs` over JSON-RPC; the operation's own limit holds anyway. */
const DEADLINE = 'device-deadline-ms';
const MS = /^\d{1,15}(\.\d{1,9})?$/;

export class RequestCall implements Invocation {
  readonly operation: OperationInfo;
  readonly caller: Caller;
  /** Far away where the header cannot be read: a timer would take NaN for now, and answer TIMEOUT before `wrong` is. */
  readonly deadline: number;
  /** The request cannot be taken as it is, whatever its operation. */
  readonly wrong: CoreError | undefined;
  /** Refusal of the caller, whatever the params; they are read only to name the missing right. */
  refusal: CoreError | undefined;
  /** Trace of the header `traceparent`. Only the operator's is the parent of spans here. */
  readonly trace: TraceContext | undefined;
  readonly #response: ServerResponse;
  #abort: LazyAbort | undefined;

  constructor(operation: OperationInfo, caller: Caller, request: IncomingMessage, response: ServerResponse) {
    this.operation = operation;
    this.caller = caller;
    this.#response = response;
    const { traceparent, [DEADLINE]: ms } = request.headers;
    const isWrong = ms !== undefined && !MS.test(String(ms));
    this.deadline = ms === undefined || isWrong ? Number.MAX_SAFE_INTEGER : steadyMs() + Number(ms);
    this.wrong = isWrong
      ? new CoreError('REQUEST_INVALID', {
          reason: 'the header Device-Deadline-Ms must be a number of milliseconds',
        })
      : undefined;
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
