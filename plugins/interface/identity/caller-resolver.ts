import {
  ANONYMOUS,
  type Caller,
  type CallerPeer,
  CoreError,
  callerName,
  maybe,
  type TcpConnection,
} from '@device-core/plugin-api';
import type { AppLaunch, Credentials, PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import type { Processes, ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import type { PeerReader } from './peer-credentials.ts';
import { settledPeer } from './settled-peer.ts';
import type { Tokens } from './tokens.ts';

const OPERATOR: Caller = Object.freeze({ kind: 'operator', id: 'operator' });
const STOPPED = 'the app has stopped';

export interface ResolverOptions {
  readonly tokens: Tokens;
  /** The operator in a browser. */
  readonly sessions: { callerOf(token: string): Caller | undefined };
  readonly processes: Processes;
  readonly peers: PeerReader;
  /** The Core's own user. */
  readonly uid: number;
  /** A caller without a proof is the operator. */
  readonly open: boolean;
  readonly onListenerError: (thrown: unknown) => void;
}

/** Resolves callers in the order of decisions D1: the token where there is one, then the peer of the Unix socket. */
export class CallerResolver {
  readonly #options: ResolverOptions;
  readonly #listeners = new Set<(app: string) => void>();
  /** For each app that ended, how many had ended by then. */
  readonly #endings = new Map<string, number>();
  #ended = 0;
  readonly #anonymous = new WeakMap<object, Caller>();
  /** Owners of the other end of a TCP connection. */
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
    const { transport, peer, tcp } = credentials;
    if (transport === 'unix' && peer) return this.#byPeer(peer, await this.#ownerOf(peer));
    if (this.#options.open) return OPERATOR;
    return transport === 'tcp' && tcp ? this.#nobody(tcp, { tcp }) : ANONYMOUS;
  }

  /** In the turn of the accept. */
  async peerOf(fd: number): Promise<PeerCredentials | undefined> {
    const endings = this.#ended;
    const peer = await settledPeer(fd, this.#options.peers, this.#options.processes);
    return peer && Object.freeze({ ...peer, endings });
  }

  /** One name for every connection of the same peer, to count by; what costs a look at open files is asked for here alone. */
  async nameOf({ kind, signedIn, peer, ...caller }: Caller): Promise<string> {
    if (signedIn) return `session ${signedIn.id}`;
    if (kind !== 'anonymous') return callerName({ kind, ...caller });
    if (!peer?.tcp) return peer?.uid === undefined ? 'unknown' : `user ${peer.uid}`;
    const holder = await this.#holderOf(peer.tcp);
    if (holder.kind === 'app' || holder.kind === 'plugin') return callerName(holder);
    if (holder.kind !== 'stranger') return holder.kind;
    return holder.uid === undefined ? `address ${peer.tcp.remoteAddress}` : `user ${holder.uid}`;
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
      ...maybe({ pid }),
      ...(own || uid === undefined ? {} : { uid }),
    });
    await known;
  }

  async revoke(app: string): Promise<void> {
    this.#options.tokens.revoke(app, STOPPED);
    this.#endings.set(app, ++this.#ended);
    await this.#options.processes.end({ kind: 'app', id: app });
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

  /** The owner as it was settled. A peer without one is looked up now, by its start time. */
  async #ownerOf(peer: PeerCredentials): Promise<ProcessOwner> {
    const { owner, endings = 0 } = peer;
    if (!owner) return this.#options.processes.ownerOf(peer);
    const over = owner.kind === 'app' && (this.#endings.get(owner.id) ?? 0) > endings;
    return over ? { ...owner, ended: true } : owner;
  }

  #byPeer(peer: PeerCredentials, owner: ProcessOwner): Caller {
    const { uid, open } = this.#options;
    if (owner.kind === 'app' && !owner.ended) return { kind: 'app', id: owner.id };
    if (owner.kind !== 'unknown') refuseGuest(owner, OPERATOR);
    const administrator = peer.uid === 0 || peer.uid === uid;
    if (administrator && owner.kind === 'stranger') return OPERATOR;
    // A process that is gone may have been a guest's; one of another pid namespace descends from no guest.
    if (open && (owner.kind !== 'unknown' || owner.why === 'elsewhere')) return OPERATOR;
    if (owner.kind !== 'unknown') return this.#nobody(peer, { uid: peer.uid });
    return this.#nobody(peer, { reason: `${described(owner)}; ${remedyOf(owner)}` });
  }

  /** One object for each connection: it is asked for with every request. */
  #nobody(connection: object, peer: CallerPeer): Caller {
    let caller = this.#anonymous.get(connection);
    if (!caller) {
      caller = Object.freeze({ ...ANONYMOUS, peer: Object.freeze(peer) });
      this.#anonymous.set(connection, caller);
    }
    return caller;
  }

  /**
   * Owner of the process that brings this token. Over TCP only the operator's is worth the search, which looks at
   * every open file of every guest: an app's token is void when the app stops, and gives nothing beyond what its
   * manifest claims.
   */
  #holder(
    caller: Caller,
    { transport, peer, tcp }: Credentials,
  ): ProcessOwner | undefined | Promise<ProcessOwner | undefined> {
    if (transport === 'unix') return peer && this.#ownerOf(peer);
    if (!tcp || caller.kind !== 'operator') return undefined;
    return this.#holderOf(tcp);
  }

  #holderOf(tcp: TcpConnection): ProcessOwner | Promise<ProcessOwner> {
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
  // It descends from no guest, so that a token in its hands was given to it.
  if (owner.kind === 'unknown' && owner.why === 'elsewhere') return;
  if (owner.kind === caller.kind && owner.id === caller.id && !owner.ended) return;
  throw new CoreError('UNAUTHENTICATED', { reason: `${described(owner)}, not ${callerName(caller)}` });
}

const UNKNOWN = {
  ended: 'the process that made this connection had ended before the Core could look at it',
  elsewhere: 'the process of the caller is in another pid namespace, and its user alone does not make it the operator',
  hidden: 'the process of the caller cannot be told',
} as const;

/** How whoever is in the right comes in all the same. */
function remedyOf({ why }: ProcessOwner & { readonly kind: 'unknown' }): string {
  if (why === 'ended') return 'the process that connects has to wait for its answer';
  return 'bring a token: "devicectl token" prints that of the operator, for the header Authorization: Bearer';
}

function described(owner: ProcessOwner): string {
  if (owner.kind === 'unknown') return UNKNOWN[owner.why ?? 'hidden'];
  if (owner.kind === 'stranger') return 'the caller is a process outside of apps and plugins';
  if (owner.kind === 'core') return 'the caller is a process that the Core started';
  const { kind, id, ended } = owner;
  return `the caller is a process of ${kind} ${id}${ended ? `: the ${kind} has stopped` : ''}`;
}
