/** An input device made by a program: /dev/uinput. Its records are what a driver would report. */
import { closeSync, openSync, writeSync } from 'node:fs';
import koffi from 'koffi';
import { ABS, EV } from '../../../plugins/display/input-evdev/codes.ts';
import { encodeRecord, type InputRecord } from '../../../plugins/display/input-evdev/records.ts';

const UI_DEV_CREATE = 0x5501;
const UI_DEV_DESTROY = 0x5502;
const UI_DEV_SETUP = 0x405c5503;
const UI_ABS_SETUP = 0x401c5504;
const UI_SET_EVBIT = 0x40045564;
const UI_SET_KEYBIT = 0x40045565;
const UI_SET_RELBIT = 0x40045566;

export interface MadeDevice {
  readonly name: string;
  readonly keys?: readonly number[];
  readonly rels?: readonly number[];
  /** Code and largest value. */
  readonly axes?: readonly (readonly [number, number])[];
}

export class Uinput implements Disposable {
  readonly #fd = openSync('/dev/uinput', 'r+');
  readonly #number: (request: number, value: number) => void;

  constructor({ name, keys = [], rels = [], axes = [] }: MadeDevice) {
    const library = koffi.load(null);
    const ioctl = library.func('int ioctl(int fd, ulong request, void *argument)');
    const set = library.func('int ioctl(int fd, ulong request, ulong argument)');
    this.#number = (request, value) => {
      if (set(this.#fd, request, value) < 0) throw new Error(`uinput ${request.toString(16)}: ${koffi.errno()}`);
    };
    if (keys.length > 0) this.#number(UI_SET_EVBIT, EV.key);
    if (rels.length > 0) this.#number(UI_SET_EVBIT, EV.rel);
    if (axes.length > 0) this.#number(UI_SET_EVBIT, EV.abs);
    for (const key of keys) this.#number(UI_SET_KEYBIT, key);
    for (const rel of rels) this.#number(UI_SET_RELBIT, rel);
    for (const [code, most] of axes) {
      const setup = Buffer.alloc(28);
      setup.writeUInt16LE(code, 0);
      setup.writeInt32LE(code === ABS.trackingId ? 65_535 : most, 4 + 8);
      if (ioctl(this.#fd, UI_ABS_SETUP, setup) < 0) throw new Error(`axis ${code}: ${koffi.errno()}`);
    }
    const setup = Buffer.alloc(92);
    setup.writeUInt16LE(3, 0);
    setup.write(name, 8, 79);
    if (ioctl(this.#fd, UI_DEV_SETUP, setup) < 0) throw new Error(`uinput: ${koffi.errno()}`);
    this.#number(UI_DEV_CREATE, 0);
  }

  /** The kernel gives them their time. */
  emit(records: readonly Omit<InputRecord, 'at'>[]): void {
    writeSync(this.#fd, Buffer.concat(records.map((record) => encodeRecord({ ...record, at: 0 }))));
  }

  [Symbol.dispose](): void {
    this.#number(UI_DEV_DESTROY, 0);
    closeSync(this.#fd);
  }
}
