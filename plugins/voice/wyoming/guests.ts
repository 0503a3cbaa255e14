/** The protocol knows no identity, so whoever has rights of its own uses those: apps and plugins speak to the Core over their own way. */
import type { Socket } from 'node:net';
import { descriptorOf } from '@device-core/plugin-api';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type { Processes, ProcessOwner } from '@device-core/plugin-api/inside/services/processes';

export class Guests {
  processes: Processes | undefined;
  identity: Identity | undefined;

  /** Resolves with why the client is refused, if it is. Must be called in the turn in which the connection came. */
  async refusal(socket: Socket): Promise<string | undefined> {
    const owner = await this.#ownerOf(socket);
    if (!owner || owner.kind === 'stranger') return undefined;
    if (owner.kind === 'app' || owner.kind === 'plugin') return `it is a process of ${owner.kind} ${owner.id}`;
    return owner.kind === 'core' ? 'it is a process that the Core started' : 'its process cannot be identified';
  }

  async #ownerOf(socket: Socket): Promise<ProcessOwner | undefined> {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (localAddress && localPort !== undefined && remoteAddress && remotePort !== undefined)
      return await this.processes?.ownerOfTcp({ localAddress, localPort, remoteAddress, remotePort });
    const fd = descriptorOf(socket);
    const [peer, own] = await Promise.all([fd === undefined ? undefined : this.identity?.peerOf(fd), this.#own()]);
    // In a process of its own a descriptor means nothing to the Core: the mode of the socket alone decides.
    if (!peer || own?.kind === 'plugin') return undefined;
    return peer.owner ?? (await this.processes?.ownerOf(peer));
  }

  async #own(): Promise<ProcessOwner | undefined> {
    const self = { pid: process.pid, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const startTime = await this.processes?.startOf(process.pid);
    return startTime === undefined ? undefined : this.processes?.ownerOf({ ...self, startTime });
  }
}
