/** The endpoints of timers and alarms: see endpoints.ts. */
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
  'alarms.list': get('/alarms', [], admin),
  'alarms.set': post(
    '/alarms',
    { time: '07:00' },
    [
      ['no such time', { time: '24:00' }, 400, 'PARAMS_INVALID'],
      ['neither time nor length', {}, 400, 'PARAMS_INVALID'],
      ['both', { time: '07:00', seconds: 60 }, 400, 'PARAMS_INVALID'],
      ['no such date', { time: '07:00', date: '2026-02-30' }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'alarms.change': { method: 'PUT', path: '/alarms/none', body: { on: true }, wrongMethod: 'GET', ...admin },
  'alarms.cancel': { method: 'DELETE', path: '/alarms/none', wrongMethod: 'POST', ...admin },
  'alarms.snooze': post('/alarms/snooze', {}, [['no time', { seconds: 0 }, 400, 'PARAMS_INVALID']], {
    ...admin,
    wrongMethod: 'GET',
  }),
  'alarms.dismiss': post('/alarms/dismiss', {}, [], { ...admin, wrongMethod: 'GET' }),
};
