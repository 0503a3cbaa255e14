/**
 * The wire to a real bridge: Linux spidev through the addon of spi-device. One transaction at a time, as two at once
 * have no order there. The device is opened by the first transaction and again after a failure, so that a device node
 * that appears later, or a permission that is granted, is enough.
 */
import { afterOwnTime, type Clock, CoreError, type Logger, OwnTimeLimit, reasonOf } from '@device-core/plugin-api';
import type { BridgePort } from '@device-core/plugin-api/services/bridge-port';
import { loadAddon, type SpiDevice, type SpiMessage } from './addon.ts';
import type { ReadyLine } from './ready-line.ts';
import type { ResetLine } from './reset-line.ts';

/** The wire of CBP is mode 0. */
const MODE = 0;

export interface SpidevOptions {
  /** `/dev/spidev0.0` */
  readonly device: string;
  readonly maxSpeedHz: number;
  /** Longest message that the kernel's driver takes (its parameter bufsiz), bytes. */
  readonly maxTransfer: number;
  readonly transactTimeoutMs: number;
  readonly ready: ReadyLine;
  readonly reset: ResetLine | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Caller's wait for a transaction. */
interface Waiting {
  readonly limit: OwnTimeLimit;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class SpidevPort implements BridgePort, AsyncDisposable {
  readonly #options: SpidevOptions;
  #device: SpiDevice | undefined;
  #opening: Promise<SpiDevice> | undefined;
  /** Settles when the kernel has let go of the transaction, which may be long after its deadline. */
  #outstanding: Promise<unknown> | undefined;
  #waiting: Waiting | undefined;
  /** One timer that looks after the transactions: most of them are over long before it, and one each would cost more. */
  #timer: Disposable | undefined;
  #closed = false;
  /** Why there is no device now. */
  problem: CoreError | undefined;

  constructor(options: SpidevOptions) {
    this.#options = options;
  }

  async info() {
    const { device, maxTransfer, ready } = this.#options;
    return { driver: 'spidev', device, maxTransfer, ...(ready.source === 'polled' ? { polled: true } : {}) };
  }

  async transact(tx: Uint8Array, { speedHz }: { readonly speedHz?: number } = {}): Promise<Uint8Array> {
    const { maxTransfer, maxSpeedHz, ready } = this.#options;
    if (this.#waiting) throw this.#failed('a transaction is under way already');
    if (tx.length === 0 || tx.length > maxTransfer)
      throw this.#failed(`${tx.length} bytes are not between 1 and ${maxTransfer}`);
    const message: SpiMessage = {
      byteLength: tx.length,
      sendBuffer: Buffer.from(tx),
      receiveBuffer: Buffer.allocUnsafe(tx.length),
      speedHz: Math.min(speedHz ?? maxSpeedHz, maxSpeedHz),
    };
    try {
      await this.#inTime(message);
      return message.receiveBuffer;
    } finally {
      this.#waiting = undefined;
      ready.transacted();
    }
  }

  onReady(listener: (level: boolean) => void): Disposable {
    return this.#options.ready.listen(listener);
  }

  async reset(): Promise<void> {
    await this.#options.reset?.pulse();
    this.#options.ready.wake();
  }

  /** Opens the device now, to learn early what is wrong with it. */
  async probe(): Promise<void> {
    if (!this.#waiting) await this.#open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
    this.problem = new CoreError('NOT_INITIALIZED', { reason: 'the port is closed' });
    // A transaction that never ends keeps its descriptor: closing it underneath would hand the number to another file.
    if (this.#outstanding && !(await this.#settles(this.#outstanding))) return;
    await this.#close();
  }

  async #run(message: SpiMessage, waiting: Waiting): Promise<void> {
    if (this.#outstanding) await this.#outstanding;
    const device = this.#device ?? (await this.#open());
    // Its caller gave up while it waited: now it is the turn of others.
    if (this.#waiting !== waiting) return;
    const { promise, resolve } = Promise.withResolvers<Error | null | undefined>();
    this.#outstanding = promise;
    try {
      device.transfer([message], resolve);
    } catch (error) {
      resolve(error instanceof Error ? error : new Error(String(error)));
    }
    const error = await promise;
    this.#outstanding = undefined;
    if (!error) return;
    await this.#close();
    throw this.#failed(reasonOf(error));
  }

  #open(): Promise<SpiDevice> {
    if (this.#closed) return Promise.reject(this.problem);
    if (this.#device) return Promise.resolve(this.#device);
    this.#opening ??= this.#openDevice().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openDevice(): Promise<SpiDevice> {
    const { device: path, maxSpeedHz, log } = this.#options;
    try {
      const addon = await loadAddon();
      const { bus, chip } = numbersOf(path);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const options = { mode: MODE, maxSpeedHz };
      const device = addon.open(bus, chip, options, (error) => (error ? reject(error) : resolve()));
      await promise;
      this.#device = device;
      this.problem = undefined;
      log.info({ device: path }, 'the wire to the bridge is open');
      return device;
    } catch (error) {
      const said =
        error instanceof CoreError ? error : new CoreError('NOT_INITIALIZED', { reason: absence(path, error) });
      if (said.message !== this.problem?.message)
        log.warn({ device: path, reason: said.message }, 'no wire to the bridge');
      this.problem = said;
      throw said;
    }
  }

  async #close(): Promise<void> {
    const device = this.#device;
    this.#device = undefined;
    if (!device) return;
    const { promise, resolve } = Promise.withResolvers<Error | null | undefined>();
    device.close(resolve);
    const error = await promise;
    if (error)
      this.#options.log.warn({ device: this.#options.device, reason: reasonOf(error) }, 'the wire did not close');
  }

  /** Deadline of a transaction, which the kernel does not keep. A failure after the deadline is dropped. */
  #inTime(message: SpiMessage): Promise<void> {
    const { clock, transactTimeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { limit: new OwnTimeLimit(clock, transactTimeoutMs), resolve, reject };
    this.#waiting = waiting;
    this.#timer ??= clock.after(transactTimeoutMs, () => this.#look());
    this.#run(message, waiting).then(resolve, reject);
    return promise;
  }

  #look(): void {
    const { device, clock, transactTimeoutMs: ms } = this.#options;
    const left = this.#waiting?.limit.leftMs;
    this.#timer = left ? clock.after(Math.max(1, left), () => this.#look()) : undefined;
    if (left === 0) this.#waiting!.reject(new CoreError('TIMEOUT', { what: `a transaction on ${device}`, ms }));
  }

  /** False where it takes longer than a transaction may. */
  #settles(work: Promise<unknown>): Promise<boolean> {
    const { clock, transactTimeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const late = afterOwnTime(clock, transactTimeoutMs, () => resolve(false));
    work.then(() => resolve(true), reject);
    return promise.finally(() => late[Symbol.dispose]());
  }

  #failed(reason: string): CoreError {
    return new CoreError('TRANSFER_FAILED', { handle: this.#options.device, reason });
  }
}

function numbersOf(path: string): { readonly bus: number; readonly chip: number } {
  const [, bus, chip] = /^\/dev\/spidev(\d+)\.(\d+)$/.exec(path) ?? [];
  return { bus: Number(bus), chip: Number(chip) };
}

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such device node; is spidev bound to the bus?',
  EACCES: 'no permission; a udev rule or the group of the node must let the Core in',
  EBUSY: 'another program has it',
};

function absence(path: string, error: unknown): string {
  const code = (error as { readonly code?: string }).code ?? /\b(E[A-Z]+)\b/.exec(reasonOf(error))?.[1] ?? '';
  const hint = HINTS[code];
  return `cannot open ${path}: ${hint === undefined ? reasonOf(error) : `${hint} (${code})`}`;
}
