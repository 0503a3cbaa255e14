/** The table of operations that the Core serves: its OpenRPC document. */
import { maybe } from '@device-core/plugin-api';
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';
import type { CoreClient } from './client.ts';

/** An operation as a client sees it. */
export interface Method {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: JsonSchema;
  readonly result: JsonSchema;
  readonly rest: { readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'; readonly path: string; readonly bare?: boolean };
  readonly views: readonly CliView[];
  readonly timeoutMs: number;
  readonly plugin?: string;
  readonly capability?: string;
}

interface Descriptor {
  readonly name: string;
  readonly required?: boolean;
  readonly schema?: JsonSchema;
}

interface OpenRpcMethod {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly params?: readonly Descriptor[];
  readonly result?: Descriptor;
  readonly 'x-rest'?: Method['rest'];
  readonly 'x-cli'?: CliView | readonly CliView[];
  readonly 'x-timeout-ms'?: number;
  readonly 'x-plugin'?: string;
  readonly 'x-capability'?: string;
}

const TIMEOUT_MS = 30_000;

/** Those that can be called over REST; `starting`: more of them may be to come. */
export async function readTable(
  client: CoreClient,
  timeoutMs?: number,
): Promise<{ readonly methods: readonly Method[]; readonly starting: boolean }> {
  const { body } = await client.get('/openrpc.json', timeoutMs === undefined ? {} : { timeoutMs });
  return { methods: methodsOf(body), starting: body['x-starting'] !== undefined };
}

export function methodsOf(document: object): readonly Method[] {
  const { methods = [] } = document as { readonly methods?: readonly OpenRpcMethod[] };
  return methods.flatMap((one): Method[] => {
    const { name, summary = '', description, params = [], result } = one;
    const rest = one['x-rest'];
    if (!rest) return [];
    const views = [one['x-cli'] ?? []].flat();
    return [
      {
        name,
        summary,
        rest,
        views: views.length > 0 ? views : [{}],
        ...maybe({ description }),
        params: {
          type: 'object',
          properties: Object.fromEntries(params.map((param) => [param.name, param.schema ?? {}])),
          required: params.filter(({ required }) => required).map((param) => param.name),
        },
        result: result?.schema ?? {},
        timeoutMs: one['x-timeout-ms'] ?? TIMEOUT_MS,
        ...(one['x-plugin'] === undefined ? {} : { plugin: one['x-plugin'] }),
        ...(one['x-capability'] === undefined ? {} : { capability: one['x-capability'] }),
      },
    ];
  });
}
