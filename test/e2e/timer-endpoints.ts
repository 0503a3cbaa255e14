/** The endpoints of timers: see endpoints.ts. */
import { admin, type Endpoint, get, post } from './endpoint.ts';

export const TIMER_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'timers.list': get('/timers', [], admin),
  'timers.set': post(
    '/timers',
    { seconds: 60 },
    [
      ['no time', { seconds: 0 }, 400, 'PARAMS_INVALID'],
      ['half a second', { seconds: 0.5 }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'timers.cancel': { method: 'DELETE', path: '/timers/none', wrongMethod: 'POST', ...admin },
  'timers.silence': post('/timers/silence', {}, [], { ...admin, wrongMethod: 'GET' }),
};
