/** Endpoints of what is around the device (network, power, time), of all its state, and of what it tells of its life. */
import { admin, type Endpoint, get, post, remove } from './endpoint.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

export const LIFE_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'boot.status': get('/boot', [], admin),
  'boot.seen': post('/boot/seen', {}, [], admin),
  'system.restart': post('/system/restart', {}, [], admin),
  'system.reboot': post('/system/reboot', {}, [], admin),
  'system.powerOff': post('/system/power-off', {}, [], admin),
  'traces.list': get('/traces', [['a reason that is none', '/traces?why=boring', 400, 'PARAMS_INVALID']], admin),
  'traces.get': get(
    '/traces/4bf92f3577b34da6a3ce929d0e0e4736',
    [
      ['a trace that is not kept', '/traces/ffffffffffffffffffffffffffffffff', 404, 'TRACE_NOT_FOUND'],
      ['seven digits', '/traces/0e0e473', 400, 'PARAMS_INVALID'],
      ['upper case', '/traces/0E0E4736', 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'update.status': get('/update', [], admin),
  'update.check': post(
    '/update/check',
    {},
    [['a channel with a slash', { channel: 'a/b' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'update.download': post('/update/download', {}, [], admin),
  'update.upload': post(
    '/update/uploads',
    { data: 'AA==' },
    [
      ['no base64', { data: '*' }, 400, 'PARAMS_INVALID'],
      ['an offset below 0', { data: 'AA==', offset: -1 }, 400, 'PARAMS_INVALID'],
      ['a name that is none', { data: 'AA==', upload: '../x' }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'update.install': post(
    '/update/install',
    { source: '/nowhere' },
    [['a path from nowhere', { source: 'image' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'update.apply': post(
    '/update/apply',
    {},
    [['a digest that is none', { accept: 'yes' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'update.rollback': post('/update/rollback', {}, [], admin),
  'update.history': get('/update/history', [['no lines', '/update/history?limit=0', 400, 'PARAMS_INVALID']], admin),
  'update.why': get('/update/why', [], admin),
  'update.hold': post('/update/hold', {}, [['no time at all', { hours: 0 }, 400, 'PARAMS_INVALID']], {
    ...admin,
    wrongMethod: 'GET',
  }),
  'update.resume': remove('/update/hold', [], { ...admin, wrongMethod: 'GET' }),
  'update.inhibit': post(
    '/update/inhibit',
    { reason: 'a recording', ms: 60_000 },
    [['more than a day', { reason: 'a recording', ms: 86_400_001 }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'update.release': remove(
    '/update/inhibit/999',
    [['an id that is none', '/update/inhibit/a', 400, 'PARAMS_INVALID']],
    admin,
  ),
  'network.status': get('/network', [], admin),
  'network.wifi': get('/network/wifi', [], admin),
  'network.join': post(
    '/network/wifi/join',
    { ssid: 'Workshop' },
    [
      ['a network that is not there', { ssid: 'Nowhere' }, 409, 'NETWORK_REFUSED'],
      ['a passphrase of another', { ssid: 'Workshop', passphrase: 'wrong' }, 409, 'NETWORK_REFUSED'],
      ['a passphrase of 65 characters', { ssid: 'Workshop', passphrase: 'x'.repeat(65) }, 400, 'PARAMS_INVALID'],
      ['a name of nothing', { ssid: '' }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'network.forget': post(
    '/network/wifi/forget',
    { ssid: 'Workshop' },
    [['one that it does not know', { ssid: 'Nowhere' }, 409, 'NETWORK_REFUSED']],
    admin,
  ),
  'power.status': get('/power'),
  'time.status': get('/time'),
  'time.setZone': {
    method: 'PUT',
    path: '/time/zone',
    body: { zone: 'Europe/Berlin' },
    ...admin,
    cases: [
      ['a zone that nobody knows', { zone: 'Europe/Nowhere' }, 400, 'PARAMS_INVALID'],
      ['an offset', { zone: '+02:00' }, 400, 'PARAMS_INVALID'],
      ['a path', { zone: '../../etc/shadow' }, 400, 'PARAMS_INVALID'],
    ],
  },
  'system.backup': post(
    '/system/backups',
    {},
    [['a passphrase of 257 characters', { passphrase: 'x'.repeat(257) }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'system.backupPart': get(
    `/system/backups/${NOBODY}`,
    [
      ['one that was not made', `/system/backups/${NOBODY}`, 400, 'BACKUP_INVALID'],
      ['a name that is none', '/system/backups/x', 400, 'PARAMS_INVALID'],
      ['an offset below 0', `/system/backups/${NOBODY}?offset=-1`, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'system.restoreUpload': post('/system/restore/uploads', {}, [], { ...admin, raw: true }),
  'system.restore': post(
    '/system/restore',
    { upload: NOBODY },
    [['one that nobody handed over', { upload: NOBODY }, 400, 'BACKUP_INVALID']],
    admin,
  ),
  'system.reset': post('/system/reset', {}, [], admin),
};
