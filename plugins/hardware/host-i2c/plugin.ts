/** Buses of host-i2c over calls of the kernel, be they native or a table of a test. */
import { definePlugin } from '@device-core/plugin-api';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import type { KernelCalls } from '../shared/host/calls.ts';
import { serveBuses } from '../shared/host/serve.ts';
import { type I2cBus, MAX_BYTES, openAdapter } from './adapter.ts';

interface Settings {
  readonly buses: readonly I2cBus[];
  readonly sys: string;
}

export const hostI2c = (calls: () => Promise<KernelCalls>) =>
  definePlugin<Record<never, never>, Settings>({
    async setup(host) {
      const health = await serveBuses(host, {
        class: ENDPOINT_CLASS.i2c,
        maxTransfer: MAX_BYTES,
        buses: host.config.buses,
        calls,
        open: (bus, kernel) => openAdapter(bus, kernel, host.config.sys),
      });
      host.tap('health.collect', health);
    },
  });
