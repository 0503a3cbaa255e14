/** `config.changed` for the sessions of apps: every app with a session hears of each change that it sees. */

import type { Logger, Scope } from '@device-core/plugin-api';
import type { AppSockets, SessionInfo } from '@device-core/plugin-api/inside/services/app-sockets';
import type { Config, ConfigChange } from '@device-core/plugin-api/services/config';

/**
 * Changes on their way to one app. An app that reads slowly finds only the newest change of each key, so the queue is
 * bound by the keys.
 */
class Outbox implements Disposable {
  readonly sessions = new Set<string>();
  readonly #pending = new Map<string, ConfigChange>();
  readonly #send: (change: ConfigChange) => Promise<unknown>;
  readonly #watch: Disposable;
  #busy = false;

  constructor(config: Config, app: string, send: (change: ConfigChange) => Promise<unknown>) {
    this.#send = send;
    this.#watch = config.watch({ app }, (change) => {
      this.#pending.delete(change.key);
      this.#pending.set(change.key, change);
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (let next = this.#next(); next; next = this.#next()) await this.#send(next);
    this.#busy = false;
  }

  #next(): ConfigChange | undefined {
    const [change] = this.#pending.values();
    if (change) this.#pending.delete(change.key);
    return change;
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#pending.clear();
  }
}

export async function notifyApps(config: Config, sockets: AppSockets, scope: Scope, log: Logger): Promise<void> {
  const outboxes = new Map<string, Outbox>();
  const send = (app: string) => async (change: ConfigChange) => {
    const { key, value, source, revision } = change;
    try {
      await sockets.notify(app, 'config.changed', { key, value, source, revision });
    } catch (error) {
      log.debug({ app, key, err: error }, 'an app did not take the news of a changed setting');
    }
  };
  const note = ({ app, id, state }: Pick<SessionInfo, 'id' | 'app'> & { readonly state: 'open' | 'closed' }) => {
    let outbox = outboxes.get(app);
    if (state === 'open') {
      outbox ??= new Outbox(config, app, send(app));
      outboxes.set(app, outbox);
      outbox.sessions.add(id);
      return;
    }
    outbox?.sessions.delete(id);
    if (outbox?.sessions.size !== 0) return;
    outbox[Symbol.dispose]();
    outboxes.delete(app);
  };
  scope.defer('config notifications', () => {
    for (const outbox of outboxes.values()) outbox[Symbol.dispose]();
  });
  scope.use('session listener', sockets.onSession(note));
  for (const session of await sockets.sessions()) note({ ...session, state: 'open' });
}
