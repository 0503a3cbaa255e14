import { CoreError, reasonOf } from '../errors.ts';
import type { Scope } from '../scope.ts';
import type { Bridge, BridgeEvent } from '../services/bridge.ts';
import type { ComponentHealth } from '../services/health.ts';
import type { HandleRow, HandleTable } from './handle-table.ts';

export interface BusCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds since the Unix epoch; nothing lasts longer than this. */
  readonly deadline?: number;
  /** It is a part of configuring a session: everything else waits until that is done. */
  readonly first?: boolean;
}

const FIRST: BusCallOptions = { first: true };

export interface BusRequest extends BusCallOptions {
  readonly op: number;
  readonly body: Uint8Array;
  /** Milliseconds that the request may take where the caller has more. */
  readonly deadlineMs: number;
}

interface Named {
  readonly name: string;
  readonly endpoint: string;
}

const NO_BRIDGE = 'no IO bridge is connected: no plugin provides the service bridge';
/** What the bridge may take beyond a deadline to tell that it is over (cbp.md section 6). */
const GUARD_MS = 400;

/** What the plugins of all buses do alike with the bridge: requests in the name of a handle, configuration of each new session, events. */
export class BusUser<H extends Named> {
  readonly #table: HandleTable<H>;
  readonly #scope: Scope;
  readonly #perHandle: number;
  readonly #listeners: { readonly endpoint: string; readonly fn: (event: BridgeEvent) => void }[] = [];
  readonly #onSession: ((row: HandleRow<H>, options: BusCallOptions) => Promise<void>)[] = [];
  readonly #troubles = new Map<string, ComponentHealth>();
  #bridge: Bridge | undefined;
  #part: Scope | undefined;
  #endpoints: ReadonlySet<string> | undefined;
  /** The session that is being configured. */
  #opening: Promise<void> | undefined;
  #waitsFor = NO_BRIDGE;

  /** `perHandle` requests may be in flight for one handle. */
  constructor(table: HandleTable<H>, scope: Scope, perHandle: number) {
    this.#table = table;
    this.#scope = scope;
    this.#perHandle = perHandle;
  }

  /**
   * Runs for every handle when a session of the bridge begins: a bridge forgets its settings. It hands its options on to request(). A failure is told
   * in health.
   */
  onSession(fn: (row: HandleRow<H>, options: BusCallOptions) => Promise<void>): void {
    this.#onSession.push(fn);
  }

