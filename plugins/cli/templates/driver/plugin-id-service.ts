import { serviceRef } from '@device-core/plugin-api';

export interface Temperatures {
  /** Degrees Celsius at the tip of the thermocouple, in steps of 0.25. */
  readonly celsius: number;
  /** Degrees Celsius of the chip, in steps of 0.0625. */
  readonly chipCelsius: number;
}

/** What plugin-id offers to other plugins. */
export interface PluginIdService {
  /** Measures now. Rejects with UNAVAILABLE (no chip, no thermocouple, a short circuit) and with what the SPI transfer rejects with. */
  read(): Promise<Temperatures>;
}

export const pluginIdService = serviceRef<PluginIdService>('plugin-id', '1.0.0');
