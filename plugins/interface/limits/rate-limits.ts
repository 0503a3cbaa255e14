/** Which rate applies to a call (decisions D8): the operation's own over every front end, else that of REST. */
import { type CallContext, type Caller, type Clock, CoreError, callerName } from '@device-core/plugin-api';
import { type Rate, TokenBuckets } from './token-buckets.ts';

/** Simulators and test benches ask more than a device in the field. */
const GENEROUS = 20;

export interface LimitsConfig {
  readonly generous: boolean;
  readonly operator: 'exempt' | 'limited';
  readonly rest: Rate;
  readonly operations: Readonly<Record<string, Rate>>;
  readonly callers: number;
}

export class RateLimits {
  refused = 0;
  readonly #buckets: TokenBuckets;
  readonly #rest: Rate;
  readonly #operations: ReadonlyMap<string, Rate>;
  readonly #limitOperator: boolean;

  constructor(config: LimitsConfig, clock: Clock) {
    const factor = config.generous ? GENEROUS : 1;
    const scaled = ({ perMinute, burst }: Rate): Rate => ({ perMinute: perMinute * factor, burst: burst * factor });
    this.#buckets = new TokenBuckets(config.callers, () => clock.monotonic());
    this.#rest = scaled(config.rest);
    this.#operations = new Map(Object.entries(config.operations).map(([name, rate]) => [name, scaled(rate)]));
    this.#limitOperator = config.operator === 'limited';
  }

  /** The refusal, if any. A JSON-RPC session is bounded by its calls in flight, so that only single operations are limited there. */
  refusal(operation: string, { caller, session }: CallContext): CoreError | undefined {
    if (caller.kind === 'plugin' || (caller.kind === 'operator' && !this.#limitOperator)) return undefined;
    const own = this.#operations.get(operation);
    if (!own && session) return undefined;
    const rate = own ?? this.#rest;
    const name = callerName(caller);
    const key = keyOf(caller, name);
    const retryAfterMs = this.#buckets.take(own ? `${key} ${operation}` : key, rate);
    if (retryAfterMs === 0) return undefined;
    this.refused++;
    const limit = `${rate.perMinute} a minute (${rate.burst} at once)`;
    const what = own ? operation : 'REST requests';
    return new CoreError('RATE_LIMITED', { caller: name, limit, what, retryAfterMs });
  }
}

/** Callers without identity have a rate for each connection: one of them must not use up that of a person who signs in. */
function keyOf({ peer }: Caller, name: string): string {
  if (peer?.tcp) return `${name} ${peer.tcp.remoteAddress} ${peer.tcp.remotePort}`;
  return peer?.uid === undefined ? name : `${name} ${peer.uid}`;
}
