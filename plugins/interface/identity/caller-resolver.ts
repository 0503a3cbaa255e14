import {
  ANONYMOUS,
  type AppLaunch,
  type Caller,
  CoreError,
  type Credentials,
  type PeerCredentials,
} from '@device-core/plugin-api';
import type { AppProcesses } from './app-processes.ts';
import type { Tokens } from './tokens.ts';

const OPERATOR: Caller = Object.freeze({ kind: 'operator', id: 'operator' });
const STOPPED = 'the app has stopped';

export interface ResolverOptions {
  readonly tokens: Tokens;
  readonly processes: AppProcesses;
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

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  async authenticate(credentials: Credentials): Promise<Caller> {
    if (credentials.token !== undefined) return this.#byToken(credentials.token);
    const { peer } = credentials;
    if (credentials.transport !== 'unix' || !peer) return this.#options.open ? OPERATOR : ANONYMOUS;
    const seen = this.#seen.get(peer);
    if (seen) return seen;
    const caller = this.#byPeer(peer);
    this.#seen.set(peer, caller);
    return caller;
  }

  async issue(app: string): Promise<string> {
    return this.#options.tokens.issue(app);
  }

  // Registers before its first await: the process must be known before it can connect.
  async launched(launch: AppLaunch): Promise<void> {
    const own = launch.uid === undefined || launch.uid === this.#options.uid || launch.uid === 0;
    const { pid, uid } = launch;
    this.#options.processes.add(launch.app, {
      ...(pid === undefined ? {} : { pid }),
      ...(own || uid === undefined ? {} : { uid }),
    });
    this.#seen = new WeakMap();
  }

  async revoke(app: string): Promise<void> {
    this.#options.tokens.revoke(app, STOPPED);
    this.#options.processes.end(app);
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

  #byToken(token: string): Caller {
    const owner = this.#options.tokens.ownerOf(token);
    if (owner?.kind === 'operator') return OPERATOR;
    if (owner?.kind === 'app') return { kind: 'app', id: owner.app };
    if (owner?.kind === 'void')
      throw new CoreError('UNAUTHENTICATED', { reason: `the token of app ${owner.app} is void: ${owner.reason}` });
    throw new CoreError('UNAUTHENTICATED', { reason: 'the token is not one of this device' });
  }

  #byPeer(peer: PeerCredentials): Caller {
    const { processes, uid, open } = this.#options;
    const app = processes.appOfUid(peer.uid);
    if (app !== undefined) return { kind: 'app', id: app };
    const owner = processes.ownerOf(peer);
    if (owner.kind === 'app') return { kind: 'app', id: owner.app };
    if (owner.kind === 'ended')
      throw new CoreError('UNAUTHENTICATED', { reason: `the caller is a process of app ${owner.app}: ${STOPPED}` });
    const administrator = peer.uid === 0 || peer.uid === uid;
    if (administrator && owner.kind === 'other') return OPERATOR;
    return open ? OPERATOR : ANONYMOUS;
  }
}
