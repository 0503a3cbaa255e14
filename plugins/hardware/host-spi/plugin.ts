/** Nodes of host-spi over calls of the kernel, be they native or a table of a test. */
import { definePlugin } from '@device-core/plugin-api';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import type { KernelCalls } from '../shared/host/calls.ts';
import { serveBuses } from '../shared/host/serve.ts';
import { MAX_BYTES, openNode, type SpiNode } from './device.ts';

interface Settings {
  readonly buses: readonly SpiNode[];
  readonly sys: string;
}

export const hostSpi = (calls: () => Promise<KernelCalls>) =>
  definePlugin<Record<never, never>, Settings>({
    async setup(host) {
      const health = await serveBuses(host, {
        class: ENDPOINT_CLASS.spix,
        maxTransfer: MAX_BYTES,
        buses: host.config.buses,
        calls,
        open: (bus, kernel) => openNode(bus, kernel, host.config.sys),
      });
      host.tap('health.collect', health);
    },
  });
