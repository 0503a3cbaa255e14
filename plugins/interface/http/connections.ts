/** Every open connection: where it came in, who its peer is, and which apps have spoken on it. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type Clock,
  CoreError,
  descriptorOf,
  type Logger,
  OwnTimeLimit,
  reasonOf,
  type TcpConnection,
} from '@device-core/plugin-api';
import type { Identity, PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import type { ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import type { LoopShare } from '../shared/loop-share.ts';
import { currentResponse, inChunk } from './node-private.ts';
import type { OriginCheck } from './origin.ts';
import { rejectSocket } from './responses.ts';

export interface Connection {
  readonly transport: 'tcp' | 'unix';
  /** Absent on Unix sockets, which no browser reaches. */
  readonly origin?: OriginCheck;
  /** Asked for in the turn of the accept, and kept: who comes later under the number of its process is somebody else. */
  readonly peer?: Promise<PeerCredentials | undefined>;
  /**
   * Name of the owner, once the peer is known: the same for all connections of one owner. Absent for the operator and
   * where owners cannot be told apart.
   */
  owner?: string;
  /** Undefined once the owner is known. A request waits for it: behind a border it takes several turns. */
  settling?: Promise<void> | undefined;
  /** It has one answer, and no more: nobody can tell whose it is, or its app has ended. */
  brief?: boolean;
  ends?: TcpConnection;
  /** Share of the event loop of the caller that spoke last on it. */
  share?: LoopShare;
  /** The work for its request is measured just now. */
  measured?: boolean;
  /** Sessions of pages that have spoken on it. */
  readonly signedIn: Set<string>;
  /** Apps that proved to be themselves on it. */
  readonly apps: Set<string>;
  /** Somebody proved on it who they are: it is not the first to go when there is no room. */
  known?: boolean;
}

/** How far a client is with taking what waits for it. */
interface Progress {
  readonly taken: number;
  readonly limit: OwnTimeLimit;
}

export interface ConnectionLimits {
  /** Limit of each listener. */
  readonly maxConnections: number;
  /** Limit of each owner on the Unix socket but the operator. */
  readonly maxConnectionsPerOwner: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  /** Only of clients for whom something waits. */
  readonly #progress = new Map<Socket, Progress>();
  /** Clients that were cut because they took nothing. */
  stalled = 0;
  /** Clients that were turned away, or had to make room, because there were too many. */
  refused = 0;
  readonly #identity: Identity;
  readonly #log: Logger;
  readonly #limits: ConnectionLimits;
  readonly #connected: () => void;

  /** `connected` is called at each connection. */
  constructor(identity: Identity, log: Logger, limits: ConnectionLimits, connected: () => void = () => undefined) {
    this.#identity = identity;
    this.#log = log;
    this.#limits = limits;
    this.#connected = connected;
  }

  get size(): number {
    return this.#open.size;
  }

  overTcp(socket: Socket, origin: OriginCheck): void {
    socket.setNoDelay(true);
    this.#track(socket, { transport: 'tcp', origin, apps: new Set(), signedIn: new Set() });
  }

