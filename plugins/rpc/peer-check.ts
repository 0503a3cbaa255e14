/** Who may connect to the socket of an app: the app's own uid, the Core's own, and root. */
import type { Socket } from 'node:net';
import { type Identity, type PeerCredentials, reasonOf } from '@device-core/plugin-api';

export class PeerCheck {
  #identity: Identity | undefined;

  use(identity: Identity | undefined): void {
    this.#identity = identity;
  }

  /**
   * Resolves with why the peer is refused, if it is. Must be called in the turn in which the connection came. Where credentials cannot be read the
   * mode of the socket alone decides who can connect.
   */
  async refusal(socket: Socket, uid: number | undefined): Promise<string | undefined> {
    if (!this.#identity) return undefined;
    const fd = descriptorOf(socket);
    if (fd === undefined) return 'it is gone already';
    let peer: PeerCredentials | undefined;
    try {
      peer = await this.#identity.peerOf(fd);
    } catch (thrown) {
      return `its credentials cannot be read: ${reasonOf(thrown)}`;
    }
    if (!peer || peer.uid === 0 || peer.uid === process.getuid?.() || peer.uid === uid) return undefined;
    return `its user is ${peer.uid}`;
  }
}

/** Node has no public way to the descriptor of a socket. */
function descriptorOf(socket: Socket): number | undefined {
  const fd = (socket as { readonly _handle?: { readonly fd?: unknown } | null })._handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
