/** Events in READY: the subscribed filters of the app's manifest, and the latest retained event of each topic. */

import { CoreError, type EventEnvelope, type Logger, maybe, reasonOf, type Session } from '@device-core/plugin-api';
import type { ReadyMessage } from '@device-core/plugin-api/inside/services/app-sockets';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { ReadRights } from './read-rights.ts';
import { Reader } from './reader.ts';
import type { SessionRegistry } from './session-registry.ts';

type Acknowledgement = ReadyMessage['subscriptions'][number];

export class Greeting {
  /** The apps service while it is there. */
  apps: Apps | undefined;
  readonly #bus: EventBus;
  readonly #registry: SessionRegistry;
  readonly #rights: ReadRights;
  readonly #log: Logger;

  constructor(bus: EventBus, registry: SessionRegistry, rights: ReadRights, log: Logger) {
    this.#bus = bus;
    this.#registry = registry;
    this.#rights = rights;
    this.#log = log;
  }

  /** The filters of the app's manifest that it may subscribe to. */
  async accepted(session: Session): Promise<readonly string[]> {
    const accepted: string[] = [];
    const reserve = this.#registry.room(session);
    for (const filter of await this.#declared(session.app)) this.#acknowledge(session, filter, accepted, reserve);
    return accepted;
  }

  /** Subscribed first and looked up then: an event in between is in the snapshot or comes after READY, never neither. */
  async extend(ready: ReadyMessage, session: Session): Promise<ReadyMessage> {
    const filters = await this.#declared(session.app);
    const accepted: string[] = [];
    const reserve = this.#registry.room(session);
    const acknowledged = filters.map((filter) => this.#acknowledge(session, filter, accepted, reserve));
    const subscriptions = [...ready.subscriptions, ...acknowledged];
    if (accepted.length === 0 || session.signal.aborted) return { ...ready, subscriptions };
    const { promise, resolve } = Promise.withResolvers<ReadonlySet<number>>();
    let snapshot: Record<string, EventEnvelope> = {};
    try {
      this.#registry.of(session).add(accepted, promise);
      this.#registry.changed();
      const reader = new Reader(this.#rights, { kind: 'app', id: session.app });
      const retained = (await this.#bus.retained(reader.narrowed(accepted))).filter((event) => reader.mayRead(event));
      // The latest event per topic; app.state and plugin.state are retained for each app and plugin, and their others
      // follow as events.
      snapshot = Object.fromEntries(retained.map((event) => [event.topic, event]));
    } finally {
      resolve(new Set(Object.values(snapshot).map((event) => event.seq)));
    }
    return { ...ready, subscriptions, snapshot: { ...ready.snapshot, ...snapshot } };
  }

  async #declared(app: string): Promise<readonly string[]> {
    try {
      const manifest = await this.apps?.manifest(app);
      return [...new Set(manifest?.events?.subscribe)];
    } catch (thrown) {
      if (!(thrown instanceof CoreError && thrown.code === 'APP_NOT_FOUND'))
        this.#log.warn({ app, reason: reasonOf(thrown) }, 'cannot read the filters of an app');
      return [];
    }
  }

  #acknowledge(
    session: Session,
    filter: string,
    accepted: string[],
    reserve: (filter: string) => void,
  ): Acknowledgement {
    try {
      const { reason } = this.#rights.of({ kind: 'app', id: session.app }, filter);
      reserve(filter);
      accepted.push(filter);
      return { filter, accepted: true, ...maybe({ reason }) };
    } catch (thrown) {
      const reason = thrown instanceof CoreError ? thrown.toWire() : reasonOf(thrown);
      return { filter, accepted: false, reason };
    }
  }
}
