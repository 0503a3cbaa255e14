import { definePlugin } from '@device-core/plugin-api';
import { InputFeed } from '@device-core/plugin-api/input';
import { inputs } from '@device-core/plugin-api/services/input';
import { operations } from '@device-core/plugin-api/services/operations';
import { inputOperations } from './operations.ts';

interface Settings {
  readonly keys: readonly string[];
}

export const plugin = definePlugin<{ operations: typeof operations; inputs: typeof inputs }, Settings>({
  requires: { operations, inputs },
  async setup(host, services) {
    const { keys } = host.config;
    const feed = await InputFeed.open(services.inputs, { id: host.id, touch: true, keys, injected: true });
    host.scope.use('source of touch and keys', feed);
    for (const operation of inputOperations({ feed, keys, clock: host.clock }))
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
