/** Endpoints of the logs. */
import { admin, type Endpoint, get, post } from './endpoint.ts';

export const LOG_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'logs.read': get(
    '/logs',
    [
      ['an expression that looks back', '/logs?grep=%2F(%3F%3Da)b%2F', 400, 'PARAMS_INVALID'],
      ['no time', '/logs?since=yesterday', 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'logs.levels': get('/logs/levels', [], admin),
  'logs.setLevel': {
    method: 'PUT',
    path: '/logs/levels/nobody',
    body: { level: 'debug' },
    wrongMethod: 'POST',
    cases: [
      ['no level', { level: 'loud' }, 400, 'PARAMS_INVALID'],
      ['for ever', { level: 'debug', forMs: 1e12 }, 400, 'PARAMS_INVALID'],
    ],
    ...admin,
  },
  'logs.files': get('/logs/files', [], admin),
  'logs.file': get(
    '/logs/file?name=core.log',
    [
      ['a file of somebody else', '/logs/file?name=..%2F..%2Fetc%2Fpasswd', 400, 'PARAMS_INVALID'],
      ['no file', '/logs/file?name=core.99.zst', 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'logs.bundle': get(
    '/logs/bundle?name=versions.json',
    [['no part of it', '/logs/bundle?name=passwords.json', 400, 'PARAMS_INVALID']],
    admin,
  ),
  'logs.dump': post('/logs/dump', {}, [], admin),
  'logs.lastStart': get('/logs/last-start', [], admin),
  'logs.stream': get('/logs/stream', [], admin),
};
