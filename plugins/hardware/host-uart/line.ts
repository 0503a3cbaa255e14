/** A serial line of the host. */
import type { Duplex } from 'node:stream';
import type { CoreError } from '@device-core/plugin-api';
import { type KernelCalls, KernelError } from '../shared/host/calls.ts';
import type { DeviceEars, HostDevice } from '../shared/host/host-bus.ts';
import { refusal } from '../shared/host/status.ts';
import { differs, emptyCounts, emptyTermios, errorBits, formatIn, type LineFormat, TTY, termios } from './structs.ts';

export interface UartLine {
  /** Name of the endpoint. */
  readonly name: string;
  readonly path: string;
}

const OP = { configure: 0x01, write: 0x02, drain: 0x03 } as const;
const EVENT = { received: 0x80, error: 0x81 } as const;
export const MAX_BYTES = 4_096;
const EMPTY = new Uint8Array(0);

/**
 * Opens it. Throws KernelError. A line that stays open while the Core restarts keeps its settings and modem lines, and
 * the bytes that came meanwhile.
 */
export function openLine(line: UartLine, calls: KernelCalls, ears: DeviceEars): HostDevice {
  const left = calls.store.take(nameOf(line));
  try {
    return openedLine(line, calls, ears, left);
  } finally {
    if (left !== undefined) calls.close(left);
  }
}

const nameOf = ({ name }: UartLine): string => `host-uart.${name}`;

function openedLine(line: UartLine, calls: KernelCalls, ears: DeviceEars, left: number | undefined): HostDevice {
  if (left !== undefined) share(calls, left);
  const { fd, stream } = calls.serial(line.path);
  try {
    // Another kind of device refuses this with ENOTTY. Programs that open the line later are refused.
    calls.ioctl(fd, TTY.get, emptyTermios());
    calls.ioctl(fd, TTY.exclusive, 0);
    calls.store.hold(nameOf(line), fd);
    return new Line(line, calls, ears, { fd, stream });
  } catch (error) {
    stream.destroy();
    calls.close(fd);
    throw error;
  }
}

/** The process that opened the line kept others out; the kernel goes on with that as long as it is open. */
function share(calls: KernelCalls, fd: number): void {
  try {
    calls.ioctl(fd, TTY.shared, 0);
  } catch (error) {
    if (!(error instanceof KernelError)) throw error; // it hung up meanwhile
  }
}

class Line implements HostDevice {
  readonly boot: string;
  readonly #line: UartLine;
  readonly #calls: KernelCalls;
  readonly #ears: DeviceEars;
  readonly #fd: number;
  readonly #stream: Duplex;
  /** Undefined where the driver counts no errors. */
  #counts: Buffer | undefined;

  constructor(line: UartLine, calls: KernelCalls, ears: DeviceEars, opened: { fd: number; stream: Duplex }) {
    this.#line = line;
    this.#calls = calls;
    this.#ears = ears;
    this.#fd = opened.fd;
    this.#stream = opened.stream;
    // Drivers forget the settings of a line that no program has open.
    this.boot = `${calls.identity(opened.fd)} ${calls.nowUs()}`;
    this.#counts = this.#countsNow();
    const gone = (reason: string) => ears.gone(`${line.path} ${reason}`);
    this.#stream.on('error', (error) => gone(`failed: ${error.message}`)).on('end', () => gone('hung up'));
  }

  request(op: number, body: Buffer): Uint8Array | Promise<Uint8Array> {
    if (op === OP.write) return this.#write(body);
    if (op === OP.drain) return this.#drain();
    if (op !== OP.configure) throw this.#refused('UNSUPPORTED');
    const format = formatIn(body);
    if (!format) throw this.#refused('INVALID');
    return this.#configure(format);
  }

  close(): void {
    this.#stream.destroy();
    this.#calls.store.part(nameOf(this.#line));
    this.#calls.close(this.#fd);
  }

  #configure(format: LineFormat): Uint8Array {
    if (format.bits === 9) throw this.#refused('UNSUPPORTED', 'the kernel has no lines of nine bits');
    const wanted = termios(format);
    const taken = emptyTermios();
    this.#calls.ioctl(this.#fd, TTY.set, wanted);
    this.#calls.ioctl(this.#fd, TTY.get, taken);
    const refused = differs(wanted, taken);
    if (refused === 'speed') throw this.#refused('BAD_SPEED', `the driver cannot make ${format.baud} baud`);
    if (refused) throw this.#refused('UNSUPPORTED', 'the driver does not have this format');
    // Before the first settings there is no listener, and a line that was left may have bytes for one.
    if (this.#stream.listenerCount('data') === 0) this.#stream.on('data', (bytes: Buffer) => this.#received(bytes));
    return EMPTY;
  }

  /** Answers when the driver has taken the bytes; a line that is full takes its time, and nothing waits for it but this line. */
  #write(body: Buffer): Promise<Uint8Array> {
    if (body.length > MAX_BYTES) throw this.#refused('TOO_BIG');
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const answer = Buffer.alloc(4);
    answer.writeUInt32LE(body.length);
    // The caller may use its bytes again while these wait.
    this.#stream.write(Buffer.from(body), (error) => (error ? reject(error) : resolve(answer)));
    return promise;
  }

  async #drain(): Promise<Uint8Array> {
    await this.#calls.wait(this.#fd, TTY.drain, 1);
    return EMPTY;
  }

  #received(bytes: Buffer): void {
    this.#ears.tell({ op: EVENT.received, data: new Uint8Array(bytes) });
    const before = this.#counts;
    if (!before) return;
    this.#counts = this.#countsNow();
    const bits = this.#counts ? errorBits(before, this.#counts) : 0;
    if (bits !== 0) this.#ears.tell({ op: EVENT.error, data: Uint8Array.of(bits) });
  }

  #countsNow(): Buffer | undefined {
    try {
      const counts = emptyCounts();
      this.#calls.ioctl(this.#fd, TTY.counts, counts);
      return counts;
    } catch (error) {
      if (error instanceof KernelError) return undefined; // a pseudo terminal, or a line that went: its stream tells
      throw error;
    }
  }

  #refused(status: string, reason?: string): CoreError {
    return refusal(this.#line.name, status, reason);
  }
}
