/** One request as the gate sees it. */
import type { ServerResponse } from 'node:http';
import { type Caller, CoreError, type Invocation, type OperationInfo } from '@device-core/plugin-api';

export class RequestCall implements Invocation {
  readonly operation: OperationInfo;
  readonly caller: Caller;
  /** A REST caller sets none: the operation's own time limit applies. */
  readonly deadline = Number.MAX_SAFE_INTEGER;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(operation: OperationInfo, caller: Caller, response: ServerResponse) {
    this.operation = operation;
    this.caller = caller;
    this.#response = response;
  }

  /** Aborted when the client goes away before it has its answer. Made when first asked for: most requests are done by then. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController();
      this.#controller = controller;
      const response = this.#response;
      const gone = (): void => {
        if (response.writableFinished) return;
        controller.abort(
          new CoreError('CANCELLED', { what: this.operation.name, reason: 'the client closed the connection' }),
        );
      };
      if (response.closed || response.destroyed || response.socket?.destroyed) gone();
      else response.once('close', gone);
    }
    return this.#controller.signal;
  }
}
