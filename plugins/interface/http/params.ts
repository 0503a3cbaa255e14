/** Params of an operation from the path, the query and the body of a request. */
import { CoreError } from '@device-core/plugin-api';
import { itemsOf, propertiesOf, type Schema } from '@device-core/plugin-api/inside/schema-reader';
import type { OperationInfo } from '@device-core/plugin-api/services/operations';

export interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

type Members = Record<string, unknown>;

export type ParamsReader = (parts: RequestParts) => unknown;

/** Made when its route is first asked for. */
export function lazyParamsReader(operation: OperationInfo): ParamsReader {
  let reader: ParamsReader | undefined;
  return (parts) => {
    reader ??= paramsReader(operation);
    return reader(parts);
  };
}

/** Made once per route. The function throws PARAMS_INVALID for what cannot be told apart; the gate checks the rest. */
export function paramsReader(operation: OperationInfo): ParamsReader {
  const { rest, name } = operation;
  const properties = propertiesOf(operation.params);
  const inPath = [...rest!.path.matchAll(/:([^/]+)/g)].map((match) => match[1]!);
  const takesBody = rest!.method === 'POST' || rest!.method === 'PUT';
  const refuse = (reason: string, member?: string) =>
    new CoreError('PARAMS_INVALID', { where: `params of ${name}`, reason, ...(member ? { member } : {}) });

  return ({ params, query, body }) => {
    let result: Members = {};
    if (takesBody) {
      for (const member in query as Members)
        throw refuse(`${clip(member)}: belongs into the body, not into the query`, clip(member));
      if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
        throw refuse('body: must be object');
      if (inPath.length === 0) return body ?? result;
      result = { ...(body as Members | undefined) };
    } else {
      const given = query as Members;
      for (const member in given) {
        if (member === '__proto__') throw refuse('__proto__: is not a known member', member);
        result[member] = coerce(given[member], properties[member]);
      }
    }
    for (const member of inPath) {
      if (Object.hasOwn(result, member)) throw refuse(`${member}: is given by the path already`, member);
      result[member] = coerce((params as Members)[member], properties[member]);
    }
    return result;
  };
}

/** Text of a path or a query as the schema wants it; what does not fit stays text, for the gate to name it. */
function coerce(value: unknown, schema: Schema = {}): unknown {
  const types = [schema.type].flat();
  if (types.includes('array')) return [value].flat().map((item) => coerce(item, itemsOf(schema)));
  if (typeof value !== 'string' || types.includes('string')) return value;
  if ((types.includes('integer') || types.includes('number')) && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value))
    return Number(value);
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
