/** Transfers on their way to the bridge: bounds, deadlines, the one retry that BUSY earns. */
import { type Bridge, CoreError, type Scope, type SpiHandle, type SpixTransfer } from '@device-core/plugin-api';
import type { HandleTable } from './handles.ts';
import { isBridgeBusy, transferError } from './transfer-error.ts';

export const MAX_BYTES = 65_536;
const MAX_DEADLINE_MS = 5_000;
const SLACK_MS = 100;
/** What a bridge may take beyond a deadline to tell that it is over; the host of CBP takes 250 ms (cbp.md section 6). */
const GUARD_MS = 400;
/** What is in the way of a BUSY endpoint may be somebody else's: then nothing of ours completes, and the retry comes after this time. */
const BUSY_PATIENCE_MS = 50;

export interface TransferOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds since the Unix epoch. */
  readonly deadline?: number;
}

export class Transfers {
  readonly #table: HandleTable;
  readonly #scope: Scope;
  readonly #perHandle: number;
  /** Endpoint -> those who wait for the next completion on it. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Endpoint -> milliseconds that the transfers on it may take, one after the other. */
  readonly #owed = new Map<string, number>();
  #bridge: Bridge | undefined;

  constructor(table: HandleTable, scope: Scope, perHandle: number) {
    this.#table = table;
    this.#scope = scope;
    this.#perHandle = perHandle;
  }

  attach(bridge: Bridge, scope: Scope): void {
    this.#bridge = bridge;
    scope.defer('bridge in use', () => {
      if (this.#bridge === bridge) this.#bridge = undefined;
    });
  }

  async transfer(name: string, tx: Uint8Array, rxLength: number, options: TransferOptions = {}): Promise<Uint8Array> {
    const row = this.#table.find(name);
    checkLengths(tx, rxLength);
    if (row.inFlight >= this.#perHandle) {
      throw new CoreError('BUSY', { what: `a transfer on ${name}`, limit: this.#perHandle });
    }
    const deadlineMs = this.#deadline(row.handle, Math.max(tx.length, rxLength), options.deadline);
    row.inFlight += 1;
    row.transfers += 1;
    try {
      return await this.#run(row.handle, tx, rxLength, deadlineMs, options.signal);
    } catch (error) {
      row.errors += 1;
      throw transferError(error, row.handle, deadlineMs, options.signal?.aborted ?? false);
    } finally {
      row.inFlight -= 1;
      for (const wake of this.#waiting.get(row.handle.endpoint) ?? []) wake();
    }
  }

  /** Wire time x 2 + 100 ms, at most 5 s unless the handle sets its own (D4); never more than the caller has left. */
  #deadline(handle: SpiHandle, bytes: number, callerDeadline: number | undefined): number {
    const wireMs = (bytes * 8_000) / handle.speed;
    const own = handle.deadlineMs ?? Math.min(Math.ceil(2 * wireMs) + SLACK_MS, MAX_DEADLINE_MS);
    if (callerDeadline === undefined) return own;
    const left = callerDeadline - Date.now();
    if (left <= 0) throw new CoreError('TIMEOUT', { what: `transfer on ${handle.name}`, ms: 0 });
    return Math.min(own, left);
  }

  async #run(
    handle: SpiHandle,
    tx: Uint8Array,
    rxLength: number,
    deadlineMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    const end = Date.now() + deadlineMs;
    const transfer: SpixTransfer = {
      cs: handle.cs,
      mode: handle.mode as SpixTransfer['mode'],
      speedHz: handle.speed,
      ...(handle.atomic !== undefined && { atomic: handle.atomic }),
      tx,
      rxLength,
    };
    const send = (ms: number) => {
      const reason = 'no IO bridge is connected: no plugin provides the service bridge';
      if (!this.#bridge) throw new CoreError('NOT_INITIALIZED', { reason });
      const options = { deadlineMs: ms, ...(signal && { signal }) };
      return this.#guarded(this.#bridge.spixTransfer(handle.endpoint, transfer, options), handle, ms);
    };
    try {
      return await send(deadlineMs);
    } catch (error) {
      const left = end - Date.now();
      if (!isBridgeBusy(error) || left <= 0) throw error;
      await this.#completion(handle.endpoint, Math.min(left, BUSY_PATIENCE_MS));
      return send(Math.max(1, end - Date.now()));
    }
  }

  /** The bridge keeps deadlines itself, each from the moment its transfer has its turn. Should it not, nobody waits longer than all before it may take. */
  async #guarded(work: Promise<Uint8Array>, handle: SpiHandle, ms: number): Promise<Uint8Array> {
    const { endpoint, name } = handle;
    const most = ms + GUARD_MS;
    const owed = (this.#owed.get(endpoint) ?? 0) + most;
    this.#owed.set(endpoint, owed);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = this.#scope.timeout(`transfer on ${name}`, owed, () =>
      reject(new CoreError('TIMEOUT', { what: `transfer on ${name}`, ms })),
    );
    try {
      return await Promise.race([work, late]);
    } finally {
      timer[Symbol.dispose]();
      const left = this.#owed.get(endpoint)! - most;
      if (left > 0) this.#owed.set(endpoint, left);
      else this.#owed.delete(endpoint);
    }
  }

  /** Resolves after the next transfer on the endpoint is over, or after `ms`. */
  #completion(endpoint: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(endpoint) ?? new Set();
    this.#waiting.set(endpoint, waiting.add(resolve));
    const timer = this.#scope.timeout(`wait for ${endpoint}`, ms, resolve);
    return promise.finally(() => {
      timer[Symbol.dispose]();
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(endpoint) === waiting) this.#waiting.delete(endpoint);
    });
  }
}

function checkLengths(tx: Uint8Array, rxLength: number): void {
  const fail = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  if (tx.length > MAX_BYTES) fail('tx', `it has ${tx.length} bytes, at most ${MAX_BYTES} are allowed`);
  if (!Number.isInteger(rxLength) || rxLength < 0 || rxLength > MAX_BYTES)
    fail('rxLen', `it must be an integer from 0 to ${MAX_BYTES}`);
  if (tx.length === 0 && rxLength === 0) fail('tx and rxLen', 'both are zero, so there is nothing to transfer');
}
