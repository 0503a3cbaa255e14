/** A chip select of an SPI bus of the host, by spidev: linux/spi/spidev.h. Its structures have one form on all machines. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CoreError } from '@device-core/plugin-api';
import { type KernelCalls, KernelError } from '../shared/host/calls.ts';
import type { HostDevice } from '../shared/host/host-bus.ts';
import { refusal } from '../shared/host/status.ts';

export interface SpiNode {
  /** Name of the endpoint. */
  readonly name: string;
  /** Its last number is the chip select. */
  readonly path: string;
}

const SPI = { getMode: 0x8004_6b05, setMode: 0x4004_6b05, message: 0x4020_6b00 } as const;
/** SPI_CS_HIGH, SPI_LSB_FIRST */
const MODE = { csHigh: 4, lsbFirst: 8 } as const;
/** Flags of XFER (docs/cbp.md section 12); ATOMIC holds by itself, as the kernel has all bytes first. */
const FLAG = { lsbFirst: 1, csHigh: 2, keepCs: 4 } as const;
const TRANSFER = 0x01;
const HEAD = 16;
const STRUCT_BYTES = 32;
const EINVAL = 22;
/** The kernel's default, where its parameter cannot be read. */
const BUFSIZ = 4_096;
export const MAX_BYTES = 65_536;

/** Opens it. Throws KernelError. */
export async function openNode(node: SpiNode, calls: KernelCalls, sys: string): Promise<HostDevice> {
  const parameter = await readFile(join(sys, 'module/spidev/parameters/bufsiz'), 'utf8').catch(() => '');
  const fd = calls.open(node.path);
  try {
    // Another kind of device refuses this with ENOTTY.
    calls.ioctl(fd, SPI.getMode, Buffer.alloc(4));
  } catch (error) {
    calls.close(fd);
    throw error;
  }
  return new Device(node, calls, fd, Number(parameter) || BUFSIZ);
}

class Device implements HostDevice {
  readonly boot: string;
  readonly #node: SpiNode;
  readonly #calls: KernelCalls;
  readonly #fd: number;
  readonly #bufsiz: number;
  #mode: number | undefined;

  constructor(node: SpiNode, calls: KernelCalls, fd: number, bufsiz: number) {
    this.boot = calls.identity(fd);
    this.#node = node;
    this.#calls = calls;
    this.#fd = fd;
    this.#bufsiz = bufsiz;
  }

  request(op: number, body: Buffer): Promise<Uint8Array> {
    if (op !== TRANSFER) throw this.#refused('UNSUPPORTED');
    if (body.length < HEAD) throw this.#refused('INVALID');
    const [cs, mode = 0, bits = 0, flags = 0] = body;
    const [hz, length, wanted] = [body.readUInt32LE(4), body.readUInt32LE(8), body.readUInt32LE(12)];
    const tx = body.subarray(HEAD);
    if (tx.length > length || wanted > length || mode > 3) throw this.#refused('INVALID');
    const selects = Number(/\d+$/.exec(this.#node.path)?.[0]);
    if (cs !== selects) throw this.#refused('INVALID', `${this.#node.path} is chip select ${selects}, and not ${cs}`);
    if (length > this.#bufsiz)
      throw this.#refused('TOO_BIG', `the parameter bufsiz of the module spidev is ${this.#bufsiz}`);
    this.#select(mode | (flags & FLAG.csHigh ? MODE.csHigh : 0) | (flags & FLAG.lsbFirst ? MODE.lsbFirst : 0));
    return this.#transfer({ hz, bits, keepCs: (flags & FLAG.keepCs) !== 0, length, wanted, tx });
  }

  close(): void {
    this.#calls.close(this.#fd);
  }

  #select(mode: number): void {
    if (mode === this.#mode) return;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(mode);
    try {
      this.#calls.ioctl(this.#fd, SPI.setMode, bytes);
    } catch (error) {
      if (error instanceof KernelError && error.errno === EINVAL) throw this.#refused('BAD_MODE');
      throw error;
    }
    this.#mode = mode;
  }

  async #transfer(transfer: {
    readonly hz: number;
    readonly bits: number;
    readonly keepCs: boolean;
    readonly length: number;
    readonly wanted: number;
    readonly tx: Buffer;
  }): Promise<Uint8Array> {
    const { hz, bits, keepCs, length, wanted, tx } = transfer;
    // `struct spi_ioc_transfer`, the bytes to send, the bytes that come.
    const argument = Buffer.alloc(STRUCT_BYTES + 2 * length);
    tx.copy(argument, STRUCT_BYTES);
    const base = this.#calls.address(argument);
    argument.writeBigUInt64LE(base + BigInt(STRUCT_BYTES), 0);
    argument.writeBigUInt64LE(base + BigInt(STRUCT_BYTES + length), 8);
    argument.writeUInt32LE(length, 16);
    argument.writeUInt32LE(hz, 20);
    argument[26] = bits;
    argument[27] = keepCs ? 1 : 0;
    await this.#calls.wait(this.#fd, SPI.message, argument);
    return new Uint8Array(argument.subarray(STRUCT_BYTES + length, STRUCT_BYTES + length + wanted));
  }

  #refused(status: string, reason?: string): CoreError {
    return refusal(this.#node.name, status, reason);
  }
}
