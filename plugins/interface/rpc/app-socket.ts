/** The socket of one app and the sessions on it. Whoever connects here is that app: the listener is the identity (decisions D1). */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Caller, reasonOf, type Scope } from '@device-core/plugin-api';
import { AppSession, type SessionWorld } from './app-session.ts';
import { notification } from './app-stream.ts';
import type { AppIdentity, PeerCheck } from './peer-check.ts';
import type { ReadyComposer } from './ready.ts';
import { handOver, prepare, unavailable } from './socket-file.ts';

export interface SocketWorld extends SessionWorld {
  readonly ready: ReadyComposer;
  readonly peers: PeerCheck;
  /** Sessions open and close. */
  readonly changed: (session: AppSession, state: 'open' | 'closed') => void;
}

export class AppSocket implements AsyncDisposable {
  readonly app: AppIdentity;
  readonly path: string;
  /** Oldest first. */
  readonly sessions = new Set<AppSession>();
  readonly #caller: Caller;
  readonly #world: SocketWorld;
  readonly #scope: Scope;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(app: AppIdentity, path: string, scope: Scope, world: SocketWorld) {
    this.app = app;
    this.path = path;
    this.#caller = Object.freeze({ kind: 'app', id: app.id });
    this.#world = world;
    this.#scope = scope;
    // Nothing is read before READY has been said; a peer that closes its side still gets its answers.
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      this.#accept(socket).catch((thrown: unknown) => {
        this.#world.log.error({ app: this.app.id, reason: reasonOf(thrown) }, 'cannot accept a connection');
        socket.destroy();
      });
    });
  }

  /** Throws UNAVAILABLE. */
  static async open(app: AppIdentity, path: string, scope: Scope, world: SocketWorld): Promise<AppSocket> {
    const socket = new AppSocket(app, path, scope, world);
    await socket.#listen();
    return socket;
  }

  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** The session that was named, or the oldest that can take a call. */
  session(preferred?: string): AppSession | undefined {
    let first: AppSession | undefined;
    for (const session of this.sessions) {
      if (!session.usable) continue;
      if (session.id === preferred) return session;
      first ??= session;
    }
    return first;
  }

  /** Ends every session and removes the file; idempotent. */
  close(reason: string): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close('the Core stops');
  }

  async #listen(): Promise<void> {
    const { name, uid } = this.app;
    try {
      await prepare(this.path, name);
      this.#server.listen({ path: this.path, backlog: 16 });
      await once(this.#server, 'listening');
      await handOver(this.path, uid);
    } catch (thrown) {
      this.#server.close();
      throw unavailable(name, reasonOf(thrown));
    }
    this.#server.on('error', (error) =>
      this.#world.log.error({ app: this.app.id, reason: error.message }, 'app socket failed'),
    );
  }

  async #close(reason: string): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    const { stopGraceMs } = this.#world.config;
    await Promise.all([...this.sessions].map((session) => session.stop(reason, stopGraceMs)));
    await closed;
  }

  async #accept(socket: Socket): Promise<void> {
    const { connections } = this.#world.config;
    if (this.#closing || this.#scope.signal.aborted) {
      socket.destroy();
      return;
    }
    if (this.sessions.size >= connections) {
      this.#refuse(socket, `${connections} connections are the limit`);
      return;
    }
    const checked = this.#world.peers.refusal(socket, this.app);
    const id = randomUUID();
    const scope = this.#scope.child(`session ${id} of ${this.app.id}`);
    const session = new AppSession(id, this.#caller, socket, scope, this.#world);
    this.sessions.add(session);
    void session.closed.then(() => this.sessions.delete(session));
    socket.once('close', () => void scope[Symbol.asyncDispose]());
    const refusal = await checked;
    if (refusal !== undefined) {
      this.#refuse(socket, refusal);
      session.hangUp(refusal);
      return;
    }
    await this.#start(session, scope);
  }

  async #start(session: AppSession, scope: Scope): Promise<void> {
    const { ready, log, changed } = this.#world;
    const composed = await ready.compose(session, this.#caller, scope);
    if (session.signal.aborted) return;
    try {
      session.start(composed);
    } catch (thrown) {
      log.error({ app: this.app.id, reason: reasonOf(thrown) }, 'READY cannot be sent as plugins made it');
      session.start(ready.bare(session, composed.capabilities));
    }
    void session.closed.then(() => changed(session, 'closed'));
    changed(session, 'open');
  }

  #refuse(socket: Socket, reason: string): void {
    const refused = ++this.#world.counters.refused;
    // Every power of ten, lest an app that tries again and again fills the log, too.
    if (Number.isInteger(Math.log10(refused)))
      this.#world.log.warn({ app: this.app.id, reason, refused }, 'connection refused');
    socket.on('error', () => socket.destroy()); // it went away by itself
    socket.write(`${JSON.stringify(notification('stop', { reason, graceMs: 0 }))}\n`);
    socket.destroySoon();
  }
}
