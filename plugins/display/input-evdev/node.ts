/** A device of the kernel, `/dev/input/event3`: what it can do, what is so now, and its records. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { afterOwnTime, type Clock } from '@device-core/plugin-api';
import { ABS, BTN, KEY_MOST } from './codes.ts';
import type { Axis, DeviceState, TouchShape } from './decoder.ts';

/** Seam at which a test puts its device. */
export interface EvdevNode extends AsyncDisposable {
  /** Name that the device gives. */
  readonly name: string;
  /** Undefined where it tells no places. */
  readonly touch: TouchShape | undefined;
  /** Undefined where the device does not answer. */
  state(): DeviceState | undefined;
  /** Claims the device, so that no other reader gets its records. Throws with the name of the errno. */
  grab(): void;
  /** Hands on bytes as they come; resolves with the reason when they end. */
  read(hear: (bytes: Uint8Array) => void): Promise<string>;
}

const CLOCK_MONOTONIC = 1;
const STOP_MS = 1_000;
const REPORT_BYTES = 300;
const KEY_BYTES = Math.ceil((KEY_MOST + 1) / 8);

/** _IOC: direction (1 to the kernel, 2 from it), bytes, number. All of them of type E. */
const ioc = (direction: 1 | 2, bytes: number, number: number) => direction * 2 ** 30 + (bytes << 16) + 0x4500 + number;
const EVIOCGNAME = ioc(2, 256, 0x06);
const EVIOCGKEY = ioc(2, KEY_BYTES, 0x18);
const EVIOCGBIT_ABS = ioc(2, 8, 0x20 + 3);
const EVIOCGBIT_KEY = ioc(2, KEY_BYTES, 0x20 + 1);
const EVIOCGRAB = ioc(1, 4, 0x90);
const EVIOCSCLOCKID = ioc(1, 4, 0xa0);
const abs = (axis: number) => ioc(2, 24, 0x40 + axis);

const has = (bits: Buffer, bit: number) => ((bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;

/** koffi is a native package that may be absent: imported only here. None of these calls waits for anything. */
export async function openNode(path: string, clock: Clock): Promise<EvdevNode> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  const ioctl = library.func('int ioctl(int fd, ulong request, void *argument)');
  const set = library.func('int ioctl(int fd, ulong request, ulong argument)');
  const errno = () => {
    const number = koffi.errno();
    return Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? String(number);
  };
  const file = await open(path, 'r');
  const { fd } = file;
  const ask = (request: number, bytes: Buffer): Buffer => {
    if (ioctl(fd, request, bytes) < 0) throw new Error(`${path} is no input device (${errno()})`);
    return bytes;
  };
  const axis = (number: number): Axis => {
    const info = ask(abs(number), Buffer.alloc(24));
    return { min: info.readInt32LE(4), max: info.readInt32LE(8) };
  };
  const value = (number: number) => ask(abs(number), Buffer.alloc(24)).readInt32LE(0);
  /** struct input_mt_request_layout: the code, then a number for each slot. */
  const ofSlots = (code: number, slots: number) => {
    const answer = Buffer.alloc(4 * (slots + 1));
    answer.writeUInt32LE(code);
    ask(ioc(2, answer.length, 0x0a), answer);
    return (slot: number) => answer.readInt32LE(4 * (slot + 1));
  };
  const touchOf = (): TouchShape | undefined => {
    const axes = ask(EVIOCGBIT_ABS, Buffer.alloc(8));
    if (has(axes, ABS.slot) && has(axes, ABS.mtX) && has(axes, ABS.mtY) && has(axes, ABS.trackingId))
      return { kind: 'slots', slots: axis(ABS.slot).max + 1, x: axis(ABS.mtX), y: axis(ABS.mtY) };
    if (!has(axes, ABS.x) || !has(axes, ABS.y)) return undefined;
    const buttons = ask(EVIOCGBIT_KEY, Buffer.alloc(KEY_BYTES));
    const button = [BTN.touch, BTN.left].find((one) => has(buttons, one));
    return button === undefined ? undefined : { kind: 'single', button, x: axis(ABS.x), y: axis(ABS.y) };
  };
  try {
    const [name = ''] = ask(EVIOCGNAME, Buffer.alloc(256)).toString('utf8').split('\0');
    const clockId = Buffer.alloc(4);
    clockId.writeUInt32LE(CLOCK_MONOTONIC);
    ask(EVIOCSCLOCKID, clockId);
    const touch = touchOf();
    const state = (): DeviceState => {
      const at = clock.monotonic();
      const bits = ask(EVIOCGKEY, Buffer.alloc(KEY_BYTES));
      const keys = new Set(Array.from({ length: KEY_MOST + 1 }, (_, code) => code).filter((code) => has(bits, code)));
      if (!touch) return { at, slot: 0, fingers: [], keys };
      if (touch.kind === 'single') {
        const finger = { tracking: keys.has(touch.button) ? 0 : -1, x: value(ABS.x), y: value(ABS.y) };
        return { at, slot: 0, fingers: [finger], keys };
      }
      const [tracking, x, y] = [ABS.trackingId, ABS.mtX, ABS.mtY].map((code) => ofSlots(code, touch.slots));
      const fingers = Array.from({ length: touch.slots }, (_, slot) => ({
        tracking: tracking!(slot),
        x: x!(slot),
        y: y!(slot),
      }));
      return { at, slot: value(ABS.slot), fingers, keys };
    };
    const reader = new Reader(fd, clock);
    return {
      name,
      touch,
      state() {
        try {
          return state();
        } catch {
          return undefined; // it is being unplugged: the end of its records tells
        }
      },
      grab() {
        if (set(fd, EVIOCGRAB, 1) < 0) throw new Error(errno());
      },
      read: (hear) => reader.run(hear),
      async [Symbol.asyncDispose]() {
        await reader[Symbol.asyncDispose]();
        await file.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * `cat` reads the open device, and we read its pipe. A read by Node itself would hold one of the four threads of libuv's pool
 * until the next touch, perhaps for days, and delay files and names meanwhile.
 */
class Reader implements AsyncDisposable {
  readonly #fd: number;
  readonly #clock: Clock;
  #stop: (() => Promise<void>) | undefined;

  constructor(fd: number, clock: Clock) {
    this.#fd = fd;
    this.#clock = clock;
  }

  async run(hear: (bytes: Uint8Array) => void): Promise<string> {
    const child = spawn('cat', [], { stdio: [this.#fd, 'pipe', 'pipe'], env: { PATH: '/usr/bin:/bin', LANG: 'C' } });
    let said = '';
    child.stdout?.on('data', hear);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-REPORT_BYTES);
    });
    const closed = once(child, 'close');
    this.#stop = async () => {
      child.kill('SIGTERM');
      using _hard = afterOwnTime(this.#clock, STOP_MS, () => child.kill('SIGKILL'));
      await closed.catch(() => undefined); // it never began
    };
    try {
      await closed;
      return said.trim().replace(/^cat: /, '') || 'its records end';
    } catch (error) {
      return `cat does not start: ${(error as Error).message}`;
    } finally {
      this.#stop = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop?.();
  }
}
