import type { StreamEndpoint } from '@device-core/plugin-api/services/operations';

/** Sends every chunk back, at the pace at which the app takes it: a probe for app developers and for the bench. */
export const loopback: StreamEndpoint<never> = {
  name: 'system.loopback',
  summary: 'send every chunk back',
  direction: 'duplex',
  params: { type: 'object' },
  async run(_params, channel) {
    for await (const chunk of channel.incoming) await channel.send(chunk);
  },
};
