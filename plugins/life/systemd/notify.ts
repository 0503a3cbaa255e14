/** sd_notify: lines of VARIABLE=value as one datagram to a Unix socket. Node has no datagrams for these. */
export interface Notify extends Disposable {
  /** Never waits. A copy of the descriptor goes with the message, where the reader can take one. What went wrong, if anything did. */
  tell(message: string, descriptor?: number): string | undefined;
}

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
/** sun_path of struct sockaddr_un. */
const PATH_BYTES = 108;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const WORD = process.arch === 'arm' || process.arch === 'ia32' ? 4 : 8;

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
  const sendmsg = library.func('int64_t sendmsg(int fd, void *message, int flags)');
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
    tell(message, descriptor) {
      if (!open) return 'the socket is closed';
      const bytes = Buffer.from(message);
      const sent =
        descriptor === undefined
          ? send(fd, bytes, bytes.length, MSG_DONTWAIT_NOSIGNAL)
          : sendmsg(fd, messageOf(bytes, descriptor, koffi.address), MSG_DONTWAIT_NOSIGNAL);
      return Number(sent) === bytes.length ? undefined : failed('send');
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

/** `struct msghdr` of one datagram and one descriptor, with all that it points to behind it. Words are as wide as pointers. */
export function messageOf(
  bytes: Buffer,
  descriptor: number,
  addressOf: (bytes: Buffer) => bigint,
  word = WORD,
): Buffer {
  const head = 7 * word;
  const parts = head + 2 * word;
  const control = word + 8 + 4; // struct cmsghdr: its length, level and type, and one descriptor
  const text = parts + Math.ceil(control / word) * word;
  const message = Buffer.alloc(text + bytes.length);
  const put = (at: number, value: number | bigint) =>
    word === 8 ? message.writeBigUInt64LE(BigInt(value), at) : message.writeUInt32LE(Number(value), at);
  const base = addressOf(message);
  for (const [index, value] of [0, 0, base + BigInt(head), 1, base + BigInt(parts), text - parts].entries())
    put(index * word, value);
  put(head, base + BigInt(text));
  put(head + word, bytes.length);
  put(parts, control);
  message.writeInt32LE(SOL_SOCKET, parts + word);
  message.writeInt32LE(SCM_RIGHTS, parts + word + 4);
  message.writeInt32LE(descriptor, parts + word + 8);
  bytes.copy(message, text);
  return message;
}
