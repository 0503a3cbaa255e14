/** Requests in the name of a handle: limits of caller and transfer, turns on the endpoint, and errors in words of the bus. */
import { CoreError } from '../../contract/errors.ts';
import type { Scope } from '../../contract/scope.ts';
import type { EndpointEvent, EndpointPlace, Endpoints } from '../../services/endpoints.ts';
import { maybe } from '../maybe.ts';
import { busError, isBusy } from './bus-error.ts';
import { executedIn } from './executed.ts';
import type { HandleRow } from './handle-table.ts';
import { Lane } from './lane.ts';

export interface BusCallOptions {
  readonly signal?: AbortSignal;
  /**
   * The caller's limit, milliseconds since the Unix epoch, the queue included; 30 s from now if absent or later than
   * that (decisions D4a).
   */
  readonly deadline?: number;
  /** It is a part of configuring a handle: everything else waits until that is done. */
  readonly first?: boolean;
}

export interface BusRequest extends BusCallOptions {
  readonly op: number;
  readonly body: Uint8Array;
  /**
   * The transfer's own limit, milliseconds from its first clock. What its bytes need on the link to the endpoint is
   * added twice, if not `fixed`.
   */
  readonly deadlineMs: number;
  /** The limit is the handle's own: it is taken as it is. */
  readonly fixed?: boolean;
  /** Bytes that the answer may have; 65,536 if absent. */
  readonly answerBytes?: number;
  /** Asks once more where the endpoint says that its queue is full. */
  readonly insist?: boolean;
}

export interface BusUserOptions<H> {
  /** That all endpoints of the bus have (ENDPOINT_CLASS). */
  readonly class: number;
  /** Requests that may be in flight for one handle. */
  readonly perHandle: number;
  /** Refuses a handle that cannot be. Throws the error of its registration. */
  readonly check?: (handle: H) => void;
  /** Hears of the events of every endpoint that has a handle, whatever comes and goes. */
  readonly onEvent?: (endpoint: string, event: EndpointEvent) => void;
  /** Name of a request in messages: `a request to I2C handle climate`, `the request to climate`. */
  readonly words?: { readonly one: (handle: string) => string; readonly the: (handle: string) => string };
  /** The error of a status of the endpoint, where the bus has a code of its own for it. */
  readonly refusal?: (status: string, handle: H, details: object, cause: ErrorOptions) => CoreError | undefined;
}

export interface Named {
  readonly name: string;
  readonly endpoint: string;
  /** Place where its endpoint must be; any if absent. */
  readonly where?: EndpointPlace | 'any';
}

/** An endpoint that can be used now. */
export interface Known {
  readonly class: number;
  readonly source: string;
  readonly where: EndpointPlace;
  readonly boot: string;
  readonly byteUs: number;
}

export const NO_SERVICE = 'no IO bridge is connected: no plugin provides the service endpoints';
/** Nobody waits longer, whatever it asks for (decisions D4a). */
const CALLER_MS = 30_000;
/** Time for an endpoint beyond a deadline to report the end; the host of CBP takes 250 ms (cbp.md section 7). */
const GUARD_MS = 400;
/** Time beyond the caller's limit for the answer whether it has begun. */
const ANSWER_MS = 250;
const RETRY_AFTER_MS = 100;
/**
 * A BUSY endpoint may be busy with a foreign request: then none of ours completes, and the second try comes after
 * this time.
 */
const BUSY_PATIENCE_MS = 50;

interface RequestParts<H> {
  readonly bus: string;
  readonly scope: Scope;
  readonly options: BusUserOptions<H>;
  readonly endpoints: () => Endpoints | undefined;
  readonly known: (endpoint: string) => Known | undefined;
  /** Work that a request waits for. */
  readonly before: (endpoint: string) => Promise<void> | undefined;
}

export class BusRequests<H extends Named> {
  readonly #parts: RequestParts<H>;
  readonly #lanes = new Map<string, Lane>();

  constructor(parts: RequestParts<H>) {
    this.#parts = parts;
  }

