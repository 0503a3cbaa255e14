import type { PeerCredentials } from '@device-core/plugin-api';

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** struct ucred: pid, uid, gid of 32 bits each. */
const UCRED_BYTES = 12;

export interface PeerReader {
  /** Must be called in the turn in which the connection came: a descriptor that was closed meanwhile may be somebody else's. */
  read(fd: number): PeerCredentials | undefined;
  /** Why nothing can be read; everybody on a Unix socket then needs a token. */
  readonly failure?: unknown;
}

type GetSockOpt = (fd: number, level: number, name: number, value: Buffer, size: Buffer) => number;

/** koffi is a native package that may be absent on a platform: imported only here, and without it nobody is trusted by the peer. */
export async function loadPeerReader(load: () => Promise<GetSockOpt> = loadGetSockOpt): Promise<PeerReader> {
  let getsockopt: GetSockOpt;
  try {
    getsockopt = await load();
  } catch (failure) {
    return { read: () => undefined, failure };
  }
  return {
    read(fd) {
      if (!Number.isInteger(fd) || fd < 0) return undefined;
      const value = Buffer.alloc(UCRED_BYTES);
      const size = Buffer.alloc(4);
      size.writeUInt32LE(UCRED_BYTES);
      if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, size) !== 0) return undefined;
      if (size.readUInt32LE() !== UCRED_BYTES) return undefined;
      const peer = { pid: value.readInt32LE(0), uid: value.readUInt32LE(4), gid: value.readUInt32LE(8) };
      // A socket that is not of the Unix family answers with pid 0 and uid -1.
      return peer.uid === 0xffffffff ? undefined : Object.freeze(peer);
    },
  };
}

async function loadGetSockOpt(): Promise<GetSockOpt> {
  if (process.platform !== 'linux') throw new Error(`SO_PEERCRED is not there on ${process.platform}`);
  const { default: koffi } = await import('koffi');
  return koffi
    .load(null)
    .func('int getsockopt(int fd, int level, int name, void *value, void *size)') as unknown as GetSockOpt;
}
