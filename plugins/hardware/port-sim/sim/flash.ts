/** A SPI NOR flash of the 25-series kind: identification, read, program, erase, status, write enable, and the times these take. */
import { closeSync, existsSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SimClock } from './clock.ts';
import type { SpiTarget } from './spi-target.ts';

const COMMAND = {
  pageProgram: 0x02,
  read: 0x03,
  writeDisable: 0x04,
  status: 0x05,
  writeEnable: 0x06,
  fastRead: 0x0b,
  eraseSector: 0x20,
  chipErase: 0xc7,
  chipErase2: 0x60,
  identify: 0x9f,
  eraseBlock: 0xd8,
} as const;

const BUSY_BIT = 1;
const WRITE_ENABLED_BIT = 2;
const PAGE = 256;
const SECTOR = 4096;
const BLOCK = 65_536;
const ERASED = 0xff;

export interface FlashTimes {
  readonly programMs: number;
  readonly sectorMs: number;
  readonly blockMs: number;
  readonly chipMs: number;
}

export interface FlashOptions {
  /** Three bytes: manufacturer, type, capacity. */
  readonly jedec: readonly [number, number, number];
  readonly size: number;
  readonly times: FlashTimes;
  /** Contents kept here across runs. */
  readonly file?: string;
  readonly contents?: readonly { readonly at: number; readonly bytes: Uint8Array }[];
}

export class Flash implements SpiTarget {
  readonly #options: FlashOptions;
  readonly #clock: SimClock;
  readonly #memory: Uint8Array;
  #busyUntil = 0;
  #writeEnabled = false;
  /** Bytes of this selection so far: the command, its address, then data. */
  #command: number | undefined;
  #ignored = false;
  #position = 0;
  #address = 0;
  #page: { readonly base: number; readonly bytes: Map<number, number> } | undefined;

  constructor(options: FlashOptions, clock: SimClock) {
    this.#options = options;
    this.#clock = clock;
    this.#memory = new Uint8Array(options.size).fill(ERASED);
    for (const { at, bytes } of options.contents ?? []) this.#memory.set(bytes.subarray(0, options.size - at), at);
    if (options.file) this.#load(options.file);
  }

  get busy(): boolean {
    return this.#clock.now() < this.#busyUntil;
  }

  select(): void {
    this.#command = undefined;
    this.#ignored = false;
    this.#position = 0;
    this.#address = 0;
    this.#page = undefined;
  }

  exchange(out: Uint8Array): Uint8Array {
    const back = new Uint8Array(out.length);
    for (let index = 0; index < out.length; index++) back[index] = this.#byte(out[index]!);
    return back;
  }

  /** Program and erase begin when CS is released, as on the part. */
  release(): void {
    const command = this.#command;
    if (command === undefined || this.#ignored) return;
    if (command === COMMAND.writeEnable) this.#writeEnabled = true;
    else if (command === COMMAND.writeDisable) this.#writeEnabled = false;
    else if (this.#writeEnabled) this.#change(command);
    this.#command = undefined;
  }

  #byte(value: number): number {
    const position = this.#position++;
    if (position === 0) {
      this.#command = value;
      // While it works it answers nothing but its status.
      this.#ignored = this.busy && value !== COMMAND.status;
      return ERASED;
    }
    if (this.#ignored) return ERASED;
    switch (this.#command) {
      case COMMAND.identify:
        return this.#options.jedec[position - 1] ?? 0;
      case COMMAND.status:
        return (this.busy ? BUSY_BIT : 0) | (this.#writeEnabled ? WRITE_ENABLED_BIT : 0);
      case COMMAND.read:
        return this.#read(position, value, 4);
      case COMMAND.fastRead:
        return this.#read(position, value, 5);
      case COMMAND.pageProgram:
        this.#program(position, value);
        return ERASED;
      case COMMAND.eraseSector:
      case COMMAND.eraseBlock:
        this.#addressByte(position, value);
        return ERASED;
      default:
        return ERASED;
    }
  }

  /** The address is in bytes 1 to 3; reading wraps at the end of the part. */
  #read(position: number, value: number, dataFrom: number): number {
    if (position < dataFrom) {
      this.#addressByte(position, value);
      return ERASED;
    }
    return this.#memory[(this.#address + position - dataFrom) % this.#memory.length]!;
  }

  /** Data wrap inside the page; of more than a page the last bytes stay. */
  #program(position: number, value: number): void {
    if (position < 4) {
      this.#addressByte(position, value);
      return;
    }
    const start = this.#address % this.#memory.length;
    this.#page ??= { base: start - (start % PAGE), bytes: new Map() };
    this.#page.bytes.set((start + position - 4) % PAGE, value);
  }

  #addressByte(position: number, value: number): void {
    if (position < 4) this.#address = ((this.#address << 8) | value) >>> 0;
  }

  #change(command: number): void {
    const { times } = this.#options;
    const complete = this.#position === 4;
    if (command === COMMAND.pageProgram && this.#page) {
      const { base, bytes } = this.#page;
      // Programming clears bits, it never sets one.
      for (const [offset, value] of bytes) this.#memory[base + offset]! &= value;
      this.#changed(base, PAGE, times.programMs);
    } else if (command === COMMAND.eraseSector && complete) this.#erase(SECTOR, times.sectorMs);
    else if (command === COMMAND.eraseBlock && complete) this.#erase(BLOCK, times.blockMs);
    else if ((command === COMMAND.chipErase || command === COMMAND.chipErase2) && this.#position === 1) {
      this.#erase(this.#memory.length, times.chipMs);
    }
  }

  #erase(size: number, ms: number): void {
    const address = this.#address % this.#memory.length;
    const from = address - (address % size);
    this.#memory.fill(ERASED, from, from + size);
    this.#changed(from, Math.min(size, this.#memory.length), ms);
  }

  #changed(from: number, size: number, ms: number): void {
    this.#writeEnabled = false;
    this.#busyUntil = this.#clock.now() + ms;
    if (this.#options.file) this.#save(this.#options.file, from, size);
  }

  #load(file: string): void {
    if (!existsSync(file)) {
      mkdirSync(dirname(file), { recursive: true });
      this.#save(file, 0, this.#memory.length);
      return;
    }
    const handle = openSync(file, 'r');
    try {
      readSync(handle, this.#memory, 0, this.#memory.length, 0);
    } finally {
      closeSync(handle);
    }
  }

  /** In place, so that a simulator that is killed keeps what its flash had taken. */
  #save(file: string, from: number, size: number): void {
    const handle = openSync(file, existsSync(file) ? 'r+' : 'w');
    try {
      writeSync(handle, this.#memory, from, size, from);
    } finally {
      closeSync(handle);
    }
  }
}
