/** The same plugin at each level of isolation: an echo as a service and as an operation with everything that a real one has. */
import { definePlugin } from '@device-core/plugin-api';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';
import { type Echo, echoRef } from './echo.ts';

const requires = { operations };

export const plugin = definePlugin({
  requires,
  setup(host, services) {
    const level = host.id.slice('bench-'.length);
    const echo: Echo = { say: async (value) => value };
    const operation: Operation<{ text: string; n: number }, { text: string }> = {
      name: `bench.${level}`,
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
    host.provide(echoRef(level), echo);
    host.scope.use('operation', services.operations.add(operation as Operation<never, unknown>));
  },
});
