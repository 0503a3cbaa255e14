/** Names of the two ends of a socket, which Node does not tell. */

/** sockaddr_un: two bytes of family, 108 of a name. */
const ADDRESS_BYTES = 110;
const AF_UNIX = 1;

export interface SocketNames {
  /** Name of this end; a name in the abstract namespace begins with a zero byte. Empty where there is none. */
  own(fd: number): string;
  peer(fd: number): string;
  /** A second descriptor of the same socket: the first one stays open for whoever comes next. */
  copy(fd: number): number;
}

type Names = (fd: number, address: Buffer, size: Buffer) => number;

/** koffi is native and comes by npm: it is imported only here. */
export async function loadSocketNames(): Promise<SocketNames> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  const getsockname = libc.func('int getsockname(int fd, void *address, void *size)') as unknown as Names;
  const getpeername = libc.func('int getpeername(int fd, void *address, void *size)') as unknown as Names;
  const dup = libc.func('int dup(int fd)') as unknown as (fd: number) => number;
  const name = (ask: Names, fd: number): string => {
    const address = Buffer.alloc(ADDRESS_BYTES);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(ADDRESS_BYTES);
    if (ask(fd, address, size) !== 0 || address.readUInt16LE(0) !== AF_UNIX) return '';
    const text = address.toString('latin1', 2, Math.min(size.readUInt32LE(0), ADDRESS_BYTES));
    return text.startsWith('\0') ? text : text.replace(/\0.*$/s, '');
  };
  return { own: (fd) => name(getsockname, fd), peer: (fd) => name(getpeername, fd), copy: dup };
}
