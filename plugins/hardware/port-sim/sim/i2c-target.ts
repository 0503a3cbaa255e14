/** Targets on an I2C bus of the board. */

/** A chip at register level. */
export interface I2cTarget {
  /** 7 or 10 bits. */
  readonly address: number;
  /** START and its address; false: it does not acknowledge. */
  begin(direction: 'write' | 'read'): boolean;
  /** One byte from the master; false: it does not acknowledge. */
  write(byte: number): boolean;
  /** One byte to the master. */
  read(): number;
  /** STOP, or the repeated start before the next begin(). */
  end(): void;
  /** Power is back. */
  reset(): void;
}

/** A byte memory with a register pointer that counts up by itself, as most small chips are: for tests, and to build others on. */
export class RegisterFile implements I2cTarget {
  readonly address: number;
  readonly registers: Uint8Array;
  #pointer = 0;
  #pointed = false;

  constructor(address: number, size = 256) {
    this.address = address;
    this.registers = new Uint8Array(size);
  }

  begin(direction: 'write' | 'read'): boolean {
    this.#pointed = direction === 'read';
    return true;
  }

  write(byte: number): boolean {
    if (this.#pointed) this.store(this.#pointer++ % this.registers.length, byte);
    else this.#pointer = byte % this.registers.length;
    this.#pointed = true;
    return true;
  }

  read(): number {
    return this.load(this.#pointer++ % this.registers.length);
  }

  end(): void {
    this.#pointed = false;
  }

  reset(): void {
    this.#pointer = 0;
    this.registers.fill(0);
  }

  protected store(register: number, byte: number): void {
    this.registers[register] = byte;
  }

  protected load(register: number): number {
    return this.registers[register]!;
  }
}
