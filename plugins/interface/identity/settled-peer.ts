/** The owner of the process at the other end of a Unix socket: settled once, as the connection comes (decisions D1a). */
import type { PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import type { Processes } from '@device-core/plugin-api/inside/services/processes';
import type { PeerReader } from './peer-credentials.ts';

/** To be called in the turn of the accept. Nothing here waits for more than the book of processes, which answers in the same turn. */
export async function settledPeer(
  fd: number,
  reader: PeerReader,
  processes: Pick<Processes, 'startOf' | 'ownerOf'>,
): Promise<PeerCredentials | undefined> {
  const peer = reader.read(fd);
  if (!peer) return undefined;
  using held = reader.hold(fd);
  const startTime = await processes.startOf(peer.pid);
  const told = startTime === undefined ? peer : { ...peer, startTime };
  const owner = await processes.ownerOf(told);
  // The number of a process that is gone may belong to another one by now; its user alone still holds.
  const gone = held && peer.pid > 0 && !held.isThere(peer.pid);
  return Object.freeze(gone ? { ...peer, owner: await processes.ownerOf(peer) } : { ...told, owner });
}
