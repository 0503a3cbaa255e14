/** Every endpoint of the simulator SKU with a good request, and what is wrong with a bad one (decisions D3 to D10). */

export const AGENDA = 'com.example.agenda';
export const FLASH = 'com.example.flash-reader';
export const TOPIC = `app.${AGENDA}.event.test`;

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  /** What the agenda, which holds `display.notify` and `audio.intent` only, is refused. */
  readonly denied?: true;
  readonly anonymous?: true;
  /** A body that is good but for what a case does to it. */
  readonly body?: object;
  /** Bytes that it takes where that is more than 256 KiB. */
  readonly bodyLimit?: number;
  /** Its body is bytes, not JSON. */
  readonly raw?: true;
  /** Where the path takes DELETE. */
  readonly wrongMethod?: 'POST';
  /** Status and code for a member that it does not know, and for one that is missing or wrong; PARAMS_INVALID else. */
  readonly more?: readonly [status: number, code: string];
  readonly wrong?: string;
  /** Beyond what is common to all: the case, its path or body, and what is answered. */
  readonly cases?: readonly Case[];
}
export type Case = readonly [what: string, input: string | object, status: number, code: string];

const get = (path: string, cases: readonly Case[] = [], more: object = {}): Endpoint => ({
  method: 'GET',
  path,
  cases,
  ...more,
});
const post = (path: string, body: object, cases: readonly Case[] = [], more: object = {}): Endpoint => ({
  method: 'POST',
  path,
  body,
  cases,
  ...more,
});
const admin = { denied: true } as const;

export const SPI = { handle: 'flash', tx: 'nw==', rxLen: 4 };
const ENTRY = {
  name: 'agenda.test',
  version: '1.0.0',
  inputs: { a: 'string' },
  returns: {},
  permissions: [],
  timeout_ms: 500,
};
const entry = (change: object) => ({ app: AGENDA, functions: [{ ...ENTRY, ...change }] });
export const EVENT = { topic: TOPIC, payload: {} };

/** Common to every bus. */
const BUS: readonly Case[] = [];

