import { closeSync, readFileSync } from 'node:fs';
import type { PeerCredentials } from '@device-core/plugin-api/inside/services/identity';

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Since Linux 6.5: a descriptor of the very process that connected. Its number may be another one's by now, the descriptor never is. */
const SO_PEERPIDFD = 77;
/** struct ucred: pid, uid, gid of 32 bits each. */
const UCRED_BYTES = 12;
/** The kernel does not know the option. */
const ENOPROTOOPT = 92;

export interface PeerReader {
  /** Must be called in the turn in which the connection came: a descriptor that was closed meanwhile may be somebody else's. */
  read(fd: number): PeerCredentials | undefined;
  /**
   * Holds on to the process that connected; undefined where the kernel cannot, and its start time is all that tells it.
   * In the same turn.
   */
  hold(fd: number): HeldProcess | undefined;
  /** Why nothing can be read; everybody on a Unix socket then needs a token. */
  readonly failure?: unknown;
}

export interface HeldProcess extends Disposable {
  /** It is there still, so that whatever was read of /proc/<pid> until now was read of it. */
  isThere(pid: number): boolean;
}

export interface Native {
  readonly getsockopt: (fd: number, level: number, name: number, value: Buffer, size: Buffer) => number;
  /** Error number of the call before. */
  readonly errno: () => number;
}

/** koffi is a native package that may be absent on a platform: imported only here, and without it nobody is trusted by the peer. */
export async function loadPeerReader(load: () => Promise<Native> = loadNative): Promise<PeerReader> {
  let native: Native;
  try {
    native = await load();
  } catch (failure) {
    return { read: () => undefined, hold: () => undefined, failure };
  }
  const option = (fd: number, name: number, bytes: number): Buffer | undefined => {
    if (!Number.isInteger(fd) || fd < 0) return undefined;
    const value = Buffer.alloc(bytes);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes);
    if (native.getsockopt(fd, SOL_SOCKET, name, value, size) !== 0) return undefined;
    return size.readUInt32LE() === bytes ? value : undefined;
  };
  return {
    read(fd) {
      const value = option(fd, SO_PEERCRED, UCRED_BYTES);
      if (!value) return undefined;
      const peer = { pid: value.readInt32LE(0), uid: value.readUInt32LE(4), gid: value.readUInt32LE(8) };
      // A socket that is not of the Unix family answers with pid 0 and uid -1.
      return peer.uid === 0xffffffff ? undefined : Object.freeze(peer);
    },
    hold(fd) {
      const value = option(fd, SO_PEERPIDFD, 4);
      if (value) return heldBy(value.readInt32LE());
      // Any other refusal is the kernel's word that the process is gone, or that nothing can be found out.
      return native.errno() === ENOPROTOOPT ? undefined : GONE;
    },
  };
}

const GONE: HeldProcess = { isThere: () => false, [Symbol.dispose]: () => undefined };

function heldBy(descriptor: number): HeldProcess {
  return {
    isThere(pid) {
      // Its number in our namespace; -1 once it has ended and its parent has heard of it: not before that another one gets the number.
      const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
      return /^Pid:\s*(-?\d+)$/m.exec(text)?.[1] === String(pid);
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

async function loadNative(): Promise<Native> {
  if (process.platform !== 'linux') throw new Error(`SO_PEERCRED is not there on ${process.platform}`);
  const { default: koffi } = await import('koffi');
  const getsockopt = koffi
    .load(null)
    .func('int getsockopt(int fd, int level, int name, void *value, void *size)') as unknown as Native['getsockopt'];
  return { getsockopt, errno: () => koffi.errno() };
}
