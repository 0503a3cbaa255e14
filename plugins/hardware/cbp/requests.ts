/** Requests to endpoints by their label, with errors of the one table. */
import { CoreError, maybe } from '@device-core/plugin-api';
import type { EndpointRow } from './endpoint-table.ts';
import type { Host } from './host.ts';
import { STATUS, statusError } from './status.ts';

/** Milliseconds that the host waits for an answer where the caller leaves the deadline to the endpoint. */
const PATIENCE_MS = 5_000;
const ANSWER_LIMIT = 65_536;

export interface RequestLimits {
  readonly deadlineMs?: number;
  readonly callerMs?: number;
  readonly signal?: AbortSignal;
  readonly answerBytes?: number;
}

export class Requests {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** `what` it is, for messages. */
  async send(
    endpoint: string,
    op: number,
    body: Uint8Array,
    { deadlineMs = 0, callerMs, signal, answerBytes = ANSWER_LIMIT }: RequestLimits,
    what = `request ${op} to ${endpoint}`,
  ): Promise<Uint8Array> {
    const channel = this.#host.channel(this.row(endpoint));
    if (!channel) throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'NO_ENDPOINT', executed: 'no' });
    const ms = Math.ceil(deadlineMs);
    const failed = { endpoint, what, deadlineMs: ms || PATIENCE_MS };
    if (signal?.aborted) throw statusError(STATUS.CANCELLED, { ...failed, executed: 'no' });
    const patienceMs = failed.deadlineMs;
    const limits = { deadlineMs: ms, patienceMs, answerLimit: answerBytes };
    const request = channel.submit({ op, body, ...limits, ...maybe({ callerMs }) });
    const cancel = () => channel.cancel(request);
    signal?.addEventListener('abort', cancel, { once: true });
    const outcome = await request.outcome.finally(() => signal?.removeEventListener('abort', cancel));
    if (outcome.status === STATUS.OK) return outcome.body;
    const { status, executed, clock } = outcome;
    throw statusError(status, { ...failed, executed, clock, ...(clock === 'caller' ? { deadlineMs: callerMs! } : {}) });
  }

  /** Throws NOT_INITIALIZED, BRIDGE_FAILED. */
  row(endpoint: string): EndpointRow {
    const row = this.rows().find(({ name }) => name === endpoint);
    if (!row) throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'NO_ENDPOINT', executed: 'no' });
    return row;
  }

  /** Throws NOT_INITIALIZED while the link is not up. */
  rows(): readonly EndpointRow[] {
    const { rows, state } = this.#host;
    if (rows) return rows;
    throw statusError(STATUS.LINK_DOWN, {
      endpoint: '',
      what: '',
      deadlineMs: 0,
      reason: `the bridge link is ${state === 'hello' ? 'not up yet' : state} (${this.#host.link.reason ?? 'reading the endpoint table'})`,
    });
  }
}
