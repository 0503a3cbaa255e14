/** Every session that subscribes to something, and the quota of its app (decisions D8: 32 filters per app). */
import type { Bus, Logger, Scope, Session } from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import { FilterQuota } from './filter-quota.ts';
import type { ReadRights } from './read-rights.ts';
import { Reader } from './reader.ts';
import { SessionSubscriber } from './session-subscriber.ts';

export class SessionRegistry {
  readonly #sessions = new Map<string, SessionSubscriber>();
  readonly #bus: Bus;
  readonly #config: EventsConfig;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #rights: ReadRights;
  readonly #quota: FilterQuota;

  /** Called when the filters of a session may have changed. */
  changed: () => void = () => undefined;

  constructor(bus: Bus, config: EventsConfig, rights: ReadRights, scope: Scope, log: Logger) {
    this.#bus = bus;
    this.#rights = rights;
    this.#config = config;
    this.#quota = new FilterQuota(config.filters);
    this.#scope = scope;
    this.#log = log;
    scope.defer('subscriptions of sessions', () => this.#endAll());
  }

  /** Filters by session. */
  filters(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries([...this.#sessions].map(([id, { filters }]) => [id, filters]));
  }

  /** Read rights have changed. */
  refresh(): void {
    for (const subscriber of this.#sessions.values()) subscriber.refresh();
  }

  get size(): number {
    return this.#sessions.size;
  }

  find(session: Session): SessionSubscriber | undefined {
    return this.#sessions.get(session.id);
  }

  /** The session's subscriber; it ends with the session. */
  of(session: Session): SessionSubscriber {
    const known = this.#sessions.get(session.id);
    if (known) return known;
    const reader = new Reader(this.#rights, { kind: 'app', id: session.app });
    const subscriber = new SessionSubscriber(session, reader, {
      bus: this.#bus,
      config: this.#config,
      scope: this.#scope,
      log: this.#log,
      quota: this.#quota,
    });
    this.#sessions.set(session.id, subscriber);
    const options = { once: true, signal: this.#scope.signal };
    const gone = (): void => {
      this.#sessions.delete(session.id);
      subscriber.end();
      this.changed();
    };
    session.signal.addEventListener('abort', gone, options);
    if (session.signal.aborted) gone();
    return subscriber;
  }

  /** Throws SUBSCRIPTION_LIMIT if the app has not room for `filters` beside what its sessions have. */
  reserve(session: Session, filters: readonly string[]): void {
    filters.forEach(this.room(session));
  }

  /** The same for filters that come one by one. */
  room(session: Session): (filter: string) => void {
    return this.#quota.room(session);
  }

  #endAll(): void {
    for (const subscriber of this.#sessions.values()) subscriber.end();
    this.#sessions.clear();
  }
}
