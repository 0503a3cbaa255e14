/** home.show, home.pair: what an operator may ask the device's own screens for. */
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { MOST_QR_TEXT } from './qr.ts';
import { SCREENS, type ScreenName } from './screens/index.ts';

const SHOWN: JsonSchema = {
  type: 'object',
  required: ['screen'],
  properties: { screen: { enum: Object.keys(SCREENS) } },
};

export interface Shows {
  show(screen: ScreenName): Promise<void>;
  pair(url: string, ms: number): Promise<void>;
  readonly screen: ScreenName;
}

export function homeOperations(shows: Shows): readonly Operation<never, unknown>[] {
  const show: Operation<{ screen: ScreenName }, object> = {
    name: 'home.show',
    summary: "shows one of the device's own screens",
    params: {
      type: 'object',
      required: ['screen'],
      additionalProperties: false,
      properties: {
        screen: {
          enum: Object.keys(SCREENS).filter((name) => name !== 'pairing' && name !== 'wifi'),
          description: 'as a person would open it',
        },
      },
    },
    result: SHOWN,
    capability: 'system.display',
    rest: { method: 'PUT', path: '/display/home' },
    errors: [],
    async run({ screen }) {
      await shows.show(screen);
      return { screen: shows.screen };
    },
  };
  const pair: Operation<{ url: string; ms?: number }, object> = {
    name: 'home.pair',
    summary: 'shows a code that a phone scans to open an address',
    params: {
      type: 'object',
      required: ['url'],
      additionalProperties: false,
      properties: {
        url: { type: 'string', pattern: '^https?://[^\\s]+$', maxLength: MOST_QR_TEXT },
        ms: { type: 'integer', minimum: 1000, maximum: 600000, default: 120000, description: 'until it is taken away' },
      },
    },
    result: SHOWN,
    capability: 'system.display',
    rest: { method: 'PUT', path: '/display/pairing' },
    errors: [],
    async run({ url, ms = 120_000 }) {
      await shows.pair(url, ms);
      return { screen: shows.screen };
    },
  };
  return [show as Operation<never, unknown>, pair as Operation<never, unknown>];
}
