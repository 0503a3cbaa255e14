/** system.version and system.ping. */
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Operation } from '@device-core/plugin-api/services/operations';

export function aboutOperations(device: DeviceInfo): readonly Operation<never, unknown>[] {
  const version = { service: device.service, version: device.core.version, api: device.core.api, sku: device.sku };
  return [
    {
      name: 'system.version',
      summary: 'versions of the Core and of plugin-api, and the SKU it runs',
      anonymous: true,
      params: { type: 'object' },
      result: {
        type: 'object',
        required: ['service', 'version', 'api', 'sku'],
        properties: {
          service: { type: 'string' },
          version: { type: 'string' },
          api: { type: 'string', description: 'version of plugin-api' },
          sku: {
            type: 'object',
            required: ['id', 'title', 'simulated'],
            properties: { id: { type: 'string' }, title: { type: 'string' }, simulated: { type: 'boolean' } },
          },
        },
      },
      rest: { method: 'GET', path: '/version' },
      errors: [],
      run: async () => version,
    },
    {
      name: 'system.ping',
      summary: 'prove that the Core answers and knows the caller',
      params: { type: 'object' },
      result: {
        type: 'object',
        required: ['pong', 'ts'],
        properties: {
          pong: { const: true },
          ts: { type: 'integer', description: 'milliseconds since the Unix epoch' },
        },
      },
      rest: { method: 'GET', path: '/ping' },
      errors: [],
      run: async () => ({ pong: true, ts: Date.now() }),
    },
  ];
}
