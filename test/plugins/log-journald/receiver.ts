/** A journal for tests: the end of a real AF_UNIX datagram socket that takes what the plugin sends. */
import { rmSync } from 'node:fs';
import koffi from 'koffi';

const library = koffi.load(null);
const socket = library.func('int socket(int domain, int type, int protocol)');
const bind = library.func('int bind(int fd, void *address, uint32_t length)');
const recv = library.func('intptr_t recv(int fd, void *bytes, size_t length, int flags)');
const close = library.func('int close(int fd)');
const MSG_DONTWAIT = 0x40;

export interface Receiver extends Disposable {
  /** Every datagram that waits. */
  take(): readonly Buffer[];
}

export function listen(path: string): Receiver {
  rmSync(path, { force: true });
  const address = Buffer.alloc(110);
  address.writeUInt16LE(1);
  address.write(path, 2);
  const fd = socket(1, 2 | 0o2000000, 0) as number;
  if (bind(fd, address, 2 + Buffer.byteLength(path) + 1) !== 0) throw new Error(`cannot listen at ${path}`);
  const room = Buffer.alloc(1 << 20);
  return {
    take() {
      const found: Buffer[] = [];
      for (;;) {
        const length = recv(fd, room, room.length, MSG_DONTWAIT) as number;
        if (length < 0) return found;
        found.push(Buffer.from(room.subarray(0, length)));
      }
    },
    [Symbol.dispose]() {
      close(fd);
      rmSync(path, { force: true });
    },
  };
}

/** Reads an entry as journald does (native protocol): each member in its order. Throws where it is none. */
export function membersOf(datagram: Buffer): readonly (readonly [name: string, value: Buffer])[] {
  const members: [string, Buffer][] = [];
  for (let at = 0; at < datagram.length; ) {
    const end = datagram.indexOf(10, at);
    if (end < 0) throw new Error('a member has no end');
    const text = datagram.subarray(at, end);
    const equals = text.indexOf(61);
    if (equals >= 0) {
      members.push([text.toString('latin1', 0, equals), text.subarray(equals + 1)]);
      at = end + 1;
    } else {
      const length = Number(datagram.readBigUInt64LE(end + 1));
      const from = end + 9;
      if (from + length >= datagram.length || datagram[from + length] !== 10) throw new Error('a length is wrong');
      members.push([text.toString('latin1'), datagram.subarray(from, from + length)]);
      at = from + length + 1;
    }
  }
  for (const [name] of members)
    if (!/^[A-Z][A-Z0-9_]*$/.test(name)) throw new Error(`"${name}" is no name of a member`);
  return members;
}

export const entryOf = (datagram: Buffer): Readonly<Record<string, string>> =>
  Object.fromEntries(membersOf(datagram).map(([name, value]) => [name, value.toString('utf8')]));
