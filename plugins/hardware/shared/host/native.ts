/** Calls of the kernel by koffi, a native package that may be absent on a platform: it is loaded by the first bus. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  writeSync,
} from 'node:fs';
import { ReadStream } from 'node:tty';
import { isMainThread } from 'node:worker_threads';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { DescriptorStore, descriptorStore } from '@device-core/plugin-api/inside/descriptor-store';
import { THREADS } from '@device-core/plugin-api/inside/thread-pool';
import { type KernelCalls, KernelError, type Serial } from './calls.ts';
import { PollThread } from './poll-thread.ts';
import { Threads } from './threads.ts';

type Ioctl = (fd: number, request: number, argument: Uint8Array | number) => number;
type Asynchronous = Ioctl & { async(...args: readonly [...Parameters<Ioctl>, (e: unknown, r: number) => void]): void };

type Bind = (fd: number, address: Uint8Array, length: number) => number;
type SetOption = (fd: number, level: number, name: number, value: Uint8Array, length: number) => number;

const AF_CAN = 29;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000; // and EFD_CLOEXEC
const SOCK_NONBLOCK = 0o4000;
const CAN_RAW = 1;
const SIOCGIFINDEX = 0x8933;
const ENXIO = 6;
const EBUSY = 16;
const POLLIN = 1;
/** Records that are taken at once: twice of what the kernel keeps for a line. */
const MOST_PENDING = 128;

let loading: Promise<KernelCalls> | undefined;

/** One for all host buses of the process: they share its threads. Rejects with NOT_INITIALIZED. */
export function nativeCalls(): Promise<KernelCalls> {
  loading ??= load();
  return loading;
}

async function load(): Promise<KernelCalls> {
  const koffi = await import('koffi').then(
    (module) => module.default,
    (cause: unknown) => {
      const [first] = reasonOf(cause).split('\n');
      throw new CoreError('NOT_INITIALIZED', { reason: `the package koffi cannot be loaded (${first})` }, { cause });
    },
  );
  const library = koffi.load(null);
  const bound = <F>(prototype: string) => library.func(prototype) as unknown as F;
  const pointed = bound<Asynchronous>('int ioctl(int fd, unsigned long request, void *argument)');
  const valued = bound<Asynchronous>('int ioctl(int fd, unsigned long request, unsigned long value)');
  const socket = bound<(...numbers: readonly number[]) => number>('int socket(int domain, int type, int protocol)');
  const bind = bound<Bind>('int bind(int fd, void *address, unsigned int length)');
  const setsockopt = bound<SetOption>('int setsockopt(int fd, int level, int name, void *value, unsigned int length)');
  const eventfd = bound<(value: number, flags: number) => number>('int eventfd(unsigned int value, int flags)');
  const pollNow = bound<(fds: Buffer, count: number, ms: number) => number>(
    'int poll(void *fds, unsigned long count, int timeout)',
  );
  const readable = (fd: number): boolean => {
    const entry = Buffer.alloc(8); // struct pollfd
    entry.writeInt32LE(fd);
    entry.writeInt16LE(POLLIN, 4);
    return pollNow(entry, 1, 0) > 0 && (entry.readInt16LE(6) & POLLIN) !== 0;
  };
  const checked = (result: number, call: string): number => {
    if (result < 0) throw new KernelError(koffi.errno(), call);
    return result;
  };
  const threads = new Threads(THREADS);
  const poll = new PollThread(() => checked(eventfd(0, SOCK_CLOEXEC), 'eventfd'));
  const of = (argument: Uint8Array | number) => (typeof argument === 'number' ? valued : pointed);
  const calls: KernelCalls = {
    pointerBytes: process.arch === 'arm' || process.arch === 'ia32' ? 4 : 8,
    // Descriptors that the process was given are the main thread's; a worker has the same variables and must not take them again.
    store: isMainThread ? descriptorStore : new DescriptorStore({}, 0),
    nowUs: () => Number(process.hrtime.bigint() / 1_000n),
    open: (path) => kernelOpen(path),
    close: (fd) => poll.close(fd),
    identity(fd) {
      const { rdev, ino, birthtimeMs } = fstatSync(fd);
      return `${rdev}-${ino}-${Math.round(birthtimeMs)}`;
    },
    address: (bytes) => koffi.address(bytes),
    ioctl: (fd, request, argument) => checked(of(argument)(fd, request, argument), named(request)),
    wait: (fd, request, argument) =>
      threads.run(
        () =>
          new Promise((resolve, reject) => {
            of(argument).async(fd, request, argument, (error, result) => {
              // The number is that of this call in here alone, and only before anything else is called.
              const errno = koffi.errno();
              if (error) reject(error);
              else if (result < 0) reject(new KernelError(errno, named(request)));
              else resolve(result);
            });
          }),
      ),
    serial: openSerial,
    canSocket(device) {
      const fd = checked(socket(AF_CAN, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, CAN_RAW), 'socket');
      try {
        const request = Buffer.alloc(40); // struct ifreq
        request.write(device.slice(0, 15), 'latin1');
        calls.ioctl(fd, SIOCGIFINDEX, request);
        const address = Buffer.alloc(24); // struct sockaddr_can
        address.writeUInt16LE(AF_CAN);
        address.writeInt32LE(request.readInt32LE(16), 4);
        checked(bind(fd, address, address.length), `bind to ${device}`);
        return fd;
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    },
    setOption: (fd, level, name, value) => void checked(setsockopt(fd, level, name, value, value.length), 'setsockopt'),
    write: (fd, bytes) => void system(() => writeSync(fd, bytes), 'write'),
    pending(fd, bytes) {
      const records: Uint8Array[] = [];
      while (records.length < MOST_PENDING && readable(fd)) {
        const buffer = Buffer.alloc(bytes);
        const size = system(() => readSync(fd, buffer), 'read');
        if (size === 0) break;
        records.push(buffer.subarray(0, size));
      }
      return records;
    },
    watch: (fd, bytes, hear, over) => poll.watch(fd, bytes, { hear, over }),
  };
  return calls;
}

const named = (request: number): string => `ioctl 0x${(request >>> 0).toString(16)}`;

/** Opens a device for reading and writing, without waiting. Throws KernelError. */
export function kernelOpen(path: string): number {
  const { O_RDWR, O_NONBLOCK, O_NOCTTY } = constants;
  return system(() => openSync(path, O_RDWR | O_NONBLOCK | O_NOCTTY), 'open');
}

function system<T>(call: () => T, name: string): T {
  try {
    return call();
  } catch (error) {
    const { errno = -ENXIO } = error as { errno?: number };
    throw new KernelError(-errno, name);
  }
}

/** A ReadStream takes bytes for both directions without waiting; a WriteStream stops the Core where the line is full. */
function openSerial(path: string): Serial {
  const fd = kernelOpen(path);
  const given = kernelOpen(path);
  const before = descriptorsOf(path);
  const stream = new ReadStream(given);
  // libuv opens the line once more for itself, and leaves the one that it was given.
  if (descriptorsOf(path) > before) closeSync(given);
  else {
    // Without that its writes would wait, and the Core with them.
    stream.destroy();
    closeSync(fd);
    throw new KernelError(EBUSY, 'open');
  }
  return { fd, stream };
}

function descriptorsOf(path: string): number {
  const device = realpathSync(path);
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === device;
    } catch {
      return false; // the descriptor of this list itself
    }
  }).length;
}
