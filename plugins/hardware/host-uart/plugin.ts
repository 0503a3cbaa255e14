/** Lines of host-uart over calls of the kernel, be they native or a table of a test. */
import { definePlugin } from '@device-core/plugin-api';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import type { KernelCalls } from '../shared/host/calls.ts';
import { serveBuses } from '../shared/host/serve.ts';
import { MAX_BYTES, openLine, type UartLine } from './line.ts';

interface Settings {
  readonly lines: readonly UartLine[];
}

export const hostUart = (calls: () => Promise<KernelCalls>) =>
  definePlugin<Record<never, never>, Settings>({
    async setup(host) {
      const health = await serveBuses(host, {
        class: ENDPOINT_CLASS.uart,
        maxTransfer: MAX_BYTES,
        buses: host.config.lines,
        calls,
        open: openLine,
      });
      host.tap('health.collect', health);
    },
  });
