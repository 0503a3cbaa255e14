import { CoreError, reasonOf } from '../../contract/errors.ts';
import type { Scope } from '../../contract/scope.ts';
import type { Endpoints, SourceView } from '../../services/endpoints.ts';
import type { ComponentHealth } from '../../services/health.ts';
import {
  type BusCallOptions,
  type BusRequest,
  BusRequests,
  type BusUserOptions,
  isElsewhere,
  type Known,
  type Named,
  NO_SERVICE,
} from './bus-requests.ts';
import type { HandleRow, HandleTable } from './handle-table.ts';

const FIRST: BusCallOptions = { first: true };

const NO_SOURCE = 'no IO bridge is connected, and no host bus is served';
/** Ends of a configuration that say nothing against it. */
const NO_ANSWER: ReadonlySet<string> = new Set(['TIMEOUT', 'BUSY', 'NOT_INITIALIZED']);
/** Pause before the next try, twice as long after each. */
const AGAIN_MS = 500;
const LONGEST_AGAIN_MS = 30_000;

/**
 * Common use of endpoints by the plugins of all buses: requests in the name of a handle, configuration of endpoints
 * that lost it, events.
 */
export class BusUser<H extends Named> {
  readonly #table: HandleTable<H>;
  readonly #scope: Scope;
  readonly #options: BusUserOptions<H>;
  /** Endpoints whose events are heard of. */
  readonly #followed = new Set<string>();
  readonly #configurers: ((row: HandleRow<H>, options: BusCallOptions, boot: string) => Promise<void>)[] = [];
  readonly #troubles = new Map<string, ComponentHealth>();
  readonly #requests: BusRequests<H>;
  /** With which boot of its endpoint a handle was configured. */
  #configured = new WeakMap<HandleRow<H>, Known>();
  #endpoints: Endpoints | undefined;
  #part: Scope | undefined;
  #known: ReadonlyMap<string, Known> = new Map();
  /** Why endpoints that are not known may come yet; of those that a source has named, by their names. */
  #waitsFor: string | undefined = NO_SERVICE;
  #awaited: ReadonlyMap<string, string> = new Map();
  /** Handles that are being configured. */
  #opening: Promise<void> | undefined;