  async run(row: HandleRow<H>, request: BusRequest): Promise<Uint8Array> {
    const { handle } = row;
    const { name, endpoint } = handle;
    const { perHandle, refusal } = this.#parts.options;
    const no = { executed: 'no' };
    // Requests of the handle itself take no place of a caller.
    const place = request.first ? 0 : 1;
    if (place > 0 && row.inFlight >= perHandle)
      throw new CoreError('BUSY', { what: this.#one(name), limit: perHandle, retryAfterMs: RETRY_AFTER_MS, ...no });
    const { clock } = this.#parts.scope;
    const caller = Math.ceil(Math.min(CALLER_MS, (request.deadline ?? Number.POSITIVE_INFINITY) - clock.steady()));
    if (caller <= 0) throw new CoreError('TIMEOUT', { what: this.#the(name), ms: 0, clock: 'caller', ...no });
    const end = clock.monotonic() + caller;
    row.transfers += place;
    row.inFlight += place;
    try {
      if (!request.first) {
        const before = this.#parts.before(endpoint);
        if (before) await this.#settled(before, name, caller, request.signal);
      }
      const lane = this.#lane(endpoint);
      if (!request.insist) return await this.#send(lane, handle, request, end);
      try {
        return await this.#send(lane, handle, request, end);
      } catch (error) {
        const rest = end - clock.monotonic();
        if (!isBusy(error) || rest <= 0) throw error;
        await lane.next(Math.min(rest, BUSY_PATIENCE_MS));
        return await this.#send(lane, handle, request, end);
      }
    } catch (error) {
      row.errors += place;
      const cancelled = request.signal?.aborted ?? false;
      const told =
        refusal && ((status: string, details: object, cause: ErrorOptions) => refusal(status, handle, details, cause));
      const ms = { transfer: this.#limit(endpoint, request), caller };
      throw busError(error, { handle: name, what: this.#the(name), ms, cancelled, refusal: told });
    } finally {
      row.inFlight -= place;
    }
  }

  /** The transfer's own limit: that of the bus, and twice what its bytes need on a link that may be slow now. */
  #limit(endpoint: string, { deadlineMs, fixed = false, body, answerBytes = 0 }: BusRequest): number {
    const byteUs = fixed ? 0 : (this.#parts.known(endpoint)?.byteUs ?? 0);
    return Math.ceil(deadlineMs + (2 * byteUs * (body.length + answerBytes)) / 1_000);
  }

  /** `end` is the caller's limit on the monotonic clock. */
  async #send(lane: Lane, handle: H, request: BusRequest, end: number): Promise<Uint8Array> {
    const { name, endpoint } = handle;
    const { signal, answerBytes } = request;
    const endpoints = this.#parts.endpoints();
    if (!endpoints) throw new CoreError('NOT_INITIALIZED', { reason: NO_SERVICE });
    const known = this.#parts.known(endpoint);
    if (known && known.class !== this.#parts.options.class)
      throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'UNSUPPORTED' });
    if (known && isElsewhere(handle, known)) {
      const reason = `"where" of the handle is ${handle.where}, and ${endpoint} is on the ${known.where}`;
      throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'DENIED', reason });
    }
    const what = this.#the(name);
    const callerMs = Math.ceil(end - this.#parts.scope.clock.monotonic());
    if (callerMs <= 0) throw new CoreError('TIMEOUT', { what, ms: 0, clock: 'caller', executed: 'no' });
    const deadlineMs = this.#limit(endpoint, request);
    const options = {
      deadlineMs,
      callerMs,
      ...maybe({ signal, answerBytes }),
    };
    // Endpoints keep both limits themselves, that of the transfer from its turn. Should one not, nobody waits longer
    // than all before it may take.
    const mine = deadlineMs + GUARD_MS;
    const all = lane.enter(mine);
    const clock = all < callerMs + ANSWER_MS ? 'transfer' : 'caller';
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const late = this.#parts.scope.timeout(what, Math.min(all, callerMs + ANSWER_MS), () =>
      reject(new CoreError('TIMEOUT', { what, clock, executed: 'unknown' })),
    );
    let goesOn = false;
    try {
      // Not scope.within(): what is under way when the plugin stops is on the wire and comes to its end.
      endpoints.request(endpoint, request.op, request.body, options).then(resolve, reject);
      return await promise;
    } catch (error) {
      goesOn = goesOnAfter(error);
      throw error;
    } finally {
      late[Symbol.dispose]();
      if (goesOn && !this.#parts.scope.signal.aborted) this.#parts.scope.timeout(what, mine, () => lane.leave(mine));
      else lane.leave(mine);
    }
  }

  /** Resolves when handles have been configured, or the caller has no more time. */
  #settled(opening: Promise<void>, name: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = () => resolve();
    const late = this.#parts.scope.timeout(`${this.#one(name)}, before it`, ms, over);
    signal?.addEventListener('abort', over, { once: true });
    opening.then(over, over);
    return promise.finally(() => {
      late[Symbol.dispose]();
      signal?.removeEventListener('abort', over);
    });
  }

  #one(name: string): string {
    return this.#parts.options.words?.one(name) ?? `a request to ${this.#parts.bus} handle ${name}`;
  }

  #the(name: string): string {
    return this.#parts.options.words?.the(name) ?? `the request to ${name}`;
  }

  #lane(endpoint: string): Lane {
    const known = this.#lanes.get(endpoint);
    if (known) return known;
    const lane = new Lane(this.#parts.scope, endpoint);
    this.#lanes.set(endpoint, lane);
    return lane;
  }
}

export function isElsewhere({ where = 'any' }: Named, known: Known): boolean {
  return where !== 'any' && where !== known.where;
}

/** The caller has its answer, and what it asked for may be on the wire still. */
function goesOnAfter(error: unknown): boolean {
  return (
    error instanceof CoreError &&
    error.code === 'TIMEOUT' &&
    error.details.clock === 'caller' &&
    executedIn(error) === 'unknown'
  );
}
