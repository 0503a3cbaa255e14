import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { Power } from '@device-core/plugin-api/services/power';

export function powerOperation(power: Power): Operation<object, object> {
  return {
    name: 'power.status',
    summary: 'Power source of the device, and its charge',
    params: exactly({}),
    result: exactly(
      {
        provider: { type: 'string', description: '`upower`, `sysfs` or `sim`' },
        source: { enum: ['mains', 'battery'] },
        level: { type: 'number', minimum: 0, maximum: 1, description: 'of the battery; absent: there is none' },
        state: { enum: ['ok', 'charging', 'low', 'critical', 'shutting-down'] },
        reason: { type: 'string' },
      },
      ['provider', 'source', 'state'],
    ),
    rest: { method: 'GET', path: '/power' },
    cli: { aliases: ['power'] },
    errors: ['UNAVAILABLE', 'TIMEOUT', 'BUSY'],
    run: () => power.status(),
  };
}
