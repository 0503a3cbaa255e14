import { type ComponentHealth, type Logger, reasonOf, type Spi } from '@device-core/plugin-api';
import type { PluginIdService } from './contract.ts';
import { decode, FRAME_BYTES, type Temperatures } from './max31855.ts';

/** One chip behind an SPI handle, and how the last measurement went. */
export class Thermometer implements PluginIdService {
  readonly #spi: Spi;
  readonly #handle: string;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  #health: ComponentHealth = { status: 'waiting', message: 'nothing has been measured yet' };

  constructor(spi: Spi, handle: string, log: Logger, signal: AbortSignal) {
    this.#spi = spi;
    this.#handle = handle;
    this.#log = log;
    this.#signal = signal;
  }

  get health(): ComponentHealth {
    return this.#health;
  }

  async read(): Promise<Temperatures> {
    return decode(await this.#spi.transfer(this.#handle, new Uint8Array(0), FRAME_BYTES, { signal: this.#signal }));
  }

  /** Like read(), for the timer: a failure is told by the health and logged once, not every second. */
  async measure(): Promise<Temperatures | undefined> {
    try {
      const temperatures = await this.read();
      if (this.#health.status === 'error') this.#log.info({}, 'the thermocouple measures again');
      this.#health = { status: 'okay' };
      return temperatures;
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      if (this.#health.status !== 'error') this.#log.warn({ err: error }, 'cannot measure');
      this.#health = { status: 'error', message: reasonOf(error) };
      return undefined;
    }
  }
}
