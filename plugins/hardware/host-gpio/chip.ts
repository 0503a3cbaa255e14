/** A GPIO controller of the host, by its character device: one request for each line, so that settings stay apart. */
import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { type KernelCalls, KernelError } from '../shared/host/calls.ts';
import type { DeviceEars, HostDevice } from '../shared/host/host-bus.ts';
import { refusal } from '../shared/host/status.ts';
import { EDGE_EVENT, KEEP, type LineSettings, linesIn, OP, settingsIn } from './body.ts';
import * as structs from './structs.ts';

export interface GpioChip {
  /** Name of the endpoint. */
  readonly name: string;
  readonly path: string;
  /** Label of the controller, as the kernel has it. */
  readonly label?: string;
  /** Line of the controller that is line 0 of the endpoint. */
  readonly first: number;
}

const { GPIO } = structs;
const CONSUMER = 'device-core';
const EBUSY = 16;
const EMPTY = new Uint8Array(0);
/** Events of one read. */
const READ_BYTES = 16 * structs.EVENT_BYTES;

/** Name of a line that was put to its safe level when the Core ended. */
const safely = (name: string): string => `${name}.safe`;
const hasSafe = ({ direction, safe }: LineSettings): boolean => direction !== 0 && safe !== KEEP;

interface Line {
  readonly fd: number;
  settings: LineSettings;
  /** As a former process left it, up to its first settings here. */
  left?: { readonly flags: number; readonly output: boolean } | undefined;
  listening: Disposable | undefined;
  /** Number of the edge before; undefined where another process had it. */
  sequence: number | undefined;
}

/** Opens it. Throws KernelError, or NOT_INITIALIZED for another controller than the SKU's. */
export async function openChip(chip: GpioChip, calls: KernelCalls, ears: DeviceEars, sys: string): Promise<HostDevice> {
  const fd = calls.open(chip.path);
  try {
    const info = Buffer.alloc(68);
    calls.ioctl(fd, GPIO.chipInfo, info);
    const { label, lines } = structs.chipIn(info);
    if (chip.label !== undefined && label !== chip.label) {
      const reason = `${chip.path} is the controller "${label}" and not "${chip.label}"`;
      throw new CoreError('NOT_INITIALIZED', { reason });
    }
    const node = basename(await realpath(chip.path).catch(() => chip.path));
    const place = await realpath(join(sys, 'bus/gpio/devices', node)).catch(() => ''); // a kernel without /sys
    // Lines behind a wire are asked in a thread, those of the processor at once.
    const sleeps = /\/(i2c-\d+|spi\d+\.\d+|usb\d+)\//.test(place);
    return new Chip(chip, calls, ears, { fd, lines, sleeps });
  } catch (error) {
    calls.close(fd);
    throw error;
  }
}

interface Opened {
  readonly fd: number;
  readonly lines: number;
  /** It is behind a wire. */
  readonly sleeps: boolean;
}

class Chip implements HostDevice {
  readonly boot: string;
  readonly #chip: GpioChip;
  readonly #calls: KernelCalls;
  readonly #ears: DeviceEars;
  readonly #opened: Opened;
  readonly #lines = new Map<number, Line>();
  /** The node, as long as the controller is there. */
  readonly #identity: string;

  constructor(chip: GpioChip, calls: KernelCalls, ears: DeviceEars, opened: Opened) {
    // A line belongs to its descriptor: another opening has none of the settings.
    this.#identity = calls.identity(opened.fd);
    this.boot = `${this.#identity} ${calls.nowUs()}`;
    this.#chip = chip;
    this.#calls = calls;
    this.#ears = ears;
    this.#opened = opened;
  }

