/** Every open connection: where it came in, who its peer is, and which apps have spoken on it. */
import type { Socket } from 'node:net';
import {
  type Clock,
  descriptorOf,
  type Identity,
  type Logger,
  OwnTimeLimit,
  type PeerCredentials,
  reasonOf,
  type TcpConnection,
} from '@device-core/plugin-api';
import { currentResponse, inChunk } from './node-private.ts';
import type { OriginCheck } from './origin.ts';

export interface Connection {
  readonly transport: 'tcp' | 'unix';
  /** Absent on Unix sockets, which no browser reaches. */
  readonly origin?: OriginCheck;
  /** Asked for once: it is frozen at connect. */
  readonly peer?: Promise<PeerCredentials | undefined>;
  /** Of a TCP connection on which a token came. */
  ends?: TcpConnection;
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
  readonly #limit: number;
  readonly #came: () => void;

  /** `limit` holds per listener, `came` is called at each connection. */
  constructor(identity: Identity, log: Logger, limit: number, came: () => void = () => undefined) {
    this.#identity = identity;
    this.#log = log;
    this.#limit = limit;
    this.#came = came;
  }

  get size(): number {
    return this.#open.size;
  }

  overTcp(socket: Socket, origin: OriginCheck): void {
    socket.setNoDelay(true);
    this.#track(socket, { transport: 'tcp', origin, apps: new Set(), signedIn: new Set() });
  }

  overUnix(socket: Socket): void {
    this.#track(socket, { transport: 'unix', peer: this.#peerOf(socket), apps: new Set(), signedIn: new Set() });
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
   * Asked at regular intervals: whoever takes nothing of what waits for it for `limitMs` is cut, lest it keeps its place and our memory for ever. False
   * when nobody is connected.
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

  #track(socket: Socket, connection: Connection): void {
    if (!this.#makeRoom(connection.origin)) {
      socket.destroy();
      return;
    }
    this.#open.set(socket, connection);
    this.#came();
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#progress.delete(socket);
    });
  }

  /**
   * Whoever holds connections without using them must not keep others out: where a listener is full the oldest idle connection on which nobody has proved
   * who they are is closed, else the oldest idle one. False when all are at work.
   */
  #makeRoom(listener: OriginCheck | undefined): boolean {
    if (this.#open.size < this.#limit) return true;
    const there = [...this.#open].filter(([, { origin }]) => origin === listener);
    if (there.length < this.#limit) return true;
    // Every power of ten, lest a flood fills the log, too.
    if (Number.isInteger(Math.log10(++this.refused)))
      this.#log.warn({ refused: this.refused, limit: this.#limit }, 'too many connections');
    // Bytes that wait are a request whose turn has not come.
    const idle = there.filter(([socket]) => !currentResponse(socket) && socket.readableLength === 0);
    const victim = (idle.find(([, { known }]) => !known) ?? idle[0])?.[0];
    if (!victim) return false;
    this.#open.delete(victim);
    victim.destroy();
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

/** A number that changes with every byte that the client takes. */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength - inChunk(socket);
}
