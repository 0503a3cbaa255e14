/** The chips that a board may put on an I2C bus, by the `kind` of its YAML. */
import type { SimClock } from '../clock.ts';
import { type I2cTarget, RegisterFile } from '../i2c-target.ts';
import { Bme280 } from './bme280.ts';
import { Pn532Chip } from './pn532.ts';

export interface ChipSurroundings {
  readonly clock: SimClock;
  /** 7 or 10 bits. */
  readonly address: number;
  /** The other members of its line in the board. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Drives the chip's interrupt output, where the board wires it: undefined lets go of the line. */
  readonly interrupt: (level: 0 | 1 | undefined) => void;
}

/** A chip that a test or a board's script can change from outside: the air gets warmer, a tag comes near. */
export interface ScriptedChip extends I2cTarget {
  /** Throws an Error that says what is wrong with `change`. */
  change(change: Readonly<Record<string, unknown>>): void;
  dispose?(): void;
}

export const CHIPS: Readonly<Record<string, (surroundings: ChipSurroundings) => I2cTarget | ScriptedChip>> = {
  bme280: (around) => new Bme280(around),
  pn532: (around) => new Pn532Chip(around),
  registers: ({ address }) => new RegisterFile(address),
};
