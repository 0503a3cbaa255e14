/**
 * Allowed peers of the socket of an app: the app's own uid, the Core's own, and root, but no process of another app.
 */
import type { Socket } from 'node:net';
import { descriptorOf, reasonOf } from '@device-core/plugin-api';
import type { Identity, PeerCredentials } from '@device-core/plugin-api/inside/services/identity';

/** App of the socket. */
export interface AppIdentity {
  readonly id: string;
  readonly name: string;
  readonly uid?: number;
}

export class PeerCheck {
  #identity: Identity | undefined;
  #away = false;

  /** Undefined while it is away: nobody comes in meanwhile. */
  use(identity: Identity | undefined): void {
    this.#identity = identity;
    this.#away = identity === undefined;
  }

  /**
   * Resolves with why the peer is refused, if it is. Must be called in the turn in which the connection came. Where
   * credentials cannot be read the mode of the socket alone decides who can connect.
   */
  async refusal(socket: Socket, app: AppIdentity): Promise<string | undefined> {
    if (!this.#identity) return this.#away ? 'its process cannot be identified: plugin identity is away' : undefined;
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
    return this.#stranger(peer, app);
  }

  /** Processes that share a user, as in development, are told apart by where they come from. */
  async #stranger(peer: PeerCredentials, app: AppIdentity): Promise<string | undefined> {
    try {
      const caller = await this.#identity?.authenticate({ transport: 'unix', peer });
      if (caller?.kind === 'operator' || (caller?.kind === 'app' && caller.id === app.id)) return undefined;
      if (caller?.kind === 'app') return `it is a process of app ${caller.id}`;
      // An app that somebody else started, under a user of its own.
      return peer.uid === app.uid && peer.uid !== process.getuid?.()
        ? undefined
        : (caller?.peer?.reason ?? 'its process cannot be identified');
    } catch (thrown) {
      return reasonOf(thrown);
    }
  }
}
