/** Calls of the Linux kernel that host buses make: the native ones, or a table in memory in a test. */
import type { Duplex } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import type { DescriptorStore } from '@device-core/plugin-api/inside/descriptor-store';

export interface KernelCalls {
  /** Bytes of a pointer in the structures of this kernel. */
  readonly pointerBytes: 4 | 8;
  /** Descriptors that outlast the Core. */
  readonly store: HeldDescriptors;
  /** Microseconds of CLOCK_MONOTONIC, which the kernel stamps its records with. */
  nowUs(): number;
  /** Opens a device for reading and writing, without waiting. Throws KernelError. */
  open(path: string): number;
  close(fd: number): void;
  /** Another text for another device at the same path. */
  identity(fd: number): string;
  /** Address of the first byte; the bytes stay there while the caller holds them. */
  address(bytes: Uint8Array): bigint;
  /** An ioctl that cannot sleep, in the event loop. Throws KernelError. */
  ioctl(fd: number, request: number, argument: Uint8Array | number): number;
  /** An ioctl that may wait for a wire, in a thread. Rejects with KernelError. */
  wait(fd: number, request: number, argument: Uint8Array | number): Promise<number>;
  /** Opens a serial line: a descriptor for its settings, and its bytes both ways. Throws KernelError. */
  serial(path: string): Serial;
  /** A raw socket of a CAN interface, bound. Throws KernelError. */
  canSocket(device: string): number;
  setOption(fd: number, level: number, name: number, value: Uint8Array): void;
  /** Writes without waiting. Throws KernelError, EAGAIN or ENOBUFS where there is no room. */
  write(fd: number, bytes: Uint8Array): void;
  /** Records of at most `bytes` bytes that are there already. */
  pending(fd: number, bytes: number): readonly Uint8Array[];
  /**
   * Hears records of at most `bytes` bytes as they come, until it is disposed of. `over` is called once where the
   * descriptor gives no more. `lost` records were dropped before this one.
   */
  watch(
    fd: number,
    bytes: number,
    hear: (record: Uint8Array, lost: number) => void,
    over: (error: Error) => void,
  ): Disposable;
}

export type HeldDescriptors = Pick<DescriptorStore, 'take' | 'hold' | 'part'>;

export interface Serial {
  readonly fd: number;
  readonly stream: Duplex;
}

/** A call that the kernel refused. */
export class KernelError extends Error {
  readonly errno: number;
  /** `EREMOTEIO` */
  readonly word: string;

  constructor(errno: number, call: string) {
    const word = errnoWord(errno);
    super(`${call}: ${word}`);
    this.errno = errno;
    this.word = word;
  }
}

function errnoWord(errno: number): string {
  const word = getSystemErrorName(-errno);
  return /^E/.test(word) ? word : `errno ${errno}`;
}
