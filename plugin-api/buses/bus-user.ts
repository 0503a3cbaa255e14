import { CoreError, reasonOf } from '../errors.ts';
import type { Scope } from '../scope.ts';
import type { EndpointEvent, Endpoints, SourceView } from '../services/endpoints.ts';
import type { ComponentHealth } from '../services/health.ts';
import { busError, isBusy } from './bus-error.ts';
import type { HandleRow, HandleTable } from './handle-table.ts';
import { Lane } from './lane.ts';

export interface BusCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds since the Unix epoch; nothing lasts longer than this. */
  readonly deadline?: number;
  /** It is a part of configuring a handle: everything else waits until that is done. */
  readonly first?: boolean;
}

const FIRST: BusCallOptions = { first: true };

export interface BusRequest extends BusCallOptions {
  readonly op: number;
  readonly body: Uint8Array;
  /** Milliseconds that the request may take where the caller has more. */
  readonly deadlineMs: number;
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
  /** What a request is called in messages: `a request to I2C handle climate`, `the request to climate`. */
  readonly words?: { readonly one: (handle: string) => string; readonly the: (handle: string) => string };
  /** The error of a status of the endpoint, where the bus has a code of its own for it. */
  readonly refusal?: (status: string, handle: H, cause: ErrorOptions) => CoreError | undefined;
}

interface Named {
  readonly name: string;
  readonly endpoint: string;
}

/** An endpoint that can be used now. */
interface Known {
  readonly class: number;
  readonly source: string;
  readonly boot: string;
}

const NO_SERVICE = 'no IO bridge is connected: no plugin provides the service endpoints';
const NO_SOURCE = 'no IO bridge is connected: no plugin provides the service bridge';
/** What an endpoint may take beyond a deadline to tell that it is over; the host of CBP takes 250 ms (cbp.md section 6). */
const GUARD_MS = 400;
/** What is in the way of a BUSY endpoint may be somebody else's: then nothing of ours completes, and the second try comes after this time. */
const BUSY_PATIENCE_MS = 50;

/** What the plugins of all buses do alike with endpoints: requests in the name of a handle, configuration of what forgot it, events. */
export class BusUser<H extends Named> {
  readonly #table: HandleTable<H>;
  readonly #scope: Scope;
  readonly #options: BusUserOptions<H>;
  /** Endpoints whose events are heard of. */
  readonly #followed = new Set<string>();
  readonly #configurers: ((row: HandleRow<H>, options: BusCallOptions) => Promise<void>)[] = [];
  readonly #troubles = new Map<string, ComponentHealth>();
  readonly #lanes = new Map<string, Lane>();
  /** With which boot of its endpoint a handle was configured. */
  #configured = new WeakMap<HandleRow<H>, Known>();
  #endpoints: Endpoints | undefined;
  #part: Scope | undefined;
  #known: ReadonlyMap<string, Known> = new Map();
  /** Why endpoints that are not known may come yet. */
  #waitsFor: string | undefined = NO_SERVICE;
  /** Handles that are being configured. */
  #opening: Promise<void> | undefined;

  constructor(table: HandleTable<H>, scope: Scope, options: BusUserOptions<H>) {
    this.#table = table;
    this.#scope = scope;
    this.#options = options;
  }

  /**
   * Runs for a handle whose endpoint does not have its settings: it is new, or it has forgotten them. It hands its options on to request(). A failure
   * is told in health, and it runs again when the endpoint comes back.
   */
  onConfigure(fn: (row: HandleRow<H>, options: BusCallOptions) => Promise<void>): void {
    this.#configurers.push(fn);
  }

