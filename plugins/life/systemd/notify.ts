/** sd_notify: lines of VARIABLE=value as one datagram to a Unix socket. Node has no datagrams for these. */
export interface Notify extends Disposable {
  /** Never waits. What went wrong, if anything did. */
  tell(message: string): string | undefined;
}

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
/** sun_path of struct sockaddr_un. */
const PATH_BYTES = 108;

/**
 * `path` of $NOTIFY_SOCKET; a leading @ stands for the abstract namespace. koffi is a native package that may be
 * absent: imported only here.
 */
export async function connectNotify(path: string): Promise<Notify> {
  const address = addressOf(path);
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  const socket = library.func('int socket(int domain, int type, int protocol)');
  const connect = library.func('int connect(int fd, void *address, uint length)');
  const send = library.func('int64_t send(int fd, void *bytes, size_t count, int flags)');
  const close = library.func('int close(int fd)');
  const failed = (call: string) => `${call}: error ${koffi.errno()}`;
  const fd: number = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  if (fd < 0) throw new Error(`cannot tell the service manager anything: ${failed('socket')}`);
  let open = connect(fd, address, address.length) === 0;
  if (!open) {
    const reason = failed('connect');
    close(fd);
    throw new Error(`$NOTIFY_SOCKET does not answer: ${reason}`);
  }
  return {
    tell(message) {
      if (!open) return 'the socket is closed';
      const bytes = Buffer.from(message);
      return Number(send(fd, bytes, bytes.length, MSG_DONTWAIT_NOSIGNAL)) === bytes.length ? undefined : failed('send');
    },
    [Symbol.dispose]() {
      if (open) close(fd);
      open = false;
    },
  };
}

/** struct sockaddr_un. A name in the abstract namespace ends with the address, a path with a zero. */
export function addressOf(path: string): Buffer {
  const name = Buffer.from(path);
  const abstract = path.startsWith('@');
  if ((!abstract && !path.startsWith('/')) || name.length >= PATH_BYTES)
    throw new Error(`$NOTIFY_SOCKET is neither an absolute path nor an abstract name: ${path}`);
  if (abstract) name[0] = 0;
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat(abstract ? [family, name] : [family, name, Buffer.alloc(1)]);
}
