import { createServer, type Server, type Socket } from 'node:net';
import { CoreError, descriptorOf, type Logger, reasonOf } from '@device-core/plugin-api';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type { SocketNames } from './native.ts';

/** systemd hands sockets over from here on; a Core has few of them. */
const FIRST_FD = 3;
const LAST_FD = 16;
const PEER = /^\0[0-9a-f]+\/unit\/((?:app|plugin)-[a-z0-9-]+)\.service\/token$/;

export interface CredentialsOptions {
  /** Path of the socket that systemd made: `/run/device-credentials.sock`. */
  readonly path: string;
  readonly names: SocketNames;
  readonly identity: Pick<Identity, 'peerOf'>;
  readonly log: Logger;
}

/** Tokens of launches, which systemd itself fetches for the unit that it starts: each once, and nothing is on the disk. */
export class Credentials implements Disposable {
  readonly #options: CredentialsOptions;
  readonly #server: Server;
  /** By unit without its ending. */
  readonly #tokens = new Map<string, string>();

  /** Throws UNAVAILABLE where systemd gave the Core no such socket. */
  constructor(options: CredentialsOptions) {
    const { names, path } = options;
    this.#options = options;
    let fd = FIRST_FD;
    while (fd <= LAST_FD && names.own(fd) !== path) fd++;
    if (fd > LAST_FD)
      throw new CoreError('UNAVAILABLE', {
        what: path,
        reason: 'the unit of the Core was started without this socket',
      });
    this.#server = createServer((socket) => void this.#answer(socket));
    this.#server.listen({ fd: names.copy(fd) });
  }

  /** For the next start of this unit, and for no other. Disposing takes it back. */
  offer(unit: string, token: string): Disposable {
    this.#tokens.set(unit, token);
    return { [Symbol.dispose]: () => void (this.#tokens.get(unit) === token && this.#tokens.delete(unit)) };
  }

  [Symbol.dispose](): void {
    this.#tokens.clear();
    this.#server.close();
  }

  async #answer(socket: Socket): Promise<void> {
    const { names, identity, log } = this.#options;
    socket.on('error', (error) => log.warn({ reason: reasonOf(error) }, 'a token could not be handed over'));
    const fd = descriptorOf(socket);
    const name = fd === undefined ? '' : names.peer(fd);
    const peer = fd === undefined ? undefined : await identity.peerOf(fd);
    const [, unit = ''] = PEER.exec(name) ?? [];
    const token = this.#tokens.get(unit);
    // systemd descends from nothing of ours; a guest that runs as root does.
    const ours = peer?.owner !== undefined && peer.owner.kind !== 'stranger';
    if (peer?.uid !== 0 || ours || token === undefined) {
      log.warn({ unit, uid: peer?.uid, owner: peer?.owner?.kind }, 'a process asked for a token and gets none');
      socket.destroy();
      return;
    }
    this.#tokens.delete(unit);
    socket.end(token);
  }
}
