/** Endpoints of what the device says about itself. */
import { admin, type Endpoint, get, post } from './endpoint.ts';

export const TELEMETRY_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'metrics.list': get(
    '/metrics/list',
    [['a prefix of 129 characters', `/metrics/list?prefix=${'x'.repeat(129)}`, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'metrics.text': get('/metrics', [], admin),
  'telemetry.status': get('/telemetry', [], admin),
  'telemetry.show': get(
    '/telemetry/next',
    [['a level that is none', '/telemetry/next?level=everything', 400, 'PARAMS_INVALID']],
    admin,
  ),
  'telemetry.consent': {
    method: 'PUT',
    path: '/telemetry/consent',
    body: { level: 'off' },
    ...admin,
    cases: [['a level that is none', { level: 'everything' }, 400, 'PARAMS_INVALID']],
  },
  'telemetry.reset': post('/telemetry/reset', {}, [], admin),
};
