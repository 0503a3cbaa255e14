import type { EngineInfo, EngineKind, Operation } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/buses';
import { KINDS, type Registry } from './registry.ts';

export function engineOperation(
  registry: Registry,
): Operation<{ readonly kind?: EngineKind }, { readonly engines: readonly EngineInfo[] }> {
  return {
    name: 'speech.engines',
    summary: 'List the engines that hear and speak, in the order in which they are asked',
    description: 'An engine with a problem has failed and is passed over for up to 30 s.',
    params: exactly({ kind: { enum: KINDS, description: 'those of one kind' } }, []),
    result: exactly({
      engines: { type: 'array', items: { type: 'object', required: ['kind', 'id', 'owner', 'uses', 'failures'] } },
    }),
    capability: 'audio',
    rest: { method: 'GET', path: '/speech/engines' },
    errors: [],
    run: async ({ kind }) => ({ engines: registry.list(kind) }),
  };
}