  request(op: number, body: Buffer): Uint8Array | Promise<Uint8Array> {
    if (op === OP.read && body.length === 4) return this.#read(linesIn(body.readUInt32LE()));
    if (op === OP.write && body.length === 8) return this.#write(linesIn(body.readUInt32LE()), body.readUInt32LE(4));
    const settings = op === OP.configure ? settingsIn(body) : undefined;
    if (settings) return this.#configure(settings);
    throw this.#refused(op >= OP.read && op <= OP.configure ? 'INVALID' : 'UNSUPPORTED');
  }

  close(): void {
    for (const { fd, settings, listening } of this.#lines.values()) {
      listening?.[Symbol.dispose]();
      try {
        if (hasSafe(settings)) this.#calls.ioctl(fd, GPIO.setValues, structs.valuesBytes(settings.safe as 0 | 1));
      } catch (error) {
        if (!(error instanceof KernelError)) throw error; // the controller is gone: it has no levels
      }
      this.#calls.store.part(this.#nameOf(settings.line));
      this.#calls.close(fd);
    }
    this.#calls.close(this.#opened.fd);
  }

  #read(lines: readonly number[]): Uint8Array | Promise<Uint8Array> {
    const asked = lines.map((line) => [line, this.#line(line).fd, structs.valuesBytes(0)] as const);
    const answer = () => {
      const levels = Buffer.alloc(4);
      for (const [line, , values] of asked) if (values[0]! & 1) levels[line >> 3]! |= 1 << (line & 7);
      return levels;
    };
    return this.#each(
      asked.map(([, fd, values]) => [fd, GPIO.getValues, values] as const),
      answer,
    );
  }

