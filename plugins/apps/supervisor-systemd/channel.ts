import { closeSync } from 'node:fs';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { CoreError, descriptorOf, type Logger } from '@device-core/plugin-api';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';

/** Connections that wait to be known; a unit makes one. */
const MOST_WAITING = 4;

export interface ChannelOptions {
  readonly path: string;
  /** User of the unit: others are refused here, and by the mode of the socket. */
  readonly uid: number;
  readonly identity: Pick<Identity, 'peerOf'>;
  /** A second descriptor of a socket. */
  readonly copy: (fd: number) => number;
  readonly log: Logger;
}

/**
 * Socket to which the program of one unit connects, once. Nothing secret is handed over: the kernel of the system tells
 * the process and the user at its other end, and systemd the process of the unit.
 */
export class Channel implements AsyncDisposable {
  readonly #options: ChannelOptions;
  readonly #server: Server;
  readonly #waiting = new Map<number, Socket>();
  #wanted: { readonly pid: number; readonly resolve: (fd: number) => void } | undefined;
  #handed: number | undefined;
  #refused = 0;

  private constructor(options: ChannelOptions) {
    this.#options = options;
    // The kernel reads it, from the first byte on.
    this.#server = createServer({ pauseOnConnect: true }, (socket) => void this.#take(socket));
  }

  /** The warden gives the socket to the user of the unit before that starts. */
  static async open(options: ChannelOptions): Promise<Channel> {
    const { path } = options;
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await rm(path, { force: true });
    const channel = new Channel(options);
    const server = channel.#server;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen(path, resolve);
    await promise;
    await chmod(path, 0o600);
    return channel;
  }

  /** Connections of other users, and of other processes of this user. */
  get refused(): number {
    return this.#refused;
  }

  /** Descriptor of the connection of this process, which is the caller's to close. */
  of(pid: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#wanted = { pid, resolve };
    this.#hand();
    return promise;
  }

  /** A descriptor that was handed out is not wanted any more. */
  takeBack(): void {
    this.#wanted = undefined;
    if (this.#handed !== undefined) closeSync(this.#handed);
    this.#handed = undefined;
  }

  /** The socket's file goes; a descriptor that was handed out stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#waiting.values()) socket.destroy();
    this.#waiting.clear();
    this.#server.close();
    await rm(this.#options.path, { force: true });
  }

  #hand(): void {
    const socket = this.#wanted && this.#waiting.get(this.#wanted.pid);
    const fd = socket && descriptorOf(socket);
    if (fd === undefined || this.#handed !== undefined) return;
    this.#handed = this.#options.copy(fd);
    this.#wanted?.resolve(this.#handed);
  }

  async #take(socket: Socket): Promise<void> {
    const { identity, log, path, uid } = this.#options;
    socket.on('error', () => socket.destroy());
    const fd = descriptorOf(socket);
    const peer = fd === undefined ? undefined : await identity.peerOf(fd);
    if (peer?.uid === uid && this.#waiting.size < MOST_WAITING && !this.#waiting.has(peer.pid)) {
      this.#waiting.set(peer.pid, socket);
      this.#hand();
      return;
    }
    this.#refused++;
    log.warn(
      { path, pid: peer?.pid, uid: peer?.uid, refused: this.#refused },
      'a channel of a plugin refused a process',
    );
    socket.destroy();
  }
}

/** The unit has ended before its program connected. */
export function neverConnected(plugin: string, reason: string): CoreError {
  return new CoreError('PLUGIN_START_FAILED', { plugin, reason });
}
