import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { WallTime } from '@device-core/plugin-api/services/wall-time';

const ERRORS = ['UNAVAILABLE', 'TIMEOUT', 'BUSY'] as const;
const ZONE = { type: 'string', description: '`Europe/Berlin`' };

export function timeOperations(time: WallTime): readonly Operation<never, unknown>[] {
  return [
    {
      name: 'time.status',
      summary: 'Whether the clock of the device can be believed, and its zone',
      params: exactly({}),
      result: exactly(
        {
          provider: { type: 'string', description: '`timedated`, `files` or `sim`' },
          set: { type: 'boolean', description: 'set from a trusted source since the device was switched on' },
          zone: ZONE,
          now: { type: 'integer', description: 'milliseconds since the Unix epoch' },
        },
        ['provider', 'set', 'zone', 'now'],
      ),
      rest: { method: 'GET', path: '/time' },
      cli: { aliases: ['time'], columns: [['time', '{now:time}'], 'zone', 'set', 'provider'] },
      errors: ERRORS,
      run: () => time.status(),
    },
    {
      name: 'time.setZone',
      summary: 'Say in which time zone the device is',
      capability: 'system.config',
      params: exactly({ zone: { ...ZONE, minLength: 1, maxLength: 64 } }, ['zone']),
      result: exactly({}),
      rest: { method: 'PUT', path: '/time/zone' },
      cli: { done: 'the device is in {zone}' },
      errors: [...ERRORS, 'PARAMS_INVALID'],
      async run({ zone }: { readonly zone: string }) {
        await time.setZone(zone);
        return {};
      },
    } satisfies Operation<{ readonly zone: string }, object> as Operation<never, unknown>,
  ];
}
