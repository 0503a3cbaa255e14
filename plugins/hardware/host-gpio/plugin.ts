/** Controllers of host-gpio over calls of the kernel, be they native or a table of a test. */
import { definePlugin } from '@device-core/plugin-api';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import type { KernelCalls } from '../shared/host/calls.ts';
import { serveBuses } from '../shared/host/serve.ts';
import { type GpioChip, openChip } from './chip.ts';

interface Settings {
  readonly chips: readonly GpioChip[];
  readonly sys: string;
}

export const hostGpio = (calls: () => Promise<KernelCalls>) =>
  definePlugin<Record<never, never>, Settings>({
    async setup(host) {
      const health = await serveBuses(host, {
        class: ENDPOINT_CLASS.gpio,
        maxTransfer: 8,
        buses: host.config.chips,
        calls,
        open: (chip, kernel, ears) => openChip(chip, kernel, ears, host.config.sys),
      });
      host.tap('health.collect', health);
    },
  });
