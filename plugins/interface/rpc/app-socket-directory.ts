/** The sockets of all apps: what the service `app-sockets` offers. */

import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { AppCall, AppSockets, SessionInfo } from '@device-core/plugin-api/inside/services/app-sockets';
import type { AppSession } from './app-session.ts';
import { AppSocket, type SocketWorld } from './app-socket.ts';
import type { AppIdentity } from './peer-check.ts';
import { socketPath } from './socket-file.ts';

/** A socket that is open, or about to be. */
interface Place {
  readonly path: string;
  readonly socket: Promise<AppSocket>;
  /** The same, once it is open. */
  open?: AppSocket;
}

type SessionEvent = SessionInfo & { readonly state: 'open' | 'closed' };

export class AppSocketDirectory implements Omit<AppSockets, 'session'> {
  readonly #run: string;
  readonly #scope: Scope;
  readonly #world: SocketWorld;
  readonly #places = new Map<string, Place>();
  readonly #sessions = new Map<string, AppSession>();
  readonly #listeners = new Set<(event: SessionEvent) => void>();

  constructor(run: string, scope: Scope, world: Omit<SocketWorld, 'changed'>) {
    this.#run = run;
    this.#scope = scope;
    this.#world = { ...world, changed: (session, state) => this.#changed(session, state) };
    scope.defer('app sockets', async () => {
      await Promise.all([...this.#places.keys()].map((app) => this.close(app, 'the Core stops')));
    });
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  get socketCount(): number {
    return this.#places.size;
  }

  session(id: string): AppSession | undefined {
    return this.#sessions.get(id);
  }

  async open(app: AppIdentity): Promise<{ readonly path: string }> {
    const there = await this.#socket(app.id);
    const same = there && there.app.name === app.name && there.app.uid === app.uid;
    if (same && !there.closing) return { path: there.path };
    if (there) await this.close(app.id, 'the socket moves');
    const path = socketPath(this.#run, app.name);
    for (const [other, place] of this.#places)
      if (place.path === path && other !== app.id)
        throw new CoreError('PARAMS_INVALID', { where: 'the name of an app', reason: `${app.name} is taken` });
    const place = this.#places.get(app.id) ?? this.#begin(app, path);
    return { path: (await place.socket).path };
  }

  async close(app: string, reason: string): Promise<void> {
    const place = this.#places.get(app);
    const socket = await this.#socket(app);
    if (!socket) return;
    await socket.close(reason);
    if (this.#places.get(app) === place) this.#places.delete(app);
  }

  async path(app: string): Promise<string> {
    const socket = await this.#socket(app);
    if (!socket) throw new CoreError('APP_NOT_FOUND', { app });
    return socket.path;
  }

  async sessions(app?: string): Promise<readonly SessionInfo[]> {
    return [...this.#sessions.values()].filter((session) => app === undefined || session.app === app).map(described);
  }

  async call(app: string, call: AppCall): Promise<unknown> {
    // A call does not wait for what is there.
    const socket = this.#places.get(app)?.open ?? (await this.#socket(app));
    const session = socket?.session(call.session);
    if (!session) throw new CoreError('APP_NOT_RUNNING', { app, reason: 'it has no session' });
    return session.call(call);
  }

  async notify(app: string, method: string, params: object): Promise<number> {
    const sessions = [...((await this.#socket(app))?.sessions ?? [])].filter((session) => session.usable);
    const taken = await Promise.allSettled(sessions.map((session) => session.notify(method, params)));
    return taken.filter(({ status }) => status === 'fulfilled').length;
  }

  onSession(listener: (event: SessionEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** The identity of an app ended: its connections end at once. */
  async cut(app: string): Promise<void> {
    for (const session of (await this.#socket(app))?.sessions ?? []) session.hangUp('the identity of the app ended');
  }

  /** True while one of them is to be checked again. */
  checkStalled(): boolean {
    let again = false;
    for (const session of this.#sessions.values()) again = session.checkStalled() || again;
    return again;
  }

  #begin(app: AppIdentity, path: string): Place {
    const place: Place = { path, socket: AppSocket.open(app, path, this.#scope, this.#world) };
    this.#places.set(app.id, place);
    place.socket.then(
      (socket) => {
        place.open = socket;
      },
      () => this.#places.delete(app.id), // whoever opens it is told
    );
    return place;
  }

  /** Undefined where there is none, also because it could not be opened: that is news for its opener alone. */
  async #socket(app: string): Promise<AppSocket | undefined> {
    return this.#places.get(app)?.socket.catch(() => undefined);
  }

  #changed(session: AppSession, state: 'open' | 'closed'): void {
    if (state === 'open') this.#sessions.set(session.id, session);
    else this.#sessions.delete(session.id);
    for (const listener of [...this.#listeners]) {
      try {
        listener({ ...described(session), state });
      } catch (thrown) {
        this.#world.log.error({ reason: reasonOf(thrown) }, 'a listener of sessions failed');
      }
    }
  }
}

function described({ id, app, since }: AppSession): SessionInfo {
  return { id, app, since };
}
