/** Contract of a chip on a simulated I2C bus, and of its surroundings. */
import type { SimClock } from '../clock.ts';
import type { I2cTarget } from '../i2c-target.ts';

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
  /** As the board names it. */
  readonly kind: string;
  /** Values that the chip senses now. */
  readonly senses: object;
  /** Throws an Error that says what is wrong with `change`. */
  change(change: Readonly<Record<string, unknown>>): void;
  dispose?(): void;
}
