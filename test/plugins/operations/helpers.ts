import { fileURLToPath } from 'node:url';
import { ANONYMOUS, type Caller } from '@device-core/plugin-api';
import {
  type Invocation,
  type Operation,
  type Operations,
  operations,
} from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost, type VirtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/operations/index.ts';

const MANIFEST = fileURLToPath(new URL('../../../manifests/plugins/interface/operations.yaml', import.meta.url));

export const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
export const FLASH: Caller = { kind: 'app', id: 'com.example.flash' };
export const PLAIN: Caller = { kind: 'app', id: 'com.example.plain' };
export { ANONYMOUS };

export const GRANTS = { 'app.com.example.flash': ['bridges.spi:flash'] };

export async function start(
  config: object = {},
  clock?: VirtualClock,
): Promise<{ host: TestHost; table: Operations } & AsyncDisposable> {
  const host = await createTestHost(plugin, { manifest: MANIFEST, config, grants: GRANTS, ...(clock && { clock }) });
  return { host, table: host.service(operations), [Symbol.asyncDispose]: () => host.stop() };
}

export function call(caller: Caller = OPERATOR, options: { signal?: AbortSignal; ms?: number } = {}): Invocation {
  return {
    caller,
    signal: options.signal ?? new AbortController().signal,
    deadline: Date.now() + (options.ms ?? 10_000),
  };
}

/** An operation with something to get wrong in every place; parts of it can be replaced. */
export function operation(parts: Partial<Operation<never, unknown>> = {}): Operation<never, unknown> {
  return {
    name: 'test.echo',
    summary: 'answer what was asked',
    params: {
      type: 'object',
      required: ['text'],
      properties: {
        text: { type: 'string', maxLength: 10, pattern: '^[a-z]*$' },
        times: { type: 'integer', minimum: 1, default: 1 },
        mood: { enum: ['glad', 'sad'] },
        items: {
          type: 'array',
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        free: { type: 'object' },
      },
    },
    result: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    errors: [],
    run: async (params: { text: string }) => params,
    ...parts,
  } as Operation<never, unknown>;
}