  /** Hears of the events of an endpoint, over sessions and bridges. */
  onEvent(endpoint: string, fn: (event: BridgeEvent) => void): void {
    const listener = { endpoint, fn };
    this.#listeners.push(listener);
    if (this.#bridge && this.#part) this.#listen(this.#bridge, this.#part, listener);
  }

  /** To be called by `host.when(bridge, ...)`. */
  async attach(bridge: Bridge, scope: Scope): Promise<void> {
    this.#bridge = bridge;
    this.#part = scope;
    scope.defer('bridge in use', () => {
      if (this.#bridge !== bridge) return;
      this.#bridge = undefined;
      this.#part = undefined;
      this.#endpoints = undefined;
      this.#waitsFor = NO_BRIDGE;
    });
    for (const listener of this.#listeners) this.#listen(bridge, scope, listener);
    scope.use(
      'link listener',
      bridge.onLink((state, reason) => {
        if (state === 'up' || state === 'degraded') {
          if (!this.#endpoints) void this.#begin(bridge);
          return;
        }
        this.#endpoints = undefined;
        this.#waitsFor = `the link to the IO bridge is ${state}${reason ? ` (${reason})` : ''}`;
      }),
    );
    await this.#begin(bridge);
  }

  /** Configures a handle that was registered while the bridge is there. */
  async configure(row: HandleRow<H>): Promise<void> {
    if (!this.#endpoints?.has(row.handle.endpoint)) return;
    const { name } = row.handle;
    try {
      for (const fn of this.#onSession) await fn(row, FIRST);
      this.clear(name);
    } catch (error) {
      const { code } = error instanceof CoreError ? error : { code: 'INTERNAL' };
      this.trouble(name, { status: 'error', code, message: `cannot configure ${name}: ${reasonOf(error)}` });
    }
  }

  /** Something is wrong with a handle or its bus, until clear() is called with the same key. */
  trouble(key: string, health: ComponentHealth): void {
    this.#troubles.set(key, health);
  }

  clear(key: string): void {
    this.#troubles.delete(key);
  }

  get health(): ComponentHealth {
    const known = this.#endpoints;
    if (!known) return { status: 'waiting', code: 'NOT_INITIALIZED', message: this.#waitsFor };
    const lost = this.#table.rows.filter(({ handle }) => !known.has(handle.endpoint));
    if (lost.length > 0) {
      const which = lost.map(({ handle }) => `${handle.name} (${handle.endpoint})`).join(', ');
      return { status: 'error', code: 'NO_ENDPOINT', message: `the bridge has no endpoint for ${which}` };
    }
    const [first] = this.#troubles.values();
    return first ?? { status: 'okay' };
  }

  /**
   * One request to the endpoint of a handle. Rejects with BUSY, NOT_INITIALIZED, TRANSFER_FAILED (`details.status` is the bridge's word), TIMEOUT,
   * CANCELLED.
   */
  async request(row: HandleRow<H>, request: BusRequest): Promise<Uint8Array> {
    const { name, endpoint } = row.handle;
    const what = `a request to ${this.#table.bus} handle ${name}`;
    if (row.inFlight >= this.#perHandle) throw new CoreError('BUSY', { what, limit: this.#perHandle });
    const left = () =>
      Math.ceil(Math.min(request.deadlineMs, (request.deadline ?? Number.POSITIVE_INFINITY) - Date.now()));
    let ms = left();
    if (ms <= 0) throw new CoreError('TIMEOUT', { what, ms: 0 });
    row.transfers++;
    row.inFlight++;
    try {
      if (this.#opening && !request.first) {
        await this.#configured(this.#opening, what, ms, request.signal);
        ms = Math.max(1, left());
      }
      if (!this.#bridge) throw new CoreError('NOT_INITIALIZED', { reason: NO_BRIDGE });
      const options = { deadlineMs: ms, ...(request.signal && { signal: request.signal }) };
      return await this.#guarded(this.#bridge.request(endpoint, request.op, request.body, options), what, ms);
    } catch (error) {
      row.errors++;
      throw busError(error, name, ms, request.signal?.aborted ?? false);
    } finally {
      row.inFlight--;
    }
  }

  /** Until the handles of this session have been configured, or the caller has no more time. */
  async #configured(opening: Promise<void>, what: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = this.#scope.timeout(`${what}, before it`, ms, resolve);
    const stop = () => resolve();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      await Promise.race([opening, over]);
    } finally {
      timer[Symbol.dispose]();
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Nobody waits for a bridge that keeps no deadlines. */
  async #guarded(work: Promise<Uint8Array>, what: string, ms: number): Promise<Uint8Array> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    // Requests on one bus wait for each other, each for its own deadline at most.
    const most = (ms + GUARD_MS) * this.#perHandle;
    const timer = this.#scope.timeout(what, most, () => reject(new CoreError('TIMEOUT', { what, ms })));
    try {
      return await Promise.race([work, late]);
    } finally {
      timer[Symbol.dispose]();
    }
  }

  #listen(
    bridge: Bridge,
    scope: Scope,
    { endpoint, fn }: { endpoint: string; fn: (event: BridgeEvent) => void },
  ): void {
    scope.use(`events of ${endpoint}`, bridge.onEvent(endpoint, fn));
  }

  #begin(bridge: Bridge): Promise<void> {
    const opening = this.#open(bridge).finally(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    this.#opening = opening;
    return opening;
  }

  async #open(bridge: Bridge): Promise<void> {
    try {
      const names = new Set((await bridge.endpoints()).map(({ name }) => name));
      if (this.#bridge !== bridge) return;
      this.#endpoints = names;
    } catch (error) {
      this.#endpoints = undefined;
      this.#waitsFor = reasonOf(error);
      return;
    }
    await Promise.all(this.#table.rows.map((row) => this.configure(row)));
  }
}

/** What became of a request, in the codes of the table. `cancelled`: the caller itself gave up. */
function busError(thrown: unknown, handle: string, ms: number, cancelled: boolean): CoreError {
  const cause = { cause: thrown };
  const failed = (reason: string, status?: string) =>
    new CoreError('TRANSFER_FAILED', { handle, reason, ...(status === undefined ? {} : { status }) }, cause);
  if (!(thrown instanceof CoreError)) return failed(reasonOf(thrown));
  const status = String(thrown.details.status);
  switch (thrown.code) {
    case 'NOT_INITIALIZED':
    case 'BUSY':
      return thrown;
    case 'TIMEOUT':
      return new CoreError('TIMEOUT', { what: `the request to ${handle}`, ms }, cause);
    case 'CANCELLED':
      return cancelled ? thrown : failed('CANCELLED');
    case 'BRIDGE_FAILED':
      if (status === 'TIMEOUT') return new CoreError('TIMEOUT', { what: `the request to ${handle}`, ms }, cause);
      if (status === 'LINK_DOWN')
        return new CoreError('NOT_INITIALIZED', { reason: 'the link to the IO bridge is down' }, cause);
      return failed(status, status);
    default:
      return failed(reasonOf(thrown));
  }
}
