/** OpenAPI 3.1 of every operation with a route. Source: https://spec.openapis.org/oas/v3.1.0 */

import { ERROR_CODES } from '@device-core/plugin-api';
import { propertiesOf, requiredOf } from '@device-core/plugin-api/inside/schema-reader';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import {
  type JsonSchema,
  type OperationError,
  type OperationInfo,
  type RestBinding,
  restStatus,
} from '@device-core/plugin-api/services/operations';
import { codeOf, describeError, restErrorsOf } from './gate-errors.ts';

type Routed = OperationInfo & { readonly rest: RestBinding };

export function openapi(operations: readonly OperationInfo[], device: DeviceInfo): object {
  const routed = operations.filter((operation): operation is Routed => operation.rest !== undefined);
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of routed) {
    const path = operation.rest.path.replaceAll(/:([^/]+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.rest.method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'http://json-schema.org/draft-07/schema#',
    info: {
      title: `${device.sku.title}: REST interface`,
      version: device.core.version,
      description:
        'The bare paths are version 1; the same routes stand under /v1. Every operation takes the header of `components.parameters.DeviceDeadlineMs`.',
    },
    servers: [{ url: '/' }, { url: '/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'token of an app or of the operator' } },
      headers: {
        DeviceApiVersion: { description: 'major version of the interface', schema: { type: 'string', const: '1' } },
        RetryAfter: { description: 'seconds', schema: { type: 'integer', minimum: 1 } },
      },
      parameters: { DeviceDeadlineMs: DEADLINE },
      schemas: { Failure: failureSchema(routed), BareFailure: BARE_FAILURE },
    },
  };
}

const DEADLINE = {
  name: 'Device-Deadline-Ms',
  in: 'header',
  required: false,
  schema: { type: 'number', minimum: 0 },
  description:
    'milliseconds for which the answer is worth something; the call ends with TIMEOUT then. It only shortens the limit of the operation.',
};

/** With the codes of the table and those that plugins define for their operations. */
function failureSchema(operations: readonly Routed[]): object {
  const own = operations.flatMap(({ errors }) => errors.filter((error) => typeof error !== 'string').map(codeOf));
  const code = { enum: [...new Set([...Object.keys(ERROR_CODES), ...own])] };
  return { ...FAILURE, properties: { ...FAILURE.properties, code } };
}

const FAILURE = {
  type: 'object',
  required: ['ok', 'error', 'code'],
  properties: {
    ok: { const: false },
    error: { type: 'string', description: '<CODE>: <text>' },
    code: {},
    details: { type: 'object' },
  },
};

const BARE_FAILURE = {
  type: 'object',
  required: ['ok', 'error'],
  additionalProperties: false,
  properties: { ok: { const: false }, error: { type: 'string', description: '<CODE>: <text>' } },
};

function describeOperation(operation: Routed): object {
  const { rest, params } = operation;
  const properties = propertiesOf(params);
  const required = requiredOf(params);
  const inPath = [...rest.path.matchAll(/:([^/]+)/g)].map((match) => match[1]!);
  const hasBody = rest.method === 'POST' || rest.method === 'PUT';
  const inQuery = hasBody ? [] : Object.keys(properties).filter((name) => !inPath.includes(name));
  const parameter = (place: 'path' | 'query') => (name: string) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: properties[name] ?? { type: 'string' },
  });
  const parameters = [...inPath.map(parameter('path')), ...inQuery.map(parameter('query'))];
  return {
    operationId: operation.name,
    tags: [operation.name.split('.')[0]],
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    ...(operation.anonymous ? { security: [{}, { token: [] }] } : {}),
    ...(operation.capability ? { 'x-capability': operation.capability } : {}),
    ...(operation.access ? { 'x-access': operation.access } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody ? { requestBody: operation.rest.raw ? RAW_BODY : requestBody(params, inPath) } : {}),
    responses: { ...successes(operation), ...failures(operation) },
  };
}

const RAW_BODY = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};

function requestBody(params: JsonSchema, inPath: readonly string[]): object {
  const rest = (names: readonly string[]) => names.filter((name) => !inPath.includes(name));
  const properties = propertiesOf(params);
  const required = rest(requiredOf(params));
  const { required: _, ...others } = params;
  const schema = {
    ...others,
    properties: Object.fromEntries(rest(Object.keys(properties)).map((name) => [name, properties[name]])),
    ...(required.length > 0 ? { required } : {}),
  };
  return { required: required.length > 0, content: { 'application/json': { schema } } };
}

function successes({ rest, result }: Routed): Record<string, object> {
  const content = rest.sse
    ? { 'text/event-stream': { schema: { type: 'string' } } }
    : rest.text !== undefined
      ? { [rest.text]: { schema: result } }
      : { 'application/json': { schema: rest.bare ? result : withOk(result) } };
  const statuses = [rest.status ?? 200, ...Object.values(rest.statusBy?.map ?? {})];
  return Object.fromEntries(
    statuses.map((status) => [String(status), { description: 'done', headers: HEADERS, content }]),
  );
}

const HEADERS = { 'Device-Api-Version': { $ref: '#/components/headers/DeviceApiVersion' } };

function withOk(result: JsonSchema): JsonSchema {
  if (result.type !== 'object') return { allOf: [OK, result] };
  const properties = { ok: { const: true }, ...(result.properties as object | undefined) };
  return { ...result, properties, required: ['ok', ...requiredOf(result)] };
}

const OK = { type: 'object', required: ['ok'], properties: { ok: { const: true } } };

/** One response per status; the codes that it may carry are named in its description and in `x-codes`. */
function failures(operation: Routed): Record<string, object> {
  const byStatus = new Map<number, OperationError[]>();
  for (const error of restErrorsOf(operation)) {
    const status = restStatus(operation.rest, error);
    byStatus.set(status, [...(byStatus.get(status) ?? []), error]);
  }
  const schema = { $ref: `#/components/schemas/${operation.rest.failure?.bare ? 'BareFailure' : 'Failure'}` };
  const successful = new Set([operation.rest.status ?? 200, ...Object.values(operation.rest.statusBy?.map ?? {})]);
  const responses: Record<string, object> = {};
  for (const [status, errors] of [...byStatus].sort(([a], [b]) => a - b)) {
    if (successful.has(status)) continue;
    const retry =
      status === 429 || status === 503 ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {};
    responses[status] = {
      description: errors.map((error) => `${codeOf(error)}: ${describeError(error)}`).join('\n\n'),
      headers: { ...HEADERS, ...retry },
      content: { 'application/json': { schema } },
      'x-codes': errors.map(codeOf),
    };
  }
  return responses;
}
