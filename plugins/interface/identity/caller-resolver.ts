import {
  ANONYMOUS,
  type AppLaunch,
  type Caller,
  CoreError,
  type Credentials,
  callerName,
  type PeerCredentials,
  type Processes,
  type ProcessOwner,
  type TcpConnection,
} from '@device-core/plugin-api';
import type { Tokens } from './tokens.ts';

const OPERATOR: Caller = Object.freeze({ kind: 'operator', id: 'operator' });
const STOPPED = 'the app has stopped';

export interface ResolverOptions {
  readonly tokens: Tokens;
  /** The operator in a browser. */
  readonly sessions: { callerOf(token: string): Caller | undefined };
  readonly processes: Processes;
  /** The Core's own user. */
  readonly uid: number;
  /** Whoever proves nothing is the operator. */
  readonly open: boolean;
  readonly onListenerError: (thrown: unknown) => void;
}

/** Who is the caller, in the order of decisions D1: the token where there is one, then the peer of the Unix socket. */
export class CallerResolver {
  readonly #options: ResolverOptions;
  readonly #listeners = new Set<(app: string) => void>();
  /** What was found for a connection's peer; forgotten whenever an app comes or goes. */
  #seen = new WeakMap<PeerCredentials, Caller>();
  /** Who holds the other end of a TCP connection. */
  readonly #holders = new WeakMap<TcpConnection, ProcessOwner>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  async authenticate(credentials: Credentials): Promise<Caller> {
    if (credentials.token !== undefined) {
      const caller = this.#byToken(credentials.token, credentials.tcp);
      const holder = this.#holder(caller, credentials);
      // Most have none, and each wait is a promise more for a request.
      refuseGuest(holder instanceof Promise ? await holder : holder, caller);
      return caller;
    }
    const { peer } = credentials;
    if (credentials.transport !== 'unix' || !peer) return this.#options.open ? OPERATOR : ANONYMOUS;
    const seen = this.#seen.get(peer);
    if (seen) return seen;
    const caller = this.#byPeer(peer, await this.#options.processes.ownerOf(peer));
    this.#seen.set(peer, caller);
    return caller;
  }

  async issue(app: string): Promise<string> {
    return this.#options.tokens.issue(app);
  }

  // Registers before its first await: the process must be known before it can connect.
  async launched(launch: AppLaunch): Promise<void> {
    const own = launch.uid === undefined || launch.uid === this.#options.uid || launch.uid === 0;
    const { app, pid, uid } = launch;
    const guest = { kind: 'app', id: app } as const;
    const known = this.#options.processes.add(guest, {
      ...(pid === undefined ? {} : { pid }),
      ...(own || uid === undefined ? {} : { uid }),
    });
    this.#seen = new WeakMap();
    await known;
  }

  async revoke(app: string): Promise<void> {
    this.#options.tokens.revoke(app, STOPPED);
    await this.#options.processes.end({ kind: 'app', id: app });
    this.#seen = new WeakMap();
    for (const listener of this.#listeners) {
      try {
        listener(app);
      } catch (thrown) {
        this.#options.onListenerError(thrown);
      }
    }
  }

  onRevoked(listener: (app: string) => void): Disposable {
    // A wrapper of its own, so that one function registered twice is called twice and leaves twice.
    const entry = (app: string) => listener(app);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  #byToken(token: string, connection: TcpConnection | undefined): Caller {
    const owner = this.#options.tokens.ownerOf(token, connection);
    if (owner?.kind === 'operator') return OPERATOR;
    if (owner?.kind === 'app') return { kind: 'app', id: owner.app };
    if (owner?.kind === 'void')
      throw new CoreError('UNAUTHENTICATED', { reason: `the token of app ${owner.app} is void: ${owner.reason}` });
    const signedIn = this.#options.sessions.callerOf(token);
    if (signedIn) return signedIn;
    throw new CoreError('UNAUTHENTICATED', { reason: 'the token is not one of this device' });
  }

  #byPeer(peer: PeerCredentials, owner: ProcessOwner): Caller {
    const { uid, open } = this.#options;
    if (owner.kind === 'app' && !owner.ended) return { kind: 'app', id: owner.id };
    if (owner.kind !== 'unknown') refuseGuest(owner, OPERATOR);
    const administrator = peer.uid === 0 || peer.uid === uid;
    if (administrator && owner.kind === 'stranger') return OPERATOR;
    // A process that is gone may have been a guest's; one of another pid namespace, which has no number here, is outside of the Core.
    return open && !(owner.kind === 'unknown' && peer.pid > 0) ? OPERATOR : ANONYMOUS;
  }

  /**
   * Whose process brings this token. Over TCP only the operator's is worth the search, which looks at every open file of every guest: an app's token is
   * void when the app stops, and gives nothing beyond what its manifest claims.
   */
  #holder(
    caller: Caller,
    { transport, peer, tcp }: Credentials,
  ): ProcessOwner | undefined | Promise<ProcessOwner | undefined> {
    if (transport === 'unix') return peer && peer.pid > 0 ? this.#options.processes.ownerOf(peer) : undefined;
    if (!tcp || caller.kind !== 'operator') return undefined;
    return this.#holders.get(tcp) ?? this.#findHolder(tcp);
  }

  async #findHolder(tcp: TcpConnection): Promise<ProcessOwner> {
    const holder = await this.#options.processes.ownerOfTcp(tcp);
    this.#holders.set(tcp, holder);
    return holder;
  }
}

/** Throws UNAUTHENTICATED where a guest, or who cannot be told from one, comes as somebody else. */
function refuseGuest(owner: ProcessOwner | undefined, caller: Caller): void {
  if (!owner || owner.kind === 'stranger') return;
  if (owner.kind === caller.kind && owner.id === caller.id && !owner.ended) return;
  throw new CoreError('UNAUTHENTICATED', { reason: `${described(owner)}, not ${callerName(caller)}` });
}

function described(owner: ProcessOwner): string {
  if (owner.kind === 'unknown') return 'the process of the caller cannot be told';
  if (owner.kind === 'stranger') return 'the caller is a process of its own';
  if (owner.kind === 'core') return 'the caller is a process that the Core started';
  const { kind, id, ended } = owner;
  return `the caller is a process of ${kind} ${id}${ended ? `: the ${kind} has stopped` : ''}`;
}
