/** Sessions that were there before this plugin: they go on where the former run of the plugin left them. */

import type { Logger, Session } from '@device-core/plugin-api';
import { reasonOf } from '@device-core/plugin-api';
import type { AppSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import type { Greeting } from './greeting.ts';
import type { Subscriptions } from './handover.ts';
import type { SessionRegistry } from './session-registry.ts';

export class Resumption {
  readonly #former: Subscriptions;
  readonly #bus: EventBus;
  readonly #registry: SessionRegistry;
  readonly #greeting: Greeting;
  readonly #log: Logger;

  constructor(former: Subscriptions, bus: EventBus, registry: SessionRegistry, greeting: Greeting, log: Logger) {
    this.#former = former;
    this.#bus = bus;
    this.#registry = registry;
    this.#greeting = greeting;
    this.#log = log;
  }

  async resumeAll(sockets: AppSockets): Promise<void> {
    for (const { id, app } of await sockets.sessions()) {
      const session = await sockets.session(id);
      if (!session || this.#registry.find(session)) continue;
      await this.#resume(session).catch((thrown) =>
        this.#log.warn({ app, reason: reasonOf(thrown) }, 'cannot take up the subscriptions of a session'),
      );
    }
  }

  async #resume(session: Session): Promise<void> {
    const kept = this.#former.sessions[session.id];
    // One that came while nobody listened gets what its manifest asks for.
    const filters = kept ?? (await this.#greeting.accepted(session));
    if (filters.length === 0 || session.signal.aborted) return;
    const subscriber = this.#registry.of(session);
    if (!kept) {
      subscriber.add(filters);
      return;
    }
    const { seq } = this.#former;
    const retained = await this.#bus.retained(filters);
    const known = new Set(retained.map((event) => event.seq).filter((one) => one <= seq));
    subscriber.add(filters, Promise.resolve(known));
    subscriber.missed(seq, (await this.#bus.stats()).seq);
  }
}
