import type { StreamEndpoint } from '@device-core/plugin-api/services/operations';

/**
 * A kind of stream that apps may open. run() lives as long as the stream: it returns when the app has closed its side,
 * and a throw ends the stream with that error. send() waits for the app's credit, so a slow app slows us down instead
 * of filling our memory.
 */
export const capitalsStream: StreamEndpoint<never> = {
  name: 'pluginId.capitals',
  summary: 'send UTF-8 text back in capitals',
  direction: 'duplex',
  params: { type: 'object', additionalProperties: false },
  async run(_params, channel) {
    // A character may be cut in two by the border of a chunk: the decoder keeps the rest.
    const decoder = new TextDecoder();
    const encoder = new TextEncoder();
    for await (const chunk of channel.incoming) {
      const text = decoder.decode(chunk, { stream: true });
      if (text !== '') await channel.send(encoder.encode(text.toUpperCase()));
    }
  },
};
