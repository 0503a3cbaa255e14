/** One request for every operation, in the order in which a Core is asked. The simulator SKU runs, with the demo apps, a tag at the reader and a package `guest`. */

import { fileURLToPath } from 'node:url';

/** Answers so far, by operation. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the Core said
export type Said = (operation: string) => any;

export interface Place {
  readonly said: Said;
  /** Folder of a version of the plugin `guest`. */
  readonly guest: (version: string) => string;
}

export interface Asked {
  /** Path and query; the method is that of the operation. */
  readonly path: string;
  readonly body?: object | ((place: Place) => object);
  /** The app `com.example.agenda` asks; the operator if absent. */
  readonly app?: true;
  /** Members that are not compared with the last recording, beside those that never are. */
  readonly varies?: readonly string[];
  /** Levels of the answer that are shown, and members of a level; the others are left out. */
  readonly depth?: number;
  readonly most?: number;
  /** The answer may be lost with what it stops: it is asked again then. */
  readonly mayBeLost?: true;
  /** Status of a failure that is the example. */
  readonly fails?: number;
  /** It is asked with a `traceparent`, so that its trace is kept. */
  readonly traced?: true;
  /** A path that the app asks first, and is refused. */
  readonly refused?: string;
  /** A version of `guest` that is installed first, once the one before counts as good; not shown. */
  readonly upgrade?: string;
}

const AGENDA = 'com.example.agenda';
const FLASH = 'com.example.flash-reader';
const FLASH_FOLDER = fileURLToPath(new URL('../../../examples/flash-reader', import.meta.url));

