import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';

interface Row {
  readonly rest: `${'GET' | 'POST' | 'PUT' | 'DELETE'} ${string}`;
  readonly params?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly result?: Readonly<Record<string, JsonSchema>>;
  readonly cli?: CliView | readonly CliView[];
  readonly summary?: string;
}

/** An OpenRPC document with these operations, as a Core would serve it. */
export function smallTable(rows: Readonly<Record<string, Row>>): object {
  return {
    methods: Object.entries(rows).map(([name, { rest, params = {}, required = [], result = {}, cli, summary }]) => {
      const [method, path] = rest.split(' ');
      return {
        name,
        summary: summary ?? `does ${name}`,
        params: Object.entries(params).map(([param, schema]) => ({
          name: param,
          required: required.includes(param),
          schema,
        })),
        result: { name: 'result', schema: { type: 'object', properties: result } },
        'x-rest': { method, path },
        ...(cli && { 'x-cli': cli }),
      };
    }),
  };
}

export const TEXT: JsonSchema = { type: 'string' };
/** A list of things that have this member. */
export const listOf = (member: string): JsonSchema => ({
  type: 'array',
  items: { type: 'object', properties: { [member]: TEXT } },
});
