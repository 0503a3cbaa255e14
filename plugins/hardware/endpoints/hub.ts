/**
 * One name space over all sources of endpoints. A name belongs to the source that told it first, until that source
 * tells others or goes.
 */
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import type {
  EndpointEvent,
  EndpointInfo,
  EndpointRequestOptions,
  EndpointSource,
  Endpoints,
  SourceState,
  SourceView,
} from '@device-core/plugin-api/services/endpoints';

interface Row {
  readonly source: EndpointSource;
  state: SourceState;
  /** Names that another source had before. */
  refused: readonly string[];
}

interface Listener {
  readonly endpoint: string;
  readonly fn: (event: EndpointEvent) => void;
  /** Subscription at each source. */
  readonly heard: Map<Row, Disposable>;
}

const NO_SOURCE = 'no IO bridge is connected, and no host bus is served';

export class Hub implements Endpoints {
  readonly #log: Logger;
  readonly #rows = new Map<string, Row>();
  readonly #owners = new Map<string, Row>();
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<(sources: readonly SourceView[]) => void>();

  constructor(log: Logger) {
    this.#log = log;
  }

  async list(): Promise<readonly EndpointInfo[]> {
    return this.#views().flatMap((view) =>
      view.state === 'up' ? view.endpoints.map((one) => ({ ...one, where: view.where, source: view.source })) : [],
    );
  }

  request(endpoint: string, op: number, body: Uint8Array, options?: EndpointRequestOptions): Promise<Uint8Array> {
    const row = this.#owners.get(endpoint) ?? this.#silent();
    if (row) return row.source.request(endpoint, op, body, options);
    return Promise.reject(
      this.#rows.size === 0
        ? new CoreError('NOT_INITIALIZED', { reason: NO_SOURCE })
        : new CoreError('BRIDGE_FAILED', { endpoint, status: 'NO_ENDPOINT' }),
    );
  }

  onEvent(endpoint: string, fn: (event: EndpointEvent) => void): Disposable {
    const listener: Listener = { endpoint, fn, heard: new Map() };
    this.#listeners.add(listener);
    for (const row of this.#rows.values()) this.#listen(row, listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        for (const heard of listener.heard.values()) heard[Symbol.dispose]();
        listener.heard.clear();
      },
    };
  }

  onChange(listener: (sources: readonly SourceView[]) => void): Disposable {
    const own: typeof listener = (sources) => listener(sources);
    this.#watchers.add(own);
    own(this.#views());
    return { [Symbol.dispose]: () => void this.#watchers.delete(own) };
  }

  serve(source: EndpointSource): AsyncDisposable {
    const { name } = source;
    if (this.#rows.has(name)) throw new CoreError('ENDPOINT_EXISTS', { source: name });
    const row: Row = { source, state: { state: 'down', reason: `${name} has not told yet` }, refused: [] };
    this.#rows.set(name, row);
    for (const listener of this.#listeners) this.#listen(row, listener);
    const states = source.onState((state) => {
      if (this.#rows.get(name) === row) this.#became(row, state);
    });
    return {
      [Symbol.asyncDispose]: async () => {
        if (this.#rows.get(name) !== row) return;
        this.#rows.delete(name);
        for (const [endpoint, owner] of this.#owners) if (owner === row) this.#owners.delete(endpoint);
        for (const { heard } of this.#listeners) {
          heard.get(row)?.[Symbol.dispose]();
          heard.delete(row);
        }
        states[Symbol.dispose]();
        this.#tell();
      },
    };
  }

  /** Endpoints that two sources have: `i2c0 (host-i2c)` is left out. */
  get refused(): readonly string[] {
    return [...this.#rows.values()].flatMap(({ source, refused }) => refused.map((name) => `${name} (${source.name})`));
  }

  #became(row: Row, state: SourceState): void {
    row.state = state;
    const names = state.state === 'up' ? state.endpoints.map(({ name }) => name) : state.names;
    if (names) this.#claim(row, new Set(names));
    this.#tell();
  }

  #claim(row: Row, names: ReadonlySet<string>): void {
    for (const [name, owner] of this.#owners) if (owner === row && !names.has(name)) this.#owners.delete(name);
    const refused: string[] = [];
    for (const name of names) {
      const owner = this.#owners.get(name);
      if (owner === undefined) this.#owners.set(name, row);
      else if (owner !== row) refused.push(name);
    }
    row.refused = refused;
    for (const name of refused) {
      const of = this.#owners.get(name)!.source.name;
      this.#log.error({ endpoint: name, source: row.source.name, of }, 'two sources have an endpoint of this name');
    }
  }

  /** A source that is down and has not told its endpoints yet: the one asked for may be of it, and it says best why nothing can be had. */
  #silent(): Row | undefined {
    for (const row of this.#rows.values()) if (row.state.state === 'down' && !row.state.names) return row;
    return undefined;
  }

  #listen(row: Row, { endpoint, fn, heard }: Listener): void {
    const own = (event: EndpointEvent) => {
      if ((this.#owners.get(endpoint) ?? row) === row) fn(event);
    };
    heard.set(row, row.source.onEvent(endpoint, own));
  }

  #views(): readonly SourceView[] {
    return [...this.#rows.values()].map(({ source, state, refused }) => {
      const about = { source: source.name, where: source.where };
      if (state.state === 'down') return { ...about, ...state };
      return { ...about, ...state, endpoints: state.endpoints.filter(({ name }) => !refused.includes(name)) };
    });
  }

  #tell(): void {
    const views = this.#views();
    for (const watcher of [...this.#watchers]) {
      try {
        watcher(views);
      } catch (error) {
        this.#log.error({ error: reasonOf(error) }, 'a listener of the endpoints failed');
      }
    }
  }
}