  /** Adds a handle to the table and gives its endpoint the settings. Throws what check() throws, INVALID_HANDLE, HANDLE_ALREADY_REGISTERED. */
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
    if (this.#waitsFor !== undefined && (lost.length > 0 || rows.length === 0))
      return { status: 'waiting', code: 'NOT_INITIALIZED', message: this.#waitsFor };
    if (lost.length > 0) {
      const which = lost.map(({ handle }) => `${handle.name} (${handle.endpoint})`).join(', ');
      return { status: 'error', code: 'NO_ENDPOINT', message: `the bridge has no endpoint for ${which}` };
    }
    const [first] = this.#troubles.values();
    return first ?? { status: 'okay' };
  }

  /**
   * One request to the endpoint of a handle. Rejects with BUSY, NOT_INITIALIZED, TRANSFER_FAILED (`details.status` is the endpoint's word), TIMEOUT,
   * CANCELLED, and what the bus has of its own.
   */
  async request(row: HandleRow<H>, request: BusRequest): Promise<Uint8Array> {
    const { handle } = row;
    const { name, endpoint } = handle;
    const { perHandle, refusal } = this.#options;
    if (row.inFlight >= perHandle) throw new CoreError('BUSY', { what: this.#one(name), limit: perHandle });
    const left = () =>
      Math.ceil(Math.min(request.deadlineMs, (request.deadline ?? Number.POSITIVE_INFINITY) - Date.now()));
    let ms = left();
    if (ms <= 0) throw new CoreError('TIMEOUT', { what: this.#the(name), ms: 0 });
    row.transfers++;
    row.inFlight++;
    try {
      if (!request.first) {
        const before = this.#before(endpoint);
        if (before) {
          await this.#settled(before, name, ms, request.signal);
          ms = Math.max(1, left());
        }
      }
      const lane = this.#lane(endpoint);
      if (!request.insist) return await this.#send(lane, handle, request, ms);
      const end = Date.now() + ms;
      try {
        return await this.#send(lane, handle, request, ms);
      } catch (error) {
        const rest = end - Date.now();
        if (!isBusy(error) || rest <= 0) throw error;
        await lane.next(Math.min(rest, BUSY_PATIENCE_MS));
        return await this.#send(lane, handle, request, Math.max(1, end - Date.now()));
      }
    } catch (error) {
      row.errors++;
      const cancelled = request.signal?.aborted ?? false;
      const told = refusal && ((status: string, cause: ErrorOptions) => refusal(status, handle, cause));
      throw busError(error, { handle: name, what: this.#the(name), ms, cancelled, refusal: told });
    } finally {
      row.inFlight--;
    }
  }

  async #send(lane: Lane, { name, endpoint }: H, request: BusRequest, ms: number): Promise<Uint8Array> {
    const { signal, answerBytes } = request;
    if (!this.#endpoints) throw new CoreError('NOT_INITIALIZED', { reason: NO_SERVICE });
    const known = this.#known.get(endpoint);
    if (known && known.class !== this.#options.class)
      throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'UNSUPPORTED' });
    const options = { deadlineMs: ms, ...(signal && { signal }), ...(answerBytes !== undefined && { answerBytes }) };
    // Endpoints keep deadlines themselves, each from the moment the request has its turn. Should one not, nobody waits longer than all before it may take.
    const most = lane.enter(ms + GUARD_MS);
    const what = this.#the(name);
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const late = this.#scope.timeout(what, most, () => reject(new CoreError('TIMEOUT', { what, ms })));
    try {
      // Not scope.within(): what is under way when the plugin stops is on the wire and comes to its end.
      this.#endpoints.request(endpoint, request.op, request.body, options).then(resolve, reject);
      return await promise;
    } finally {
      late[Symbol.dispose]();
      lane.leave(ms + GUARD_MS);
    }
  }

  /** What a request has to wait for: the configuration of handles, and news of an endpoint that is not known, for they may be on their way. */
  #before(endpoint: string): Promise<void> | undefined {
    return !this.#endpoints || this.#known.has(endpoint) ? this.#opening : this.#news(endpoint);
  }

  /** The service may stand in another process. Requests would find an endpoint there that this side has not heard of yet, and not configured. */
  async #news(endpoint: string): Promise<void> {
    await this.#opening;
    // The answer comes after everything that the service told before it.
    if (!this.#known.has(endpoint)) await this.#endpoints?.list();
    await this.#opening;
  }

  /** Until handles have been configured, or the caller has no more time. */
  #settled(opening: Promise<void>, name: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = () => resolve();
    const late = this.#scope.timeout(`${this.#one(name)}, before it`, ms, over);
    signal?.addEventListener('abort', over, { once: true });
    opening.then(over, over);
    return promise.finally(() => {
      late[Symbol.dispose]();
      signal?.removeEventListener('abort', over);
    });
  }

  #one(name: string): string {
    return this.#options.words?.one(name) ?? `a request to ${this.#table.bus} handle ${name}`;
  }

  #the(name: string): string {
    return this.#options.words?.the(name) ?? `the request to ${name}`;
  }

  #lane(endpoint: string): Lane {
    const known = this.#lanes.get(endpoint);
    if (known) return known;
    const lane = new Lane(this.#scope, endpoint);
    this.#lanes.set(endpoint, lane);
    return lane;
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

  async #configure(row: HandleRow<H>): Promise<void> {
    const { name, endpoint } = row.handle;
    const known = this.#known.get(endpoint);
    if (!known) return;
    try {
      for (const fn of this.#configurers) await fn(row, FIRST);
      this.#configured.set(row, known);
      this.clear(name);
    } catch (error) {
      const { code } = error instanceof CoreError ? error : { code: 'INTERNAL' };
      this.trouble(name, { status: 'error', code, message: `cannot configure ${name}: ${reasonOf(error)}` });
    }
  }

  /** The configuration of the handles whose endpoints have forgotten it, undefined where there is nothing to do. */
  #changed(views: readonly SourceView[]): Promise<void> | undefined {
    const known = new Map<string, Known>();
    this.#waitsFor = views.length === 0 ? NO_SOURCE : undefined;
    for (const view of views) {
      if (view.state === 'down') this.#waitsFor ??= view.reason;
      else
        for (const { name, class: kind, boot } of view.endpoints)
          known.set(name, { class: kind, source: view.source, boot });
    }
    this.#known = known;
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