  #write(lines: readonly number[], values: number): Uint8Array | Promise<Uint8Array> {
    const calls = lines.map((line) => {
      const { fd, settings } = this.#line(line);
      if (settings.direction === 0) throw this.#refused('INVALID', `line ${line} is an input`);
      return [fd, GPIO.setValues, structs.valuesBytes((values >>> line) & 1 ? 1 : 0)] as const;
    });
    return this.#each(calls, () => EMPTY);
  }

  #configure(settings: LineSettings): Uint8Array | Promise<Uint8Array> {
    const offset = this.#chip.first + settings.line;
    if (offset >= this.#opened.lines) throw this.#refused('INVALID', `the controller has ${this.#opened.lines} lines`);
    if (settings.direction !== 0 && settings.edge !== 0)
      throw this.#refused('INVALID', 'the kernel tells no edges of an output');
    const line = this.#lines.get(settings.line) ?? this.#takeBack(settings);
    if (line) return this.#change(line, settings);
    const request = structs.requestBytes(offset, settings, CONSUMER);
    const settled = () => {
      const made: Line = { fd: structs.descriptorIn(request), settings, listening: undefined, sequence: 0 };
      this.#lines.set(settings.line, made);
      return this.#settled(made, settings);
    };
    try {
      const answer = this.#each([[this.#opened.fd, GPIO.getLine, request]], settled);
      return answer instanceof Promise
        ? answer.catch((error: unknown) => Promise.reject(this.#named(error, offset)))
        : answer;
    } catch (error) {
      throw this.#named(error, offset);
    }
  }

  /** A line that a former process left. One that was put to its safe level in order gets its first level again. */
  #takeBack(settings: LineSettings): Line | undefined {
    const { store } = this.#calls;
    const name = this.#nameOf(settings.line);
    const moved = store.take(safely(name));
    const fd = store.take(name) ?? moved;
    if (fd === undefined) return undefined;
    const line: Line = { fd, settings, listening: undefined, sequence: undefined };
    this.#lines.set(settings.line, line);
    if (moved !== undefined) {
      store.part(safely(name));
      if (moved !== fd) this.#calls.close(moved);
    } else {
      const info = structs.infoBytes(this.#chip.first + settings.line);
      this.#calls.ioctl(this.#opened.fd, GPIO.lineInfo, info);
      line.left = structs.stateIn(info);
    }
    return line;
  }

  /** An output that was left keeps its level, and one that has the settings already is not touched at all. */
  #change(line: Line, settings: LineSettings): Uint8Array | Promise<Uint8Array> {
    const { fd, left } = line;
    const set = (initial: 0 | 1) =>
      this.#each([[fd, GPIO.setConfig, structs.configBytes({ ...settings, initial })]], () =>
        this.#settled(line, settings),
      );
    if (!left?.output) return set(settings.initial);
    if (left.flags === structs.flagsOf(settings)) return this.#settled(line, settings);
    const values = structs.valuesBytes(0);
    return this.#each([[fd, GPIO.getValues, values]], () => set((values[0]! & 1) as 0 | 1));
  }

  /** Edges of a line while no process listened: the last one is told, and the others are counted as lost. */
  #tellMissed(line: Line): void {
    const missed = this.#calls.pending(line.fd, READ_BYTES).flatMap((record) => structs.eventsIn(record));
    const [first, last] = [missed[0], missed.at(-1)];
    if (first) line.sequence = first.sequence - 1;
    if (last) this.#edge(line, last);
  }

  #nameOf(line: number): string {
    return `${this.#identity}.${this.#chip.first + line}`;
  }

  /** Calls the kernel for one after the other: in the event loop, or in a thread where the controller sleeps. */
  #each<T>(
    calls: readonly (readonly [fd: number, request: number, bytes: Buffer])[],
    answer: () => T | Promise<T>,
  ): T | Promise<T> {
    if (!this.#opened.sleeps) {
      for (const call of calls) this.#calls.ioctl(...call);
      return answer();
    }
    const all = async () => {
      for (const call of calls) await this.#calls.wait(...call);
      return answer();
    };
    return all();
  }

  #settled(line: Line, settings: LineSettings): Uint8Array {
    line.settings = settings;
    line.left = undefined;
    const name = this.#nameOf(settings.line);
    this.#calls.store.hold(name, line.fd, hasSafe(settings) ? safely(name) : name);
    if (line.sequence === undefined) this.#tellMissed(line);
    if (settings.edge === 0) {
      line.listening?.[Symbol.dispose]();
      line.listening = undefined;
    } else
      line.listening ??= this.#calls.watch(
        line.fd,
        READ_BYTES,
        (record) => this.#edges(line, record),
        (error) => this.#ears.gone(`${this.#chip.path}: ${error.message}`),
      );
    return EMPTY;
  }

  /** Gaps in the numbers are edges that were dropped on the way here, by the kernel or behind it. */
  #edges(line: Line, record: Uint8Array): void {
    for (const event of structs.eventsIn(record)) this.#edge(line, event);
  }

  #edge(line: Line, { us, level, sequence }: structs.LineEvent): void {
    const lost = Math.max(0, sequence - (line.sequence ?? sequence) - 1);
    line.sequence = sequence;
    const data = Uint8Array.of(line.settings.line, level, 0, 0);
    this.#ears.tell({ op: EDGE_EVENT, data, lost, ageUs: Math.max(0, this.#calls.nowUs() - us) });
  }

  #line(line: number): Line {
    const known = this.#lines.get(line);
    if (!known) throw this.#refused('NOT_READY', `line ${line} is not configured`);
    return known;
  }

  /** A line that is in use has a name for its user. */
  #named(error: unknown, offset: number): unknown {
    if (!(error instanceof KernelError) || error.errno !== EBUSY) return error;
    const info = structs.infoBytes(offset);
    this.#calls.ioctl(this.#opened.fd, GPIO.lineInfo, info);
    const user = structs.consumerIn(info) || 'the kernel';
    // A former start of this plugin lets go of it in a moment: the handle is configured again then.
    if (user === CONSUMER) return new CoreError('NOT_INITIALIZED', { reason: `line ${offset} is not free yet` });
    return this.#refused('BUSY', `line ${offset} is used by ${user}`);
  }

  #refused(status: string, reason?: string): CoreError {
    return refusal(this.#chip.name, status, reason);
  }
}
