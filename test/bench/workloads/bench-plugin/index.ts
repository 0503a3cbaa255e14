/** An operation with everything that a real one has, and streams of bytes both ways. */

import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { type Operation, operations, type StreamEndpoint } from '@device-core/plugin-api/services/operations';

const echo: Operation<{ text: string; n: number }, { text: string }> = {
  name: 'bench.echo',
  summary: 'Answers what it was asked',
  params: {
    type: 'object',
    required: ['text', 'n'],
    properties: { text: { type: 'string', maxLength: 1024 }, n: { type: 'integer', minimum: 0 } },
  },
  result: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  capability: 'audio.playback',
  errors: [],
  timeoutMs: 5_000,
  run: async ({ text }) => ({ text }),
};

/** Sends chunks of `size` bytes as fast as the app takes them. */
const source: StreamEndpoint<{ size: number }> = {
  name: 'bench.source',
  summary: 'A camera',
  direction: 'read',
  params: { type: 'object', required: ['size'], properties: { size: { type: 'integer', minimum: 1 } } },
  async run({ size }, channel) {
    const chunk = Buffer.alloc(size, 'frame');
    while (!channel.signal.aborted) await channel.send(chunk);
  },
};

const requires = { operations, appSockets, grants };

export const plugin = definePlugin({
  requires,
  async setup(host, services) {
    host.scope.use('operation', services.operations.add(echo as Operation<never, unknown>));
    host.scope.use('stream', services.operations.addStream(source as StreamEndpoint<never>));
    for (const name of ['a', 'b']) {
      const id = `com.example.${name}`;
      await services.appSockets.open({ id, name });
      await services.grants.set({ kind: 'app', id }, ['audio.playback', 'functions.call']);
    }
  },
});
