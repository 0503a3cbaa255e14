import { serviceRef } from '@device-core/plugin-api';
import type { Temperatures } from './max31855.ts';

/** What plugin-id offers to other plugins. */
export interface PluginIdService {
  /** Measures now. Rejects with UNAVAILABLE (no chip, no thermocouple, a short circuit) and with what the SPI transfer rejects with. */
  read(): Promise<Temperatures>;
}

export const pluginIdService = serviceRef<PluginIdService>('plugin-id', '1.0.0');