/** A tenth of a second of a square wave at 16 kHz, as a WAV file. */
function beep(): string {
  const samples = 1_600;
  const wav = Buffer.alloc(44 + 2 * samples);
  wav.write('RIFF');
  wav.writeUInt32LE(36 + 2 * samples, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(16_000, 24);
  wav.writeUInt32LE(32_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(2 * samples, 40);
  for (let at = 0; at < samples; at++) wav.writeInt16LE(at % 32 < 16 ? 4_000 : -4_000, 44 + 2 * at);
  return wav.toString('base64');
}

const ask = (path: string, body?: Asked['body'], more: Partial<Asked> = {}): Asked => ({
  path,
  ...(body && { body }),
  ...more,
});
const get = (path: string, more: Partial<Asked> = {}): Asked => ask(path, undefined, more);
const byApp = { app: true } as const;
const unknownBrowser = ({ said }: Place) => ({
  browser: 'nobodys-id-0',
  origin: new URL(said('sessions.code').pages[0]).origin,
});

/** What was drawn until now; at night the panel is less bright. */
const PANEL = ['frames', 'pixels', 'seq', 'at', 'level'];

/** What a plugin uses is shown at `plugins.usage`. */
const PLUGIN = { depth: 3, varies: ['usage', 'holds', 'generation'] } as const;

const TEST_FUNCTION = {
  name: 'agenda.count',
  version: '1.0.0',
  description: 'How many entries there are',
  inputs: { day: 'string' },
  returns: { count: 'number' },
  permissions: [],
  timeout_ms: 500,
};

export const REQUESTS: Readonly<Record<string, Asked>> = {
  'system.ping': get('/ping'),
  'system.version': get('/version'),
  'system.device': get('/device'),
  'system.health': get('/health', {
    depth: 3,
    most: 7,
    varies: ['status', 'components', 'bridge', 'warnings'],
  }),
  'operations.list': get('/operations', { depth: 3, most: 2, varies: ['operations'] }),
  'system.openapi': get('/openapi.json', { depth: 2, most: 7, varies: ['paths'] }),
  'system.asyncapi': get('/asyncapi.json', { depth: 2, most: 7 }),
  'rpc.discover': get('/openrpc.json', { depth: 2 }),
  'capabilities.list': get('/capabilities'),

  'config.set': ask('/config/toast.seconds', { value: 5 }),
  'config.get': get('/config/toast.seconds'),
  'config.list': get('/config?prefix=toast'),
  'config.describe': get('/config-descriptions?prefix=plugins.display.dimMs'),
  'config.sections': get('/config-sections', { most: 3 }),
  'config.reset': get('/config/toast.seconds'),

  'flags.list': get('/flags'),
  'flags.get': get('/flags/example'),
  'flags.set': ask('/flags/example', { value: true }, { varies: ['setAt'] }),
  'flags.reset': get('/flags/example'),

  'functions.register': ask('/FunctionRegistry-registerFunction', { app: AGENDA, functions: [TEST_FUNCTION] }, byApp),
  'functions.list': get(`/functions?app=${AGENDA}`),
  'functions.describe': get('/functions/agenda.add'),
  'functions.call': ask('/functions/call', { name: 'agenda.add', inputs: { title: 'Tea', inSeconds: 3600 } }),
  'functions.unregister': ask('/functions/unregister', { name: 'agenda.count' }, byApp),

  'events.publish': ask(
    '/events/publish',
    { topic: `app.${AGENDA}.event.opened`, payload: { page: 'today' } },
    { app: true, varies: ['id'] },
  ),
  'events.test': ask(
    '/events/test',
    { app: AGENDA, topic: `app.${AGENDA}.event.opened`, payload: { page: 'today' } },
    { varies: ['id'] },
  ),
  'events.stream': get(`/events?filter=app.${AGENDA}.**`),

  'apps.list': get('/apps'),
  'apps.status': get(`/apps/${AGENDA}`),
  'apps.doctor': get('/apps/doctor'),
  'apps.logs': get(`/apps/${AGENDA}/logs?lines=2`),
  'apps.sandbox': get(`/apps/${AGENDA}/sandbox`, { varies: ['spec', 'bwrap', 'unit', 'apparmor', 'enforcement'] }),
  'apps.top': get('/apps/usage', { varies: ['shown', 'used', 'peak', 'percent'] }),
  'apps.usage': get(`/apps/${AGENDA}/usage`, { varies: ['used', 'peak', 'percent'] }),
  'apps.try': ask('/apps/try', { package: 'H4sIAAAA' }, { fails: 400, varies: ['error', 'source'] }),
  'apps.forget': ask(`/apps/${AGENDA}/forget`, {}, { fails: 404, traced: true }),
  'apps.uses': get(`/apps/${AGENDA}/uses`),
  'apps.describe': get(`/apps/${AGENDA}/description`),
  'apps.socket': get('/getDeviceSocketPath', byApp),
  'apps.stop': ask(`/apps/${FLASH}/stop`, {}),
  'apps.start': ask(`/apps/${FLASH}/start`, {}),
  'apps.restart': ask(`/apps/${FLASH}/restart`, {}),

  'sessions.code': ask('/sessions/codes', { role: 'viewer' }, { varies: ['code', 'until', 'pages'] }),
  'sessions.open': ask(
    '/sessions',
    ({ said }) => ({ code: said('sessions.code').code, name: 'The one in the kitchen' }),
    {
      varies: ['code', 'token', 'session'],
    },
  ),
  'sessions.stay': ask('/sessions/browsers', { key: 'A'.repeat(87), name: 'Firefox on Linux' }, { fails: 403 }),
  'sessions.challenge': ask('/sessions/challenges', unknownBrowser, { fails: 401 }),
  'sessions.resume': ask(
    '/sessions/proofs',
    (place) => ({ ...unknownBrowser(place), challenge: 'the.one.given', signature: 'A'.repeat(86) }),
    { fails: 401 },
  ),
  'sessions.list': get('/sessions', { varies: ['sessions'] }),
  'sessions.rename': ask('/sessions/nobodys-id-0', { name: 'Kitchen' }, { fails: 404 }),
  'sessions.ticket': get('/sessions/ticket', { fails: 403 }),
  'sessions.confirmationCode': ask('/sessions/confirmation-codes', {}, { varies: ['code', 'until'] }),
  'sessions.confirm': ask('/sessions/confirmations/nobodys-id-0', { code: 'ABCD-EFGH' }, { fails: 403 }),
  'sessions.confirmation': get('/sessions/confirmations/nobodys-id-0'),
  'sessions.revoke': get('/sessions/nobodys-id-0', { fails: 404 }),

  'logs.read': get('/logs?plugin=http&limit=1', { varies: ['entries'] }),
  'logs.stream': get('/logs/stream?plugin=http&tail=1'),
  'logs.levels': get('/logs/levels', { varies: ['components'] }),
  'logs.setLevel': ask('/logs/levels/http', { level: 'debug', forMs: 60000 }, { varies: ['until'] }),
  'logs.files': get('/logs/files', { varies: ['files'] }),
  'logs.file': get('/logs/file?name=core.log', { varies: ['text', 'next'] }),
  'logs.bundle': get('/logs/bundle?name=versions.json', { varies: ['text'] }),
  'logs.dump': ask('/logs/dump', {}, { varies: ['file', 'lines'] }),
  'logs.lastStart': get('/logs/last-start', { varies: ['lastStart'] }),
  'traces.list': get('/traces?name=apps.forget&limit=1', { varies: ['id', 'ms', 'why', 'dropped'] }),
  'traces.get': get('/traces/last', { varies: ['id', 'ms', 'why', 'name', 'error', 'spans'] }),

  'display.state': get('/display', { varies: ['renderer', 'problem', 'brightness'] }),
  'display.surfaces': get('/display/surfaces', { varies: ['surfaces', 'report'] }),
  'display.show': ask('/display/surface', {
    scene: 1,
    title: 'Agenda',
    nodes: [
      { kind: 'text', id: 'next', x: 48, y: 48, w: 624, h: 200, role: 'title', text: 'Dentist at 08:30' },
      { kind: 'rect', x: 48, y: 584, w: 312, h: 88, radius: 44, fill: '@accent', tap: 'remind', label: 'Remind me' },
    ],
  }),
  'display.patch': ask('/display/patch', ({ said }) => ({
    version: said('display.show').version,
    set: [{ id: 'next', text: 'Dentist at 09:00' }],
  })),
  'display.describe': get('/display/text', { varies: ['text'] }),
  'display.screenshot': get('/display/screenshot', { varies: ['png'] }),
  'display.card': ask('/display/card', {
    card: 1,
    template: 'text',
    title: 'Tomorrow',
    value: '08:30',
    body: 'Dentist',
    actions: [{ id: 'remind', title: 'Remind me', primary: true }],
  }),
  'display.image': ask('/display/images', {}, { fails: 400 }),
  'display.hide': ask('/display/surface'),
  'display.power': ask('/display/power', { power: 'on' }, { varies: ['brightness'] }),
  'display.brightness': ask('/display/brightness', { level: 0.8 }),
  'display.touch': ask('/display/input', { x: 360, y: 360 }, { varies: ['at'] }),
  'display.swipe': ask('/display/input/swipe', { x: 360, y: 710, toX: 360, toY: 200, ms: 150 }, { varies: ['at'] }),
  'display.key': ask('/display/input/key', { name: 'home' }, { varies: ['at'] }),
  'notify.list': get('/notifications', { varies: ['notifications'] }),
  'notify.dismiss': ask('/notifications/n1', undefined, { fails: 404 }),

  'home.show': ask('/display/home', { screen: 'settings' }),
  'home.pair': ask('/display/pairing', { url: 'https://example.org/start', ms: 1_000 }),

  'panel.plug': ask('/panel/plug', { plugged: true }, { varies: PANEL }),
  'panel.state': get('/panel', { varies: PANEL }),
  'panel.picture': get('/panel/picture', { varies: ['png'] }),

  'spi.handles': get('/spi/handles', { varies: ['errors', 'transfers'] }),
  'spi.transfer': ask('/SPI_transfer_txrx', { handle: 'flash', tx: 'nw==', rxLen: 4 }),
  'i2c.handles': get('/i2c/handles'),
  'i2c.transfer': ask('/I2C_transfer_txrx', { handle: 'climate', tx: '0A==', rxLen: 1 }),
  'i2c.recover': ask('/I2C_recover', { handle: 'memory' }),
  'gpio.handles': get('/gpio/handles'),
  'gpio.write': ask('/GPIO_write', { handle: 'led', value: 1 }),
  'gpio.read': ask('/GPIO_read', { handle: 'button' }),
  'gpio.configure': ask('/GPIO_configure', { handle: 'button', edge: 'rising', debounceUs: 5000 }),
  'uart.handles': get('/uart/handles', { varies: ['lostPackets', 'lineErrors'] }),
  'uart.configure': ask('/UART_configure', { handle: 'loop', baud: 9600 }),
  'uart.write': ask('/UART_write', { handle: 'loop', tx: 'aGVsbG8=' }),
  'uart.read': ask('/UART_read', { handle: 'loop', maxLen: 5, timeoutMs: 1000 }),
  'can.handles': get('/can/handles'),
  'can.send': ask('/CAN_send', { handle: 'vehicle', id: 2015, data: 'AgENAAAAAAA=' }),
  'pio.handles': get('/pio/handles'),
  'pio.load': ask('/PIO_load', { handle: 'pio-a', program: [0x80a0, 0xa0c7, 0x8020, 0] }),
  'pio.configure': ask('/PIO_configure', { handle: 'pio-a', slot: 0 }),
  'pio.enable': ask('/PIO_enable', { handle: 'pio-a', enabled: true }),
  'pio.write': ask('/PIO_write', { handle: 'pio-a', words: [1, 2] }),
  'pio.read': ask('/PIO_read', { handle: 'pio-a', count: 2 }),
  'sensors.list': get('/sensors', { varies: ['latest'] }),
  'sensors.read': get('/sensors/environment'),
  'nfc.readers': get('/nfc/readers'),
  'nfc.poll': ask('/NFC_poll', {}),
  'nfc.read': ask('/NFC_read', {}),
  'nfc.write': ask('/NFC_write', { records: [{ type: 'text', text: 'Hello', language: 'en' }] }),
  'bridge.status': get('/bridge', { depth: 3, varies: ['statistics', 'resets', 'lastReset', 'rttUs'] }),
  'bridge.resetEndpoint': ask('/bridge/endpoints/spi1/reset', {}),

  'audio.volume': get('/audio/volume'),
  'audio.setVolume': ask('/audio/volume', { volume: 0.5 }),
  'audio.mute': ask('/audio/mute', { muted: false }),
  'audio.tones': ask('/audio/tones', { tones: [{ frequency: 440, ms: 20 }] }),
  'audio.play': ask('/audio/play', () => ({ wav: beep() })),
  'audio.feedback': ask('/audio/feedback', { sound: 'done' }),
  'audio.heard': get('/audio/heard?ago=0', { varies: ['wav', 'ms', 'playing'] }),
  'audio.inject': ask('/audio/inject', () => ({ wav: beep() })),
  'audio.state': get('/audio'),
  'sim.state': get('/sim', { depth: 2, varies: ['bridge'] }),
  'sim.watch': get('/sim/watch', { depth: 2, varies: ['data'] }),
  'sim.counts': get('/sim/counts', { depth: 1, varies: ['wire', 'link', 'endpoints'] }),
  'sim.settings': get('/sim/settings?endpoint=uart0'),
  'sim.clocked': get('/sim/clocked?endpoint=i2c0', { varies: ['clocked'] }),
  'sim.record': ask('/sim/record', { name: 'evening', title: 'An evening' }),
  'sim.faults': ask('/sim/faults', { bitErrorRate: 0.00001 }),
  'sim.silence': ask('/sim/silence', { ms: 0 }),
  'sim.mute': ask('/sim/mute', { muted: false }),
  'sim.crash': ask('/sim/crash', { transactions: 1_000_000, ms: 500 }),
  'sim.die': ask('/sim/die', { transactions: 1_000_000 }),
  'sim.major': ask('/sim/major', { version: 1 }),
  'sim.log': ask('/sim/log', { text: 'the fan is loud' }),
  'sim.slow': ask('/sim/slow', { endpoint: 'spi1', ms: 20 }),
  'sim.changed': ask('/sim/changed', { endpoint: 'pio0', there: true }),
  'sim.drive': ask('/sim/drive', { endpoint: 'gpio0', line: 30, level: 1 }),
  'sim.pulse': ask('/sim/pulse', { endpoint: 'gpio0', line: 31, times: 3 }),
  'sim.stick': ask('/sim/stick', { endpoint: 'i2c0', recoveries: 0 }),
  'sim.plug': ask('/sim/plug', { endpoint: 'i2c0', address: 80, there: true }),
  'sim.chip': ask('/sim/chip', { endpoint: 'i2c0', address: 118, change: { temperature: 22 } }),
  'sim.say': ask('/sim/say', { endpoint: 'uart0', text: 'hello' }),
  'sim.garble': ask('/sim/garble', { endpoint: 'uart0', bits: 4 }),
  'sim.can': ask('/sim/can', { endpoint: 'can0', id: 291, data: [0, 50] }),
  'sim.short': ask('/sim/short', { endpoint: 'can0', broken: false }),
  'sim.heal': ask('/sim/heal', {}),
  'sim.weather': ask('/sim/weather', { temperature: 24.5, humidity: 60 }),
  'sim.tag': ask('/sim/tag', { text: 'Hello' }),
  'sim.untag': ask('/sim/untag', {}),
  'sim.presence': ask('/sim/presence', { moving: false }),
  'sim.network': ask('/sim/network', { state: 'online', type: 'wifi' }),
  'sim.power': ask('/sim/power', { source: 'battery', level: 0.8 }),
  'sim.time': ask('/sim/time', { set: true, zone: 'Europe/Berlin' }),
  'network.status': get('/network'),
  'network.wifi': get('/network/wifi'),
  'network.join': ask('/network/wifi/join', { ssid: 'Workshop', passphrase: 'workshop' }),
  'network.forget': ask('/network/wifi/forget', { ssid: 'Workshop' }),
  'power.status': get('/power'),
  'time.setZone': ask('/time/zone', { zone: 'Europe/Berlin' }),
  'time.status': get('/time'),

  'system.backup': ask(
    '/system/backups',
    { passphrase: 'a long one' },
    { most: 1, varies: ['bytes', 'files', 'left'] },
  ),
  'system.backupPart': get('/system/backups/00000000-0000-4000-8000-000000000000?offset=0', { fails: 400 }),
  'system.restoreUpload': ask('/system/restore/uploads', {}, { fails: 400 }),
  'system.restore': ask(
    '/system/restore',
    { upload: '00000000-0000-4000-8000-000000000000', passphrase: 'a long one' },
    { fails: 400 },
  ),
  'system.reset': ask('/system/reset', {}, { varies: ['restarts', 'reason'] }),
  'sim.touch': ask('/sim/touch', { x: 360, y: 360 }),
  'sim.swipe': ask('/sim/swipe', { x: 360, y: 300, toX: 360, toY: 400 }),
  'sim.key': ask('/sim/key', { name: 'ok' }),
  'sim.cable': ask('/sim/cable', { plugged: true }),
  'sim.hear': ask('/sim/hear', () => ({ wav: beep() })),
  'sim.stop': ask('/sim/stop', {}, { varies: ['steps'] }),
  'sim.scenarios': get('/sim/scenarios', { varies: ['scenarios'] }),
  'sim.scenario': get('/sim/scenarios/noisy-spi'),
  'sim.save': ask('/sim/scenarios/mine', {
    yaml: 'scenario: 1\nname: mine\nsteps:\n  - { do: sim.network, params: { state: online } }\n',
  }),
  'sim.play': ask('/sim/play', { name: 'mine', wait: true }),
  'sim.remove': ask('/sim/scenarios/mine'),

  // What is installed beside the Core adds engines.
  'speech.engines': get('/speech/engines?kind=tts', { varies: ['engines'] }),
  'speech.synthesize': ask('/speech/synthesize', { text: 'Hello.' }),
  'speech.phrases': ask('/speech/phrases', () => ({ wav: beep(), phrases: ['hey computer'] })),
  'intents.list': get('/intents'),
  'intents.match': ask('/intents/match', { text: 'what time is it' }),
  'intents.try': ask('/intents/try', { text: 'what is the time please' }),
  'intents.grammar': get('/intents/grammar?language=en', { varies: ['grammar'] }),
  'timers.set': ask('/timers', { seconds: 600 }, { varies: ['id', 'at'] }),
  'timers.list': get('/timers', { varies: ['running'] }),
  'timers.cancel': ask('/timers/none', undefined, { fails: 400 }),
  'timers.silence': ask('/timers/silence', {}),
  'alarms.set': ask(
    '/alarms',
    { time: '06:30', days: ['mon', 'tue', 'wed', 'thu', 'fri'] },
    { varies: ['id', 'next'] },
  ),
  'alarms.list': get('/alarms', { varies: ['alarms'] }),
  'alarms.change': ask('/alarms/none', { on: false }, { fails: 400 }),
  'alarms.cancel': ask('/alarms/none', undefined, { fails: 400 }),
  'alarms.snooze': ask('/alarms/snooze', { seconds: 600 }),
  'alarms.dismiss': ask('/alarms/dismiss', {}),
  'voice.state': get('/voice'),
  'voice.ask': ask('/voice/ask', { text: 'what time is it' }, { varies: ['said', 'spans', 'trace'] }),
  'voice.say': ask('/voice/say', { text: 'Hello.' }),
  'voice.listen': ask('/voice/listen', {}, { varies: ['trace'] }),
  'voice.mute': ask('/voice/mute', { muted: false }),
  'voice.turns': get('/voice/turns?limit=1', { varies: ['spans', 'trace'] }),
  'voice.ledger': get('/voice/ledger'),
  'ledger.list': get('/ledger'),
  'ledger.sums': get('/ledger/sums'),
  'secrets.set': ask('/secrets/shared/weather.key', { secretText: 'correct horse battery staple' }),
  'secrets.list': get('/secrets'),
  'secrets.missing': get('/secrets/missing'),
  'secrets.rotate': ask('/secrets/rotate', {}),
  'secrets.delete': get('/secrets/shared/weather.key'),
  'metrics.list': get('/metrics/list?prefix=device.event.dropped'),
  'metrics.text': get('/metrics', { varies: ['answer'] }),
  'telemetry.consent': ask('/telemetry/consent', { level: 'crash' }),
  'telemetry.status': get('/telemetry'),
  'telemetry.show': get('/telemetry/next'),
  'telemetry.reset': ask('/telemetry/reset', {}),
  'outbox.list': get('/outbox'),
  'outbox.retry': ask('/outbox/nobody/retry', {}, { fails: 400 }),
  'outbox.clear': ask('/outbox/nobody/clear', {}, { fails: 400 }),

  'system.refusals': get('/refusals?limit=1', { refused: '/bridge' }),
  'plugins.list': get('/plugins', PLUGIN),
  'plugins.pages': get('/plugins/pages', { depth: 3, most: 1 }),
  'plugins.usage': get('/plugins/usage', {
    depth: 3,
    varies: ['plugins', 'residentBytes', 'heapBytes', 'totalBytes', 'availableBytes'],
  }),
  'plugins.sample': ask('/plugins/sample', { ms: 100 }, { varies: ['plugins'] }),
  'plugins.disable': ask('/plugins/presence/disable', {}, PLUGIN),
  'plugins.enable': ask('/plugins/presence/enable', {}, PLUGIN),
  'plugins.restart': ask('/plugins/presence/restart', {}, PLUGIN),
  'plugins.release': ask('/plugins/presence/release', {}, PLUGIN),
  'plugins.apply': ask('/plugins/apply', { check: true }),
  'plugins.install': ask('/plugins/install', ({ guest }) => ({ source: guest('1.0.0') })),
  'changes.get': get('/changes/1'),
  'changes.list': get('/changes'),
  'prompts.list': get('/prompts'),
  'prompts.answer': ask('/prompts/3f9a1c2e', { allow: ['audio.capture'] }, { fails: 404 }),
  'plugins.installed': get('/plugins/installed'),
  'plugins.audit': get('/plugins/audit', { most: 1 }),
  'plugins.rollback': ask('/plugins/guest/rollback', {}, { upgrade: '1.1.0' }),
  'plugins.switch': ask('/plugins/guest/switch', { enabled: false }),
  'plugins.remove': ask('/plugins/guest/remove', {}),
  'apps.diff': ask('/apps/diff', { source: FLASH_FOLDER }),
  'apps.revoke': ask(`/apps/${FLASH}/revoke`, { capability: 'bridges.spi:flash' }, { varies: ['why', 'since'] }),
  'apps.grant': ask(`/apps/${FLASH}/grant`, { capability: 'bridges.spi:flash' }),
  'boot.status': get('/boot'),
  'boot.seen': ask('/boot/seen', {}),
  'system.restart': ask('/system/restart', {}, { fails: 503 }),
  'system.reboot': ask('/system/reboot', {}, { fails: 503 }),
  'system.powerOff': ask('/system/power-off', {}, { fails: 503 }),
  'update.status': get('/update', { varies: ['since'] }),
  'update.inhibit': ask('/update/inhibit', { reason: 'a recording', ms: 600_000 }, { varies: ['until'] }),
  'update.release': get('/update/inhibit/1'),
  'update.hold': ask('/update/hold', { hours: 48, reason: 'the fair' }, { varies: ['since', 'hold'] }),
  'update.resume': get('/update/hold', { varies: ['since', 'ended'] }),
  'update.why': get('/update/why'),
  'update.check': ask('/update/check', {}, { fails: 409 }),
  'update.download': ask('/update/download', {}, { fails: 409 }),
  'update.apply': ask('/update/apply', {}, { fails: 409 }),
  'update.upload': ask('/update/uploads', { data: 'aW1hZ2U=' }, { fails: 503 }),
  'update.install': ask('/update/install', { source: '/media/stick/kiosk-1.2.0.tar' }, { fails: 400 }),
  'update.rollback': ask('/update/rollback', { reason: 'the new one is slow' }, { fails: 503 }),
  'update.history': get('/update/history'),
  'apps.install': ask('/apps/install', { source: '/media/sd/chime-1.0.0.app' }, { fails: 400 }),
  'apps.available': get('/apps/available', { fails: 409 }),
  'apps.fetch': ask('/apps/fetch', { id: 'com.example.chime', version: '1.1.0' }, { fails: 409 }),
  'plugins.available': get('/plugins/available', { fails: 409 }),
  'plugins.fetch': ask('/plugins/fetch', { id: 'guest' }, { fails: 409 }),
  'apps.upload': ask('/apps/uploads', {}, { fails: 400 }),
  'apps.update': ask('/apps/com.example.chime/update', { source: '/media/sd/chime-1.1.0.app' }, { fails: 404 }),
  'apps.rollback': ask('/apps/com.example.chime/rollback', {}, { fails: 404 }),
  'apps.remove': ask('/apps/com.example.chime/remove', {}, { fails: 404 }),
  'apps.installed': get('/apps/installed'),
  'apps.switch': ask(`/apps/${FLASH}/switch`, { enabled: true }, { varies: ['change'] }),
  'consents.list': get('/consents'),
  'bridge.reboot': ask('/bridge/reboot', {}, { mayBeLost: true }),
};
