/** Registers of a chip, whichever bus it is on. */
import type { I2c } from '@device-core/plugin-api/services/i2c';
import type { Spi } from '@device-core/plugin-api/services/spi';

interface Options {
  readonly signal: AbortSignal;
}

export interface Registers {
  /** Resolves with `length` bytes from `register` on. Rejects with what the transfer rejects with. */
  read(register: number, length: number, options: Options): Promise<Uint8Array>;
  write(register: number, value: number, options: Options): Promise<void>;
}

/** I2C: the number of the register is written first. A read follows after a repeated start. */
export function registersOverI2c(bus: I2c, handle: string): Registers {
  return {
    read: (register, length, options) =>
      bus.transfer(handle, [{ write: Uint8Array.of(register) }, { read: length }], options),
    async write(register, value, options) {
      await bus.transfer(handle, [{ write: Uint8Array.of(register, value) }], options);
    },
  };
}

/** SPI: the highest bit of the first byte says that it is a read. The answer begins with the second byte. */
export function registersOverSpi(bus: Spi, handle: string): Registers {
  return {
    async read(register, length, options) {
      const answer = await bus.transfer(handle, Uint8Array.of(0x80 | register), 1 + length, options);
      return answer.subarray(1);
    },
    async write(register, value, options) {
      await bus.transfer(handle, Uint8Array.of(register, value), 0, options);
    },
  };
}