/** Every endpoint there is; the path of an operation with params is filled in. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'spi.transfer': post(
    '/SPI_transfer_txrx',
    SPI,
    [
      ['a handle that nobody has', { ...SPI, handle: 'absent' }, 403, 'CAPABILITY_DENIED'],
      ['a handle of another app', { ...SPI, handle: 'slow' }, 403, 'CAPABILITY_DENIED'],
      ['a handle with a slash', { ...SPI, handle: '../flash' }, 400, 'INVALID_HANDLE'],
      ['base64 without padding', { ...SPI, tx: 'nw' }, 400, 'PARAMS_INVALID'],
      ['base64url', { ...SPI, tx: '_-8=' }, 400, 'PARAMS_INVALID'],
      ['base64 with a line break', { ...SPI, tx: 'nw==\n' }, 400, 'PARAMS_INVALID'],
      ['base64 with loose bits', { ...SPI, tx: 'nx==' }, 400, 'PARAMS_INVALID'],
      ['tx of 65,537 bytes', { ...SPI, tx: Buffer.alloc(65_537).toString('base64') }, 400, 'PARAMS_INVALID'],
      ['rxLen of 65,537', { ...SPI, rxLen: 65_537 }, 400, 'PARAMS_INVALID'],
      ['a negative rxLen', { ...SPI, rxLen: -1 }, 400, 'PARAMS_INVALID'],
      ['half a byte', { ...SPI, rxLen: 0.5 }, 400, 'PARAMS_INVALID'],
      ['nothing to transfer', { ...SPI, tx: '', rxLen: 0 }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'functions.register': post('/FunctionRegistry-registerFunction', { app: AGENDA, functions: [ENTRY] }, [
    ["another app's id", { app: FLASH, functions: [ENTRY] }, 403, 'CALLER_DENIED'],
    ['an unknown type', entry({ inputs: { a: 'float' } }), 400, 'FUNCTION_INVALID'],
    ['a bad name', entry({ name: 'Agenda.test' }), 400, 'FUNCTION_INVALID'],
    ['a bad version', entry({ version: '1.0' }), 400, 'FUNCTION_INVALID'],
    ['no time at all', entry({ timeout_ms: 0 }), 400, 'FUNCTION_INVALID'],
    ['an unknown permission', entry({ permissions: ['root'] }), 400, 'CAPABILITY_UNKNOWN'],
    ['a permission that it does not hold', entry({ permissions: ['bridges.spi:flash'] }), 403, 'CAPABILITY_DENIED'],
    ['a member that is not known', entry({ sudo: true }), 400, 'PARAMS_INVALID'],
    ['no function', { app: AGENDA, functions: [] }, 400, 'PARAMS_INVALID'],
  ]),
  'functions.unregister': post('/functions/unregister', { name: 'agenda.absent' }, [
    ["another app's", { app: FLASH }, 403, 'CALLER_DENIED'],
  ]),
  'functions.call': post('/functions/call', { name: 'agenda.next', inputs: {} }, [
    ['an unknown function', { name: 'no.such' }, 404, 'FUNCTION_NOT_FOUND'],
    ['a version that is not there', { name: 'agenda.next', version: '^9.0.0' }, 404, 'FUNCTION_NOT_FOUND'],
    ['a version that is none', { name: 'agenda.next', version: 'new' }, 400, 'PARAMS_INVALID'],
    ['a wrong input', { name: 'agenda.next', inputs: { count: 'x' } }, 400, 'PARAMS_INVALID'],
    ['an input too many', { name: 'agenda.next', inputs: { more: 1 } }, 400, 'PARAMS_INVALID'],
    ['an input too few', { name: 'agenda.add', inputs: { title: 'x' } }, 400, 'PARAMS_INVALID'],
    ['a function of another app', { name: 'flash.id' }, 403, 'CAPABILITY_DENIED'],
  ]),
  'functions.list': get('/functions'),
  'functions.describe': get('/functions/agenda.next', [
    ['an unknown function', '/functions/no.such', 404, 'FUNCTION_NOT_FOUND'],
    ['a version that is none', '/functions/agenda.next?version=new', 400, 'PARAMS_INVALID'],
  ]),
  'events.publish': post('/events/publish', EVENT, [
    ['unknown priority', { ...EVENT, priority: 'urgent' }, 400, 'PARAMS_INVALID'],
    ['priority high', { ...EVENT, priority: 'high' }, 403, 'CAPABILITY_DENIED'],
    ['priority critical', { ...EVENT, priority: 'critical' }, 403, 'CALLER_DENIED'],
    ['bad topic', { ...EVENT, topic: 'a..b' }, 400, 'TOPIC_INVALID'],
    ['a filter as topic', { ...EVENT, topic: `app.${AGENDA}.event.*` }, 400, 'TOPIC_INVALID'],
    ['a topic of 300 characters', { ...EVENT, topic: 'a'.repeat(300) }, 400, 'TOPIC_INVALID'],
    ["another app's topic", { ...EVENT, topic: `app.${FLASH}.event.x` }, 403, 'TOPIC_DENIED'],
    ["the system's topic", { ...EVENT, topic: 'system.power' }, 403, 'TOPIC_DENIED'],
    ['a payload over 64 KiB', { ...EVENT, payload: { fill: 'x'.repeat(65_536) } }, 400, 'PARAMS_INVALID'],
    ['a toast without text', { topic: 'ui.toast', payload: {} }, 400, 'PARAMS_INVALID'],
    ['a source of its own', { ...EVENT, source: 'core' }, 400, 'PARAMS_INVALID'],
  ]),
  'events.stream': get('/events?filter=ui.toast', [['a bad filter', '/events?filter=a..b', 400, 'FILTER_INVALID']]),
  'config.get': get('/config/toast', [
    ['a bad key', '/config/a..b', 400, 'CONFIG_KEY_INVALID'],
    ['a way out', '/config/%2e%2e%2fapp', 400, 'CONFIG_KEY_INVALID'],
    ['a broken escape', '/config/%zz', 400, 'REQUEST_INVALID'],
    ['an unknown key', '/config/no.such', 404, 'CONFIG_KEY_NOT_FOUND'],
    ['the key twice', '/config/toast?key=x', 400, 'PARAMS_INVALID'],
    ["another app's", `/config/toast?app=${FLASH}`, 403, 'CALLER_DENIED'],
  ]),
  'config.set': {
    method: 'PUT',
    path: '/config/toast',
    body: { value: true },
    cases: [
      ['a revision of the past', { value: true, ifRevision: 4711 }, 409, 'CONFIG_CONFLICT'],
      ['a value that does not fit', { value: 'yes' }, 400, 'CONFIG_VALUE_INVALID'],
      ["another app's", { value: true, app: FLASH }, 403, 'CALLER_DENIED'],
      ['a value of 64 KiB', { value: 'x'.repeat(65_536) }, 400, 'CONFIG_VALUE_INVALID'],
      ['a value nine deep', { value: [[[[[[[[[0]]]]]]]]] }, 400, 'CONFIG_VALUE_INVALID'],
    ],
  },
  'config.list': get('/config', [["another app's", `/config?app=${FLASH}`, 403, 'CALLER_DENIED']]),
  'apps.socket': get('/getDeviceSocketPath', [
    ["another app's", `/getDeviceSocketPath?app=${FLASH}`, 403, 'CALLER_DENIED'],
  ]),
  'apps.list': get('/apps'),
  'apps.status': get(`/apps/${AGENDA}`, [['an unknown app', '/apps/no.such', 404, 'APP_NOT_FOUND']]),
  'apps.uses': get(`/apps/${AGENDA}/uses`, [
    ['an unknown app', '/apps/no.such/uses', 404, 'APP_NOT_FOUND'],
    ['another app', `/apps/${FLASH}/uses`, 403, 'CALLER_DENIED'],
  ]),
  'apps.install': post(
    '/apps/install',
    { source: '/nowhere' },
    [['a path from nowhere', { source: 'app' }, 400, 'PACKAGE_INVALID']],
    admin,
  ),
  'apps.upload': post('/apps/uploads', {}, [], { ...admin, raw: true }),
  'apps.update': post('/apps/absent/update', { source: '/nowhere' }, [], admin),
  'apps.rollback': post('/apps/absent/rollback', {}, [], admin),
  'apps.remove': post('/apps/absent/remove', {}, [], admin),
  'apps.switch': post('/apps/absent/switch', { enabled: false }, [], admin),
  'apps.installed': get('/apps/installed', [], admin),
  'apps.sandbox': get(
    `/apps/${AGENDA}/sandbox`,
    [['an unknown app', '/apps/no.such/sandbox', 404, 'APP_NOT_FOUND']],
    admin,
  ),
  'apps.try': post('/apps/try', { package: 'H4sIAAAA' }, [], { ...admin, bodyLimit: 64 << 20 }),
  'apps.forget': post(`/apps/${AGENDA}/forget`, {}, [], admin),
  'apps.doctor': get('/apps/doctor', [], admin),
  'apps.top': get('/apps/usage', [], admin),
  'apps.usage': get(`/apps/${FLASH}/usage`, [], admin),
  'apps.logs': get(`/apps/${FLASH}/logs`, [['no lines', `/apps/${FLASH}/logs?lines=0`, 400, 'PARAMS_INVALID']], admin),
  'apps.start': post(`/apps/${FLASH}/start`, {}, [], admin),
  'apps.stop': post(`/apps/${FLASH}/stop`, {}, [], admin),
  'apps.restart': post(`/apps/${FLASH}/restart`, {}, [], admin),
  'plugins.list': get('/plugins'),
  'plugins.enable': post('/plugins/spi/enable', {}, [], admin),
  'plugins.disable': post('/plugins/spi/disable', {}, [], admin),
  'plugins.restart': post('/plugins/spi/restart', {}, [], admin),
  'plugins.release': post('/plugins/spi/release', {}, [], admin),
  'plugins.apply': post('/plugins/apply', {}, [], admin),
  'changes.list': get('/changes'),
  'changes.get': get('/changes/999'),
  'apps.diff': post(
    '/apps/diff',
    { source: '/no/such/folder' },
    [['a path from nowhere', { source: 'app' }, 400, 'PACKAGE_INVALID']],
    admin,
  ),
  'apps.grant': post(`/apps/${AGENDA}/grant`, { capability: 'display.notify' }, [
    ['an app', { capability: 'display.notify' }, 403, 'CALLER_DENIED'],
    ['an app that wants more', { capability: 'system.apps' }, 403, 'CALLER_DENIED'],
    ['a capability of a page', { capability: 'a'.repeat(129) }, 400, 'PARAMS_INVALID'],
  ]),
  'apps.revoke': post(`/apps/${AGENDA}/revoke`, { capability: 'display.notify' }, [
    ['an app', { capability: 'display.notify' }, 403, 'CALLER_DENIED'],
  ]),
  'display.state': get('/display'),
  'display.show': {
    ...{ method: 'PUT', path: '/display/surface', ...admin, wrongMethod: 'POST' },
    ...{ body: { scene: 1, nodes: [] }, more: [400, 'SCENE_INVALID'], wrong: 'SCENE_INVALID' },
    cases: [
      ['an unknown member of a node', { scene: 1, nodes: [{ kind: 'text', txet: 'x' }] }, 400, 'SCENE_INVALID'],
      ['a scene of another version', { scene: 2, nodes: [] }, 400, 'SCENE_INVALID'],
    ],
  },
  'display.hide': { method: 'DELETE', path: '/display/surface', ...admin, wrongMethod: 'POST' },
  'display.card': {
    ...{ method: 'PUT', path: '/display/card', ...admin, more: [400, 'SCENE_INVALID'], wrong: 'SCENE_INVALID' },
    body: { card: 1, template: 'text' },
    cases: [['an unknown template', { card: 1, template: 'lits' }, 400, 'SCENE_INVALID']],
  },
  'display.patch': post('/display/patch', { version: 1 }, [], { ...admin, more: [409, 'NOT_FOREGROUND'] }),
  'display.image': post('/display/images', {}, [], { ...admin, raw: true }),
  'display.describe': get('/display/text', [['no surface of its own', '/display/text', 409, 'NOT_FOREGROUND']]),
  'display.screenshot': get('/display/screenshot', [
    ['no surface of its own', '/display/screenshot', 409, 'NOT_FOREGROUND'],
  ]),
  'display.touch': post(
    '/display/input',
    { x: 1, y: 1 },
    [['outside', { x: 721, y: 1 }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'display.swipe': post('/display/input/swipe', { x: 1, y: 1, toX: 9, toY: 9 }, [], admin),
  'display.key': post('/display/input/key', { name: 'ok' }, [], admin),
  'display.power': { method: 'PUT', path: '/display/power', body: { power: 'on' }, ...admin },
  'display.brightness': { method: 'PUT', path: '/display/brightness', body: { level: 0.5 }, ...admin },
  'home.show': { method: 'PUT', path: '/display/home', body: { screen: 'home' }, ...admin },
  'home.pair': { method: 'PUT', path: '/display/pairing', body: { url: 'http://127.0.0.1/' }, ...admin },
  'notify.list': get('/notifications'),
  'notify.dismiss': {
    ...{ method: 'DELETE', path: '/notifications/1', wrongMethod: 'POST' },
    cases: [['one of nobody', '/notifications/none', 404, 'NOTIFICATION_NOT_FOUND']],
  },
  'panel.picture': get('/panel/picture', [], admin),
  'panel.plug': { method: 'PUT', path: '/panel/plug', body: { plugged: true }, ...admin },
  'panel.state': get('/panel', [], admin),
  'prompts.list': get('/prompts', [['an app', '/prompts', 403, 'CALLER_DENIED']]),
  'prompts.answer': post('/prompts/deadbeef', { allow: [] }, [
    ['an app', { allow: ['audio.capture'] }, 403, 'CALLER_DENIED'],
    ['a text', { allow: 'audio.capture' }, 400, 'PARAMS_INVALID'],
    ['numbers', { allow: [1] }, 400, 'PARAMS_INVALID'],
  ]),
  'consents.list': get('/consents', [['an app', '/consents', 403, 'CALLER_DENIED']]),
  'plugins.usage': get('/plugins/usage', [], admin),
  'plugins.sample': post('/plugins/sample', {}, [], admin),
  'plugins.install': post('/plugins/install', { source: '/nowhere' }, [], admin),
  'plugins.installed': get('/plugins/installed', [], admin),
  'plugins.remove': post('/plugins/absent/remove', {}, [], admin),
  'plugins.rollback': post('/plugins/absent/rollback', {}, [], admin),
  'plugins.switch': post('/plugins/spi/switch', { enabled: true }, [], admin),
  'logs.read': get('/logs', [], admin),
  'logs.lastStart': get('/logs/last-start', [], admin),
  'logs.stream': get('/logs/stream', [], admin),
  'capabilities.list': get('/capabilities'),
  'spi.handles': get('/spi/handles'),
  'bridge.status': get('/bridge', [], admin),
  'bridge.resetEndpoint': post('/bridge/endpoints/absent/reset', {}, [], admin),
  'bridge.reboot': post('/bridge/reboot', {}, [['another mode', { mode: 'dfu' }, 400, 'PARAMS_INVALID']], admin),
  'sensors.list': get('/sensors'),
  'sensors.read': get('/sensors/environment', [], admin),
  'speech.engines': get('/speech/engines', [], admin),
  'speech.synthesize': post(
    '/speech/synthesize',
    { text: 'Hello.' },
    [
      ['nothing to say', { text: '' }, 400, 'PARAMS_INVALID'],
      ['signs only', { text: '...' }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'nfc.readers': get('/nfc/readers', [], admin),
  'nfc.poll': post('/NFC_poll', {}, BUS, admin),
  'nfc.read': post('/NFC_read', {}, BUS, admin),
  'nfc.write': post('/NFC_write', { records: [] }, BUS, admin),
  'intents.list': get('/intents', [['a language that is none', '/intents?language=4', 400, 'PARAMS_INVALID']]),
  'intents.match': post(
    '/intents/match',
    { text: 'what time is it' },
    [['no text', { text: '' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'intents.grammar': get('/intents/grammar', [], admin),
  'i2c.handles': get('/i2c/handles'),
  'i2c.transfer': post('/I2C_transfer_txrx', { handle: 'memory', tx: 'AA==', rxLen: 1 }, BUS, admin),
  'i2c.recover': post('/I2C_recover', { handle: 'memory' }, BUS, admin),
  'gpio.handles': get('/gpio/handles'),
  'gpio.read': post('/GPIO_read', { handle: 'button' }, BUS, admin),
  'gpio.write': post('/GPIO_write', { handle: 'led', value: 1 }, BUS, admin),
  'gpio.configure': post('/GPIO_configure', { handle: 'led' }, BUS, admin),
  'uart.handles': get('/uart/handles'),
  'uart.write': post('/UART_write', { handle: 'loop', tx: 'AA==' }, BUS, admin),
  'uart.read': post('/UART_read', { handle: 'loop' }, BUS, admin),
  'uart.configure': post('/UART_configure', { handle: 'loop' }, BUS, admin),
  'can.handles': get('/can/handles'),
  'can.send': post('/CAN_send', { handle: 'vehicle', id: 1 }, BUS, admin),
  'pio.handles': get('/pio/handles'),
  'pio.load': post('/PIO_load', { handle: 'pio-a', program: [0] }, BUS, admin),
  'pio.configure': post('/PIO_configure', { handle: 'pio-a', slot: 0 }, BUS, admin),
  'pio.enable': post('/PIO_enable', { handle: 'pio-a', enabled: false }, BUS, admin),
  'pio.write': post('/PIO_write', { handle: 'pio-a', words: [1] }, BUS, admin),
  'pio.read': post('/PIO_read', { handle: 'pio-a', count: 1 }, BUS, admin),
  'audio.inject': post('/audio/inject', { wav: 'UklGRg==' }, [], { ...admin, bodyLimit: 6 << 20 }),
  'audio.play': post('/audio/play', { wav: 'UklGRg==' }, [], { ...admin, bodyLimit: 6 << 20 }),
  'audio.tones': post('/audio/tones', { tones: [{ frequency: 440, ms: 20 }] }, [], admin),
  'audio.feedback': post(
    '/audio/feedback',
    { sound: 'done' },
    [['an unknown sound', { sound: 'moo' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'audio.volume': get('/audio/volume'),
  'audio.setVolume': { method: 'PUT', path: '/audio/volume', body: { volume: 0.5 }, ...admin },
  'audio.mute': post('/audio/mute', { muted: false }, [], admin),
  'audio.state': get('/audio'),
  'audio.heard': get('/audio/heard', [], admin),
  'voice.say': post('/voice/say', { text: 'Hello.' }, [['nothing to say', { text: '' }, 400, 'PARAMS_INVALID']], admin),
  'voice.ask': post('/voice/ask', { text: 'what time is it' }, [], admin),
  'voice.listen': post('/voice/listen', {}, [], admin),
  'voice.mute': { method: 'PUT', path: '/voice/mute', body: { muted: false }, ...admin },
  'voice.state': get('/voice'),
  'voice.turns': get('/voice/turns', [], admin),
  'voice.ledger': get('/voice/ledger', [], admin),
  'ledger.list': get('/ledger', [], admin),
  'ledger.sums': get('/ledger/sums', [], admin),
  'system.ping': get('/ping'),
  'system.refusals': get('/refusals', [], admin),
  'system.openapi': get('/openapi.json'),
  'system.asyncapi': get('/asyncapi.json'),
  'rpc.discover': get('/openrpc.json'),
  'system.version': get('/version', [], { anonymous: true }),
  'system.health': get('/health', [], { anonymous: true }),
};
