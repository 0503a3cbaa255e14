/** An I2C adapter of the host, by i2c-dev. */
import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import type { KernelCalls } from '../shared/host/calls.ts';
import type { HostDevice } from '../shared/host/host-bus.ts';
import { refusal } from '../shared/host/status.ts';
import { FUNC, I2C, rdwrRequest, smbusRequest, type Transfer, transferIn } from './structs.ts';

export interface I2cBus {
  /** Name of the endpoint. */
  readonly name: string;
  readonly path: string;
  /** Name of the adapter, as the kernel has it. */
  readonly adapter?: string;
}

const OP = { transfer: 0x01, configure: 0x02, recover: 0x03 } as const;
export const MAX_BYTES = 4_096;
const EMPTY = new Uint8Array(0);
/** Unit of I2C_TIMEOUT. */
const TIMEOUT_UNIT_MS = 10;

/** Opens it. Throws KernelError, or NOT_INITIALIZED for another adapter than the SKU's. */
export async function openAdapter(bus: I2cBus, calls: KernelCalls, sys: string): Promise<HostDevice> {
  const node = basename(await realpath(bus.path).catch(() => bus.path));
  const folder = join(sys, 'class/i2c-dev', node);
  const fd = calls.open(bus.path);
  try {
    // Another kind of device refuses this with ENOTTY.
    const answer = Buffer.alloc(8);
    calls.ioctl(fd, I2C.funcs, answer);
    const funcs = answer.readUInt32LE();
    const name = await readFile(join(folder, 'name'), 'utf8').then(
      (text) => text.trim(),
      () => undefined, // a kernel without /sys: the name cannot be compared
    );
    if (bus.adapter !== undefined && name !== bus.adapter) {
      const reason = `${bus.path} is the adapter "${name ?? 'unknown'}" and not "${bus.adapter}"`;
      throw new CoreError('NOT_INITIALIZED', { reason });
    }
    const clock = await readFile(join(folder, 'device/of_node/clock-frequency')).catch(() => undefined); // not of a device tree
    return new Adapter(bus.name, calls, { fd, funcs, hz: clock?.length === 4 ? clock.readUInt32BE() : undefined });
  } catch (error) {
    calls.close(fd);
    throw error;
  }
}

interface Opened {
  readonly fd: number;
  readonly funcs: number;
  /** Speed of the bus, where the device tree says it. */
  readonly hz: number | undefined;
}

class Adapter implements HostDevice {
  readonly boot: string;
  readonly #name: string;
  readonly #calls: KernelCalls;
  readonly #opened: Opened;
  #timeout = 0;

  constructor(name: string, calls: KernelCalls, opened: Opened) {
    this.boot = calls.identity(opened.fd);
    this.#name = name;
    this.#calls = calls;
    this.#opened = opened;
  }

  request(op: number, body: Buffer, { deadlineMs }: { readonly deadlineMs: number }): Uint8Array | Promise<Uint8Array> {
    if (op === OP.configure) return this.#configure(body);
    if (op === OP.recover) throw this.#refused('UNSUPPORTED', 'the driver of the kernel recovers the bus by itself');
    if (op !== OP.transfer) throw this.#refused('UNSUPPORTED');
    const transfer = transferIn(body);
    if (!transfer) throw this.#refused('INVALID');
    if (transfer.segments.reduce((sum, { length }) => sum + length, 0) > MAX_BYTES) throw this.#refused('TOO_BIG');
    return this.#transfer(transfer, deadlineMs);
  }

  close(): void {
    this.#calls.close(this.#opened.fd);
  }

  async #transfer(transfer: Transfer, deadlineMs: number): Promise<Uint8Array> {
    const { fd, funcs } = this.#opened;
    const { pointerBytes } = this.#calls;
    const addressOf = (bytes: Uint8Array) => this.#calls.address(bytes);
    if (transfer.tenBit && !(funcs & FUNC.tenBit))
      throw this.#refused('UNSUPPORTED', 'the adapter has no ten-bit addresses');
    const timeout = Math.ceil(deadlineMs / TIMEOUT_UNIT_MS);
    if (timeout !== this.#timeout) {
      // The kernel gives up then, too; an adapter keeps it to itself where it cannot.
      this.#calls.ioctl(fd, I2C.timeout, timeout);
      this.#timeout = timeout;
    }
    if (funcs & FUNC.i2c) {
      const request = rdwrRequest(transfer, pointerBytes, addressOf);
      await this.#calls.wait(fd, I2C.rdwr, request.argument);
      return request.answer();
    }
    const request = smbusRequest(transfer, pointerBytes, addressOf);
    if (!request) throw this.#refused('UNSUPPORTED', 'the adapter knows SMBus alone, which has no such transfer');
    this.#calls.ioctl(fd, I2C.slave, transfer.address);
    await this.#calls.wait(fd, I2C.smbus, request.argument);
    return request.answer();
  }

  /** The device tree sets the speed: a handle may ask for what is so. */
  #configure(body: Buffer): Uint8Array {
    const { hz } = this.#opened;
    if (body.length !== 4) throw this.#refused('INVALID');
    if (hz === body.readUInt32LE()) return EMPTY;
    const now = hz === undefined ? '' : `, to ${hz} Hz`;
    throw this.#refused('UNSUPPORTED', `the device tree sets the speed${now}`);
  }

  #refused(status: string, reason?: string): CoreError {
    return refusal(this.#name, status, reason);
  }
}
