import type { KoffiFunc } from 'koffi';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** struct sockaddr_un: two bytes of family, a path that ends with zero. */
const ADDRESS = 110;
const PATH = 107;

/** Outcome of a datagram: sent, the receiver has no room, or it is gone. */
export type Sent = 'sent' | 'full' | 'gone';

/** A Unix socket for datagrams that never waits. */
export interface Datagrams extends Disposable {
  send(bytes: Buffer): Sent;
}

/** Opens a socket to this path. Throws with the reason if there is no listener. */
export type OpenDatagrams = (path: string) => Datagrams;

type Call = KoffiFunc<(...args: (number | Buffer)[]) => number>;

/** Loads sockets by koffi, because Node has none for datagrams. Rejects without this native package. */
export async function loadDatagrams(): Promise<OpenDatagrams> {
  if (process.platform !== 'linux') throw new Error(`the journal is not there on ${process.platform}`);
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  const socket = library.func('int socket(int domain, int type, int protocol)') as Call;
  const connect = library.func('int connect(int fd, void *address, uint32_t length)') as Call;
  const send = library.func('intptr_t send(int fd, void *bytes, size_t length, int flags)') as Call;
  const close = library.func('int close(int fd)') as Call;
  const name = () => Object.entries(koffi.os.errno).find(([, value]) => value === koffi.errno())?.[0] ?? 'error';
  return (path) => {
    const address = Buffer.alloc(ADDRESS);
    const bytes = Buffer.from(path, 'utf8');
    if (bytes.length > PATH) throw new Error(`the path of a socket has at most ${PATH} bytes`);
    address.writeUInt16LE(AF_UNIX);
    bytes.copy(address, 2);
    const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw new Error(`there is no socket: ${name()}`);
    if (connect(fd, address, 2 + bytes.length + 1) !== 0) {
      const reason = name();
      close(fd);
      throw new Error(`no reader takes lines at ${path}: ${reason}`);
    }
    let open = true;
    return {
      send(datagram) {
        if (!open) return 'gone';
        if (send(fd, datagram, datagram.length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 'sent';
        return /^(EAGAIN|EWOULDBLOCK|ENOBUFS|ENOMEM|EMSGSIZE|EINTR)$/.test(name()) ? 'full' : 'gone';
      },
      [Symbol.dispose]() {
        if (open) close(fd);
        open = false;
      },
    };
  };
}