  constructor(table: HandleTable<H>, scope: Scope, options: BusUserOptions<H>) {
    this.#table = table;
    this.#scope = scope;
    this.#options = options;
    this.#requests = new BusRequests({
      bus: table.bus,
      scope,
      options,
      endpoints: () => this.#endpoints,
      known: (endpoint) => this.#known.get(endpoint),
      before: (endpoint) => this.#before(endpoint),
    });
  }

  /**
   * Runs for a handle whose endpoint does not have its settings: it is new, or it has forgotten them. It hands its
   * options on to request(). A failure is told in health, and it runs again when the endpoint comes back, and after a
   * pause where there was no answer. `boot` names the run of the endpoint, over restarts of the Core as well.
   */
  onConfigure(fn: (row: HandleRow<H>, options: BusCallOptions, boot: string) => Promise<void>): void {
    this.#configurers.push(fn);
  }

  /**
   * Adds a handle to the table and gives its endpoint the settings. Throws what check() throws, INVALID_HANDLE,
   * HANDLE_ALREADY_REGISTERED.
   */
  register(handle: H, owner: string): AsyncDisposable {
    this.#options.check?.(handle);
    const registered = this.#table.register(handle, owner);
    const { endpoint } = handle;
    if (!this.#followed.has(endpoint)) {
      this.#followed.add(endpoint);
      if (this.#endpoints && this.#part) this.#follow(this.#endpoints, this.#part, endpoint);
    }
    void this.#configure(registered.row);
    return { [Symbol.asyncDispose]: async () => registered[Symbol.dispose]() };
  }

  /** Handles of the configuration. One that cannot be is left out, and told in the health: it takes no other with it. */
  registerListed(handles: readonly H[]): void {
    for (const [index, handle] of handles.entries()) {
      try {
        this.register(handle, 'sku');
      } catch (error) {
        if (!(error instanceof CoreError)) throw error;
        const message = `handle ${index} of the configuration is left out: ${error.message}`;
        this.trouble(`listed ${index}`, { status: 'error', code: error.code, message });
      }
    }
  }

  /** Names the present run of an endpoint; undefined while it cannot be used. */
  bootOf(endpoint: string): string | undefined {
    const known = this.#known.get(endpoint);
    return known && `${known.source} ${known.boot}`;
  }

  /** To be called by `host.when(endpoints, ...)`. */
  async attach(endpoints: Endpoints, scope: Scope): Promise<void> {
    this.#endpoints = endpoints;
    this.#part = scope;
    const first = Promise.withResolvers<void>();
    scope.defer('endpoints in use', () => {
      first.resolve();
      if (this.#endpoints !== endpoints) return;
      this.#endpoints = undefined;
      this.#part = undefined;
      this.#known = new Map();
      this.#awaited = new Map();
      this.#waitsFor = NO_SERVICE;
      this.#configured = new WeakMap();
    });
    for (const endpoint of this.#followed) this.#follow(endpoints, scope, endpoint);
    // A request must not come before the settings, be it that the state of the endpoints is still on its way.
    const opening = this.#open(first.promise);
    scope.use(
      'sources of endpoints',
      endpoints.onChange((views) => {
        if (this.#endpoints !== endpoints) return;
        const work = this.#changed(views);
        if (work) this.#open(work);
        first.resolve(work);
      }),
    );
    await opening;
  }

  /** Something is wrong with a handle or its bus, until clear() is called with the same key. */
  trouble(key: string, health: ComponentHealth): void {
    this.#troubles.set(key, health);
  }

  clear(key: string): void {
    this.#troubles.delete(key);
  }

  get health(): ComponentHealth {
    const { rows } = this.#table;
    const lost = rows.filter(({ handle }) => !this.#known.has(handle.endpoint));
    const reasons = new Set(lost.map(({ handle }) => this.#awaited.get(handle.endpoint) ?? this.#waitsFor));
    if (rows.length === 0) reasons.add(this.#waitsFor);
    reasons.delete(undefined);
    if (reasons.size > 0) return { status: 'waiting', code: 'NOT_INITIALIZED', message: [...reasons].join('; ') };
    if (lost.length > 0) {
      const which = lost.map(({ handle }) => `${handle.name} (${handle.endpoint})`).join(', ');
      return { status: 'error', code: 'NO_ENDPOINT', message: `neither bridge nor host has an endpoint for ${which}` };
    }
    const elsewhere = rows.flatMap(({ handle }) => {
      const known = this.#known.get(handle.endpoint);
      return known && isElsewhere(handle, known) ? [`${handle.name} (${handle.endpoint}, on the ${known.where})`] : [];
    });
    if (elsewhere.length > 0) {
      const message = `the policy "where" of handles keeps them from their endpoints: ${elsewhere.join(', ')}`;
      return { status: 'error', code: 'NO_ENDPOINT', message };
    }
    const [first, ...others] = this.#troubles.values();
    if (!first || others.length === 0) return first ?? { status: 'okay' };
    return { ...first, message: [first, ...others].map(({ message }) => message).join('; ') };
  }

  /**
   * One request to the endpoint of a handle. Rejects with BUSY, NOT_INITIALIZED, TRANSFER_FAILED (`details.status` is
   * the endpoint's word), TIMEOUT, CANCELLED, and what the bus has of its own.
   */
  request(row: HandleRow<H>, request: BusRequest): Promise<Uint8Array> {
    return this.#requests.run(row, request);
  }

  /**
   * Work that a request waits for: the configuration of handles, and news of an endpoint that is not known, for they
   * may be on their way.
   */
  #before(endpoint: string): Promise<void> | undefined {
    return !this.#endpoints || this.#known.has(endpoint) ? this.#opening : this.#news(endpoint);
  }

  /**
   * The service may stand in another process. Requests would find an endpoint there that this side has not heard of
   * yet, and not configured.
   */
  async #news(endpoint: string): Promise<void> {
    await this.#opening;
    // The answer comes after everything that the service told before it.
    if (!this.#known.has(endpoint)) await this.#endpoints?.list();
    await this.#opening;
  }

  #follow(endpoints: Endpoints, scope: Scope, endpoint: string): void {
    const { onEvent } = this.#options;
    if (!onEvent) return;
    const listening = endpoints.onEvent(endpoint, (event) => onEvent(endpoint, event));
    scope.use(`events of ${endpoint}`, listening);
  }

  #open(work: Promise<void>): Promise<void> {
    const opening = work.finally(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    this.#opening = opening;
    return opening;
  }

  async #configure(row: HandleRow<H>, tries = 0): Promise<void> {
    const { name, endpoint } = row.handle;
    const known = this.#known.get(endpoint);
    if (!known) return;
    try {
      for (const fn of this.#configurers) await fn(row, FIRST, `${known.source} ${known.boot}`);
      this.#configured.set(row, known);
      this.clear(name);
    } catch (error) {
      const { code } = error instanceof CoreError ? error : { code: 'INTERNAL' };
      this.trouble(name, { status: 'error', code, message: `cannot configure ${name}: ${reasonOf(error)}` });
      if (NO_ANSWER.has(code) && !this.#scope.signal.aborted) this.#again(row, known, tries);
    }
  }

  /** A bridge on a busy board may not have answered in time. Nobody waits for the next try: a request to the handle goes on as before. */
  #again(row: HandleRow<H>, { source, boot }: Known, tries: number): void {
    const ms = Math.min(AGAIN_MS * 2 ** tries, LONGEST_AGAIN_MS);
    this.#scope.timeout(`the next try to configure ${row.handle.name}`, ms, () => {
      const now = this.#known.get(row.handle.endpoint);
      const before = this.#configured.get(row);
      const done = before?.source === source && before.boot === boot;
      if (done || now?.source !== source || now.boot !== boot || !this.#table.rows.includes(row)) return;
      void this.#configure(row, tries + 1);
    });
  }

  /** The configuration of the handles whose endpoints have forgotten it, undefined where there is nothing to do. */
  #changed(views: readonly SourceView[]): Promise<void> | undefined {
    const known = new Map<string, Known>();
    const awaited = new Map<string, string>();
    this.#waitsFor = views.length === 0 ? NO_SOURCE : undefined;
    for (const view of views) {
      const { source, where } = view;
      if (view.state === 'up')
        for (const { name, class: kind, boot, byteUs = 0 } of view.endpoints)
          known.set(name, { class: kind, source, where, boot, byteUs });
      else if (view.names) for (const name of view.names) awaited.set(name, view.reason);
      else this.#waitsFor ??= view.reason;
    }
    this.#known = known;
    this.#awaited = awaited;
    const sources = new Set(views.map(({ source }) => source));
    const forgetful = this.#table.rows.filter((row) => {
      const before = this.#configured.get(row);
      // A source that comes back after it was taken away is another one.
      if (before && !sources.has(before.source)) this.#configured.delete(row);
      const now = known.get(row.handle.endpoint);
      return now !== undefined && (before?.source !== now.source || before.boot !== now.boot);
    });
    if (forgetful.length === 0 || this.#configurers.length === 0) return undefined;
    return Promise.all(forgetful.map((row) => this.#configure(row))).then(() => undefined);
  }
}
