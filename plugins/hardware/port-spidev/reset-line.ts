/** The bridge's reset on a GPIO of the host. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { GpioPin, GpioTools } from './gpio-tools.ts';

const PULSE_MS = 2_000;

export class ResetLine {
  readonly #tools: GpioTools;
  readonly #pin: GpioPin;
  readonly #log: Logger;

  constructor(tools: GpioTools, pin: GpioPin, log: Logger) {
    this.#tools = tools;
    this.#pin = pin;
    this.#log = log;
  }

  /** Pulls the line low for 10 ms. The log names a line that cannot be pulled: the link comes up without, if the bridge is well. */
  async pulse(): Promise<void> {
    const [command, ...args] = this.#tools.pullLow(this.#pin);
    try {
      await promisify(execFile)(command, args, { timeout: PULSE_MS });
    } catch (error) {
      this.#log.warn({ ...this.#pin, reason: reasonOf(error) }, 'the bridge could not be reset');
    }
  }
}
