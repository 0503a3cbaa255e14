/** Interfaces of host-can over calls of the kernel, be they native or a table of a test. */
import { definePlugin } from '@device-core/plugin-api';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import type { KernelCalls } from '../shared/host/calls.ts';
import { serveBuses } from '../shared/host/serve.ts';
import { type CanInterface, openInterface } from './controller.ts';

interface Settings {
  readonly interfaces: readonly CanInterface[];
}

export const hostCan = (calls: () => Promise<KernelCalls>) =>
  definePlugin<Record<never, never>, Settings>({
    async setup(host) {
      const health = await serveBuses(host, {
        class: ENDPOINT_CLASS.can,
        maxTransfer: 72,
        buses: host.config.interfaces,
        calls,
        open: openInterface,
      });
      host.tap('health.collect', health);
    },
  });
