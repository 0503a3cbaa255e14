import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { type OpenApi, type OpenRpc, operationsOf, type RegisteredFunction, streamsOf } from './catalog.ts';

/** Every function of an app, every operation and every stream. */
export async function entries(): Promise<readonly Entry[]> {
  const [rest, rpc, { functions }] = await Promise.all([
    api.get<OpenApi>('/openapi.json'),
    api.get<OpenRpc>('/openrpc.json'),
    // A SKU without functions has operations all the same.
    api.get<{ functions: readonly RegisteredFunction[] }>('/functions').catch(() => ({ functions: [] })),
  ]);
  const icon = 'functions' as const;
  return [
    ...functions.map(
      ({ name, app, version, description = '' }): Entry => ({
        kind: 'function',
        title: name,
        note: description,
        icon,
        words: [app],
        href: link('functions', ['fn', app, name, version]),
      }),
    ),
    ...operationsOf(rest, rpc).map(
      ({ name, summary, rest: route }): Entry => ({
        kind: 'operation',
        title: name,
        note: summary,
        icon,
        words: route ? [route.path] : [],
        href: link('functions', ['op', name]),
      }),
    ),
    ...streamsOf(rpc).map(
      ({ name, summary }): Entry => ({
        kind: 'operation',
        title: name,
        note: summary,
        icon,
        href: link('functions', ['stream', name]),
      }),
    ),
  ];
}
