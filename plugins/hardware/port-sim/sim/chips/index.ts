/** The chips that a board may put on an I2C bus, by the `kind` of its YAML. */
import { type I2cTarget, RegisterFile } from '../i2c-target.ts';
import { Bme280 } from './bme280.ts';
import type { ChipSurroundings, ScriptedChip } from './chip.ts';
import { Pn532Chip } from './pn532.ts';

export const CHIPS: Readonly<Record<string, (surroundings: ChipSurroundings) => I2cTarget | ScriptedChip>> = {
  bme280: (surroundings) => new Bme280(surroundings),
  pn532: (surroundings) => new Pn532Chip(surroundings),
  registers: ({ address }) => new RegisterFile(address),
};
