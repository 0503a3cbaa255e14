/** One state machine: the nine instructions of the RP2040's PIO, one a step, without delays. */

const FIFO = 4;
const OUT_SHIFT_RIGHT = 1 << 19;
const IN_SHIFT_RIGHT = 1 << 18;
const AUTO_PULL = 1 << 17;
const AUTO_PUSH = 1 << 16;

/** The lines that it drives and reads; bits are line numbers. */
export interface PioLines {
  read(): number;
  write(mask: number, values: number): void;
  direction(mask: number, outputs: number): void;
}

export interface PioSettings {
  readonly origin: number;
  readonly length: number;
  readonly pinctrl: number;
  readonly execctrl: number;
  readonly shiftctrl: number;
}

const bits = (word: number, from: number, count: number): number => (word >>> from) & (2 ** count - 1);
const ones = (count: number): number => (count >= 32 ? 0xffff_ffff : 2 ** count - 1);

export class PioMachine {
  enabled = false;
  readonly #memory: Uint16Array;
  readonly #lines: PioLines;
  readonly #irq: (flag: number) => void;
  #settings: PioSettings = {
    origin: 0,
    length: 0,
    pinctrl: 0,
    execctrl: 0x1f << 12,
    shiftctrl: OUT_SHIFT_RIGHT | IN_SHIFT_RIGHT,
  };
  #pc = 0;
  #x = 0;
  #y = 0;
  #isr = 0;
  #osr = 0;
  #inCount = 0;
  #outCount = 32;
  #tx: number[] = [];
  #rx: number[] = [];
  #flags = 0;

  constructor(memory: Uint16Array, lines: PioLines, irq: (flag: number) => void) {
    this.#memory = memory;
    this.#lines = lines;
    this.#irq = irq;
  }

  configure(settings: PioSettings): void {
    this.reset();
    this.#settings = settings;
    this.#pc = settings.origin;
  }

  reset(): void {
    this.enabled = false;
    this.#tx = [];
    this.#rx = [];
    this.#isr = 0;
    this.#osr = 0;
    this.#inCount = 0;
    this.#outCount = 32;
    this.#flags = 0;
  }

  /** False while the FIFO is full. */
  push(word: number): boolean {
    if (this.#tx.length >= FIFO) return false;
    this.#tx.push(word >>> 0);
    return true;
  }

  pull(): number | undefined {
    return this.#rx.shift();
  }

  /** Runs one instruction. False while it is stopped or stalls. */
  step(): boolean {
    const { length, execctrl, origin } = this.#settings;
    if (!this.enabled || length === 0) return false;
    const word = this.#memory[this.#pc]!;
    const next = this.#execute(word);
    if (next === undefined) return false;
    this.#side(word);
    const bottom = bits(execctrl, 7, 5);
    const top = bits(execctrl, 12, 5);
    const wraps =
      top === bottom && top === 0 ? origin + length - 1 : top === 31 ? Math.min(31, origin + length - 1) : origin + top;
    this.#pc = next >= 0 ? next : this.#pc === wraps ? origin + bottom : (this.#pc + 1) & 0x1f;
    return true;
  }

  #side(word: number): void {
    const { pinctrl, execctrl } = this.#settings;
    const count = bits(pinctrl, 29, 3);
    if (count === 0) return;
    const optional = bits(execctrl, 30, 1) === 1;
    const field = bits(word, 8, 5);
    if (optional && !(field & 0x10)) return;
    const used = optional ? count - 1 : count;
    const value = (optional ? field & 0x0f : field) >> (5 - count);
    this.#drive(bits(pinctrl, 10, 5), used, value);
  }

  #drive(base: number, count: number, value: number): void {
    for (let index = 0; index < count; index++) {
      const line = 2 ** ((base + index) % 32);
      this.#lines.write(line, (value >>> index) & 1 ? line : 0);
    }
  }

  /** The address to go to, -1 for the next; undefined where it stalls. */
  #execute(word: number): number | undefined {
    const field = bits(word, 5, 3);
    const low = bits(word, 0, 5);
    switch (word >> 13) {
      case 0:
        return this.#condition(field) ? low : -1;
      case 1:
        return this.#wait(word) ? -1 : undefined;
      case 2:
        return this.#in(field, low || 32);
      case 3:
        return this.#out(field, low || 32);
      case 4:
        return word & 0x80 ? this.#pull(word) : this.#push(word);
      case 5:
        return this.#move(field, bits(word, 3, 2), bits(word, 0, 3));
      case 6:
        return this.#interrupt(word, low);
      default:
        return this.#set(field, low);
    }
  }

  #condition(field: number): boolean {
    const { execctrl } = this.#settings;
    switch (field) {
      case 1:
        return this.#x === 0;
      case 2: {
        const go = this.#x !== 0;
        this.#x = (this.#x - 1) >>> 0;
        return go;
      }
      case 3:
        return this.#y === 0;
      case 4: {
        const go = this.#y !== 0;
        this.#y = (this.#y - 1) >>> 0;
        return go;
      }
      case 5:
        return this.#x !== this.#y;
      case 6:
        return ((this.#lines.read() >>> bits(execctrl, 24, 5)) & 1) === 1;
      case 7:
        return this.#outCount < (bits(this.#settings.shiftctrl, 25, 5) || 32);
      default:
        return true;
    }
  }

  #wait(word: number): boolean {
    const polarity = bits(word, 7, 1);
    const source = bits(word, 5, 2);
    const index = bits(word, 0, 5);
    if (source === 2) {
      const set = (this.#flags >> (index & 7)) & 1;
      if (set !== polarity) return false;
      if (polarity) this.#flags &= ~(1 << (index & 7));
      return true;
    }
    const line = source === 0 ? index : (bits(this.#settings.pinctrl, 15, 5) + index) % 32;
    return ((this.#lines.read() >>> line) & 1) === polarity;
  }

  #in(source: number, count: number): number | undefined {
    const { shiftctrl, pinctrl } = this.#settings;
    const threshold = bits(shiftctrl, 20, 5) || 32;
    const pushes = (shiftctrl & AUTO_PUSH) !== 0 && this.#inCount + count >= threshold;
    if (pushes && this.#rx.length >= FIFO) return undefined;
    const pins = this.#lines.read();
    const base = bits(pinctrl, 15, 5);
    const rotated = base === 0 ? pins : ((pins >>> base) | (pins << (32 - base))) >>> 0;
    const from = [rotated, this.#x, this.#y, 0, 0, 0, this.#isr, this.#osr][source]! & ones(count);
    if (count >= 32) this.#isr = from >>> 0;
    else if (shiftctrl & IN_SHIFT_RIGHT) this.#isr = ((this.#isr >>> count) | (from << (32 - count))) >>> 0;
    else this.#isr = ((this.#isr << count) | from) >>> 0;
    this.#inCount = Math.min(32, this.#inCount + count);
    if (pushes) this.#give();
    return -1;
  }

  #give(): void {
    this.#rx.push(this.#isr >>> 0);
    this.#isr = 0;
    this.#inCount = 0;
  }

  #out(destination: number, count: number): number | undefined {
    const { shiftctrl, pinctrl } = this.#settings;
    const threshold = bits(shiftctrl, 25, 5) || 32;
    if (shiftctrl & AUTO_PULL && this.#outCount >= threshold) {
      const word = this.#tx.shift();
      if (word === undefined) return undefined;
      this.#osr = word;
      this.#outCount = 0;
    }
    const right = (shiftctrl & OUT_SHIFT_RIGHT) !== 0;
    const value = (right ? this.#osr & ones(count) : count >= 32 ? this.#osr : this.#osr >>> (32 - count)) >>> 0;
    this.#osr = count >= 32 ? 0 : (right ? this.#osr >>> count : this.#osr << count) >>> 0;
    this.#outCount = Math.min(32, this.#outCount + count);
    switch (destination) {
      case 0:
        this.#drive(bits(pinctrl, 0, 5), Math.min(count, bits(pinctrl, 20, 6)), value);
        break;
      case 1:
        this.#x = value;
        break;
      case 2:
        this.#y = value;
        break;
      case 4:
        this.#direct(bits(pinctrl, 0, 5), Math.min(count, bits(pinctrl, 20, 6)), value);
        break;
      case 5:
        return value & 0x1f;
      case 6:
        this.#isr = value;
        this.#inCount = count;
        break;
      default: // 3 throws the bits away, 7 would run them as an instruction, which this machine does not
    }
    return -1;
  }

  #direct(base: number, count: number, value: number): void {
    for (let index = 0; index < count; index++) {
      const line = 2 ** ((base + index) % 32);
      this.#lines.direction(line, (value >>> index) & 1 ? line : 0);
    }
  }

  #push(word: number): number | undefined {
    const ifFull = bits(word, 6, 1) === 1;
    if (ifFull && this.#inCount < (bits(this.#settings.shiftctrl, 20, 5) || 32)) return -1;
    if (this.#rx.length >= FIFO) return bits(word, 5, 1) ? undefined : -1;
    this.#give();
    return -1;
  }

  #pull(word: number): number | undefined {
    const ifEmpty = bits(word, 6, 1) === 1;
    if (ifEmpty && this.#outCount < (bits(this.#settings.shiftctrl, 25, 5) || 32)) return -1;
    const next = this.#tx.shift();
    if (next === undefined && bits(word, 5, 1)) return undefined;
    this.#osr = next ?? this.#x;
    this.#outCount = 0;
    return -1;
  }

  #move(destination: number, operation: number, source: number): number {
    const from = [this.#lines.read(), this.#x, this.#y, 0, 0, this.#status, this.#isr, this.#osr][source]!;
    const value = (operation === 1 ? ~from : operation === 2 ? reverse(from) : from) >>> 0;
    const { pinctrl } = this.#settings;
    if (destination === 0) this.#drive(bits(pinctrl, 0, 5), bits(pinctrl, 20, 6), value);
    if (destination === 1) this.#x = value;
    if (destination === 2) this.#y = value;
    if (destination === 5) return value & 0x1f;
    if (destination === 6) {
      this.#isr = value;
      this.#inCount = 0;
    }
    if (destination === 7) {
      this.#osr = value;
      this.#outCount = 0;
    }
    return -1;
  }

  get #status(): number {
    const { execctrl } = this.#settings;
    const level = bits(execctrl, 0, 4);
    return (bits(execctrl, 4, 1) ? this.#rx.length : this.#tx.length) < level ? 0xffff_ffff : 0;
  }

  #interrupt(word: number, index: number): number {
    const flag = index & 7;
    if (bits(word, 6, 1)) this.#flags &= ~(1 << flag);
    else {
      this.#flags |= 1 << flag;
      this.#irq(flag);
    }
    return -1;
  }

  #set(destination: number, value: number): number {
    const { pinctrl } = this.#settings;
    if (destination === 0) this.#drive(bits(pinctrl, 5, 5), bits(pinctrl, 26, 3), value);
    if (destination === 1) this.#x = value;
    if (destination === 2) this.#y = value;
    if (destination === 4) this.#direct(bits(pinctrl, 5, 5), bits(pinctrl, 26, 3), value);
    return -1;
  }
}

function reverse(word: number): number {
  let out = 0;
  for (let bit = 0; bit < 32; bit++) if ((word >>> bit) & 1) out |= 1 << (31 - bit);
  return out >>> 0;
}
