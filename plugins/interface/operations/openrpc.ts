/** OpenRPC 1.3 of every operation that JSON-RPC callers see. Source: https://spec.open-rpc.org */
import { maybe } from '@device-core/plugin-api';
import { membersOf } from '@device-core/plugin-api/inside/schema-reader';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { JsonSchema, OperationInfo, RestBinding, StreamInfo } from '@device-core/plugin-api/services/operations';
import { codeOf, describeError, errorsOf, rpcCodeOf } from './gate-errors.ts';

export function openrpc(
  operations: readonly OperationInfo[],
  streams: readonly StreamInfo[],
  device: DeviceInfo,
): object {
  return {
    openrpc: '1.3.2',
    info: { title: `${device.sku.title}: JSON-RPC interface`, version: device.core.version },
    methods: operations.filter((operation) => operation.rpc !== false).map(describeMethod),
    'x-streams': streams.map(({ params, ...stream }) => ({ ...stream, params })),
  };
}

function describeMethod(operation: OperationInfo): object {
  return {
    name: operation.name,
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    ...(operation.capability ? { 'x-capability': operation.capability } : {}),
    ...(operation.access ? { 'x-access': operation.access } : {}),
    ...(operation.plugin ? { 'x-plugin': operation.plugin } : {}),
    ...(operation.rest ? { 'x-rest': bindingOf(operation.rest) } : {}),
    ...maybe({ 'x-cli': operation.cli }),
    ...(operation.timeoutMs ? { 'x-timeout-ms': operation.timeoutMs } : {}),
    paramStructure: 'by-name',
    params: contentDescriptors(operation.params),
    result: { name: 'result', schema: operation.result },
    errors: errorsOf(operation).map((error) => ({
      code: rpcCodeOf(error),
      message: describeError(error),
      data: { code: codeOf(error) },
    })),
  };
}

/** Binding that a client needs to call it over REST. */
function bindingOf({ method, path, bare }: RestBinding): object {
  return { method, path, ...(bare ? { bare } : {}) };
}

function contentDescriptors(params: JsonSchema): readonly object[] {
  return membersOf(params).map(({ name, schema, required }) => ({ name, required, schema }));
}
