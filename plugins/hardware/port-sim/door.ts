/** The socket by which the simulator is steered: the Core takes the connections and hands over those that are no guest's. */
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { CoreError, descriptorOf, type Logger, reasonOf } from '@device-core/plugin-api';
import type { Identity, PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import type { Processes } from '@device-core/plugin-api/inside/services/processes';

/** Maximum refusals in the log: a guest that knocks on and on fills no log. */
const TOLD_REFUSALS = 10;

export interface DoorOptions {
  readonly path: string;
  readonly processes: Pick<Processes, 'ownerOf'>;
  readonly log: Logger;
  /** Takes a connection whose bytes are unread. */
  readonly hand: (socket: Socket) => void;
}

export class Door implements Disposable {
  readonly #options: DoorOptions;
  readonly #server: Server;
  readonly #closed = new AbortController();
  #identity: Identity | undefined;
  #away = false;
  refused = 0;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#server = createServer({ pauseOnConnect: true }, (socket) => void this.#take(socket));
  }

  /** Rejects when it is closed meanwhile. */
  async open(): Promise<void> {
    const { path } = this.#options;
    const { signal } = this.#closed;
    // A Core that was killed leaves its file.
    await rm(path, { force: true });
    signal.throwIfAborted();
    this.#server.listen(path);
    await once(this.#server, 'listening', { signal });
    await chmod(path, 0o600);
    signal.throwIfAborted();
  }

  /** Undefined while identity is away: no connection is taken meanwhile. In a device without identity the mode of the socket decides. */
  use(identity: Identity | undefined): void {
    this.#identity = identity;
    this.#away = identity === undefined;
  }

  /**
   * It listens no more. The server's own end is not awaited: it would wait for a word of the simulator for each
   * connection that it was given.
   */
  [Symbol.dispose](): void {
    this.#closed.abort(new CoreError('CANCELLED', { what: 'the door of the simulator', reason: 'it was closed' }));
    this.#server.close();
  }

  async #take(socket: Socket): Promise<void> {
    // Before it is handed over only its end can be heard, and that needs no word.
    socket.on('error', () => socket.destroy());
    const reason = await this.#refusal(socket);
    if (reason === undefined) {
      this.#options.hand(socket);
      return;
    }
    socket.destroy();
    this.refused++;
    if (this.refused > TOLD_REFUSALS) return;
    const last = this.refused === TOLD_REFUSALS ? '; further refusals are not told' : '';
    this.#options.log.warn(
      { reason, refused: this.refused },
      `a connection to the bridge simulator was refused${last}`,
    );
  }

  /** Its first step must be in the turn in which the connection came. */
  async #refusal(socket: Socket): Promise<string | undefined> {
    if (!this.#identity) return this.#away ? 'its process cannot be identified: plugin identity is away' : undefined;
    const fd = descriptorOf(socket);
    if (fd === undefined) return 'it is gone already';
    try {
      const peer = await this.#identity.peerOf(fd);
      return peer && (await this.#stranger(peer));
    } catch (thrown) {
      return `its process cannot be identified: ${reasonOf(thrown)}`;
    }
  }

  async #stranger(peer: PeerCredentials): Promise<string | undefined> {
    // Connections of the Core's own plugins and of tests pass.
    if (peer.pid === process.pid) return undefined;
    if (peer.uid !== 0 && peer.uid !== process.getuid?.()) return `its user is ${peer.uid}`;
    const owner = peer.owner ?? (await this.#options.processes.ownerOf(peer));
    switch (owner.kind) {
      case 'stranger':
        return undefined;
      case 'app':
      case 'plugin':
        return `it is a process of ${owner.kind} ${owner.id}`;
      case 'core':
        return 'it is a process that the Core started';
      case 'unknown':
        return 'its process cannot be identified';
    }
  }
}