  overUnix(socket: Socket): void {
    const peer = this.#peerOf(socket);
    const connection: Connection = { transport: 'unix', peer, apps: new Set(), signedIn: new Set() };
    if (!this.#track(socket, connection)) return;
    connection.settling = peer.then((known) => {
      connection.settling = undefined;
      if (known) this.#belongs(socket, connection, known);
    });
  }

  /** A connection that nobody can be told to own must not wait for a time at which its number is somebody's. */
  answering(socket: Socket, response: ServerResponse, answer: () => void): void {
    const connection = this.#open.get(socket);
    const go = () => {
      if (connection?.brief && !response.headersSent) response.setHeader('connection', 'close');
      answer();
    };
    if (connection?.settling) void connection.settling.then(go);
    else go();
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Ends every connection on which this app has spoken, with its requests and streams. */
  cut(app: string): void {
    for (const [socket, connection] of this.#open) if (connection.apps.has(app)) socket.destroy();
  }

  /** Likewise for a page whose session ended. */
  cutSession(id: string): void {
    for (const [socket, connection] of this.#open) if (connection.signedIn.has(id)) socket.destroy();
  }

  /**
   * Asked at regular intervals: whoever takes nothing of what waits for it for `limitMs` is cut, lest it keeps its
   * place and our memory for ever. False when nobody is connected.
   */
  checkStalled(clock: Clock, limitMs: number): boolean {
    for (const socket of this.#open.keys()) {
      if (socket.writableLength === 0) {
        this.#progress.delete(socket);
        continue;
      }
      const taken = takenBy(socket);
      const last = this.#progress.get(socket);
      if (last?.taken !== taken) this.#progress.set(socket, { taken, limit: new OwnTimeLimit(clock, limitMs) });
      else if (last.limit.leftMs === 0) {
        this.stalled++;
        socket.destroy();
      }
    }
    return this.#open.size > 0;
  }

  cutAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** False where there is no room for it. */
  #track(socket: Socket, connection: Connection): boolean {
    if (!this.#makeRoom(connection.origin)) {
      socket.destroy();
      return false;
    }
    this.#open.set(socket, connection);
    this.#connected();
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#progress.delete(socket);
    });
    return true;
  }

  /** Takes the owner into account in the turn of the accept, before anything is read of the connection. */
  #belongs(socket: Socket, connection: Connection, { uid, owner }: PeerCredentials): void {
    if (!owner) return;
    connection.brief = owner.kind !== 'stranger' && !(owner.kind === 'app' && !owner.ended);
    // It ends with its app, whether or not the app has said a word on it.
    if (owner.kind === 'app') connection.apps.add(owner.id);
    const name = ownerName(owner, uid);
    if (name === undefined) return;
    const own = [...this.#open].filter(([, one]) => one.owner === name);
    connection.owner = name;
    if (own.length < this.#limits.maxConnectionsPerOwner) return;
    this.#turnedAway(name, this.#limits.maxConnectionsPerOwner);
    const idle = own.find(([other]) => isIdle(other));
    if (idle) {
      this.#cut(idle[0]);
      return;
    }
    this.#open.delete(socket);
    const limit = `${this.#limits.maxConnectionsPerOwner} connections of ${name} (http.maxConnectionsPerOwner)`;
    rejectSocket(socket, new CoreError('BUSY', { what: 'another one', limit }));
  }

  #turnedAway(owner: string, limit: number): void {
    // Every power of ten, lest a flood fills the log, too.
    if (Number.isInteger(Math.log10(++this.refused)))
      this.#log.warn({ refused: this.refused, limit, owner }, 'too many connections');
  }

  #cut(socket: Socket): void {
    this.#open.delete(socket);
    socket.destroy();
  }

  /**
   * Idle connections must not keep others out: where a listener is full the oldest idle connection without a proven
   * identity is closed, else the oldest idle one. False when all are at work.
   */
  #makeRoom(listener: OriginCheck | undefined): boolean {
    const { maxConnections } = this.#limits;
    if (this.#open.size < maxConnections) return true;
    const there = [...this.#open].filter(([, { origin }]) => origin === listener);
    if (there.length < maxConnections) return true;
    this.#turnedAway('all', maxConnections);
    const idle = there.filter(([socket]) => isIdle(socket));
    const victim = (idle.find(([, { known }]) => !known) ?? idle[0])?.[0];
    if (!victim) return false;
    this.#cut(victim);
    return true;
  }

  /** Undefined, so that nobody is trusted by it, wherever the credentials cannot be read. */
  async #peerOf(socket: Socket): Promise<PeerCredentials | undefined> {
    const fd = descriptorOf(socket);
    if (fd === undefined) return undefined;
    try {
      return await this.#identity.peerOf(fd);
    } catch (thrown) {
      this.#log.warn({ reason: reasonOf(thrown) }, 'cannot read the credentials of a peer');
      return undefined;
    }
  }
}

/** Bytes that wait are a request whose turn has not come. */
const isIdle = (socket: Socket): boolean => !currentResponse(socket) && socket.readableLength === 0;

/** Undefined for who has no limit but that of the listener: root and the Core's user, where they are no guest. */
function ownerName(owner: ProcessOwner, uid: number): string | undefined {
  if (owner.kind === 'app' || owner.kind === 'plugin') return `${owner.kind} ${owner.id}`;
  if (owner.kind === 'core') return 'the Core';
  if (owner.kind === 'unknown') return 'unidentified processes';
  return uid === 0 || uid === process.getuid?.() ? undefined : `user ${uid}`;
}

/** A number that changes with every byte that the client takes. */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength - inChunk(socket);
}
