/** Every session that subscribes to something, and the quota of its app (decisions D8: 32 filters per app). */
import { type Bus, CoreError, type Logger, type Scope, type Session } from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import type { ReadRights } from './read-rights.ts';
import { Reader } from './reader.ts';
import { canonical, SessionSubscriber } from './session-subscriber.ts';

export class SessionRegistry {
  readonly #sessions = new Map<string, SessionSubscriber>();
  readonly #bus: Bus;
  readonly #config: EventsConfig;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #rights: ReadRights;

  /** Called when the filters of a session may have changed. */
  changed: () => void = () => undefined;

  constructor(bus: Bus, config: EventsConfig, rights: ReadRights, scope: Scope, log: Logger) {
    this.#bus = bus;
    this.#rights = rights;
    this.#config = config;
    this.#scope = scope;
    this.#log = log;
    scope.defer('subscriptions of sessions', () => this.#endAll());
  }

  /** Filters by session. */
  filters(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries([...this.#sessions].map(([id, { filters }]) => [id, filters]));
  }

  /** What may be read has changed. */
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

  /** Throws SUBSCRIPTION_LIMIT if the app has not room for `filters` beside what its sessions have; a filter counts once per app. */
  reserve(session: Session, filters: readonly string[]): void {
    const held = new Set<string>();
    for (const subscriber of this.#sessions.values())
      if (subscriber.app === session.app) for (const filter of subscriber.canonical) held.add(filter);
    for (const filter of filters) {
      held.add(canonical(filter));
      if (held.size > this.#config.filters)
        throw new CoreError('SUBSCRIPTION_LIMIT', { filter, limit: this.#config.filters });
    }
  }

  #endAll(): void {
    for (const subscriber of this.#sessions.values()) subscriber.end();
    this.#sessions.clear();
  }
}
