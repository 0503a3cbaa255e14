/** Who may connect to the socket of an app: the app's own uid, the Core's own, and root, but no process of another app. */
import type { Socket } from 'node:net';
import { descriptorOf, type Identity, type PeerCredentials, reasonOf } from '@device-core/plugin-api';

/** Whose socket it is. */
export interface AppIdentity {
  readonly id: string;
  readonly name: string;
  readonly uid?: number;
}

export class PeerCheck {
  #identity: Identity | undefined;

  use(identity: Identity | undefined): void {
    this.#identity = identity;
  }

  /**
   * Resolves with why the peer is refused, if it is. Must be called in the turn in which the connection came. Where credentials cannot be read the
   * mode of the socket alone decides who can connect.
   */
  async refusal(socket: Socket, app: AppIdentity): Promise<string | undefined> {
    if (!this.#identity) return undefined;
    const fd = descriptorOf(socket);
    if (fd === undefined) return 'it is gone already';
    let peer: PeerCredentials | undefined;
    try {
      peer = await this.#identity.peerOf(fd);
    } catch (thrown) {
      return `its credentials cannot be read: ${reasonOf(thrown)}`;
    }
    if (!peer) return undefined;
    if (peer.uid !== 0 && peer.uid !== process.getuid?.() && peer.uid !== app.uid) return `its user is ${peer.uid}`;
    return this.#stranger(peer, app.id);
  }

  /** Apps that share a user, as in development, are told apart by their processes. */
  async #stranger(peer: PeerCredentials, app: string): Promise<string | undefined> {
    try {
      const caller = await this.#identity?.authenticate({ transport: 'unix', peer });
      return caller?.kind === 'app' && caller.id !== app ? `it is a process of app ${caller.id}` : undefined;
    } catch (thrown) {
      return reasonOf(thrown);
    }
  }
}
