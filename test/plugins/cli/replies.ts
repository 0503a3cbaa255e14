/** What a fake Core answers, one answer of each shape that devicectl shows. */
import { type Reply, runningPlugins } from './fake-core.ts';

const AGENDA = {
  name: 'agenda.next',
  version: '1.2.0',
  inputs: { day: 'string', limit: 'int?', all: 'bool?', filter: 'object?' },
  returns: { title: 'string' },
  app: 'com.example.agenda',
  id: 'com.example.agenda/agenda.next@1.2.0',
  available: true,
};
const APP = {
  id: 'com.example.agenda',
  name: 'agenda',
  version: '1.0.0',
  title: 'Agenda',
  state: 'running',
  since: Date.now() - 5000,
  pid: 42,
  restarts: 1,
  capabilities: ['display.notify'],
  denied: [{ capability: 'bridges.spi:flash', hint: 'grants: { com.example.agenda: ["bridges.spi:flash"] }' }],
};
const CHANGE = {
  added: ['nfc'],
  removed: [],
  changed: ['spi'],
  affected: ['spi', 'demo', 'nfc'],
  stale: [],
  device: false,
};
export const EVENT = { topic: 'ui.toast', ts: 1, seq: 7, source: 'core', priority: 'high', payload: { text: 'hello' } };

export const REPLIES: Record<string, Reply> = {
  'GET /version': { ok: true, version: '0.1.0', api: '1.0.0', sku: { id: 'simulator' } },
  'GET /health': {
    ok: true,
    status: 'degraded',
    components: {
      cbp: { status: 'waiting', code: 'LINK', message: 'no answer\u001b[31m yet' },
      spi: { status: 'okay' },
    },
    bridge: { link: 'down', resets: 3 },
    uptimeMs: 61_000,
  },
  'GET /plugins': {
    ok: true,
    plugins: [
      ...(await runningPlugins()).map((one) => ({ ...one, version: '1.0.0', state: 'active', summary: 'of the tree' })),
      { id: 'http', version: '1.0.0', state: 'active', isolation: 'inline', generation: 1, summary: 'REST' },
      {
        id: 'spi',
        version: '1.0.0',
        state: 'waiting',
        isolation: 'inline',
        generation: 0,
        reason: 'no bridge',
        summary: 'SPI',
      },
      {
        id: 'shaky',
        version: '1.0.0',
        state: 'quarantined',
        isolation: 'process',
        generation: 5,
        reason: 'no board',
        summary: 'fails',
      },
    ],
  },
  'POST /plugins/spi/restart': { ok: true, plugin: { id: 'spi', state: 'active' } },
  'POST /plugins/http/restart': { ok: true, plugin: { id: 'http', state: 'active' }, deferred: true },
  'POST /plugins/spi/release': { ok: true, plugin: { id: 'spi', state: 'active' } },
  'POST /plugins/apply': [202, { ok: true, change: '7' }],
  'GET /changes/7': {
    ok: true,
    id: '7',
    state: 'done',
    progress: { done: 2, of: 2 },
    steps: [],
    result: { difference: CHANGE },
  },
  'POST /plugins/nope/restart': [
    404,
    { ok: false, error: 'PLUGIN_NOT_FOUND: there is no plugin nope', code: 'PLUGIN_NOT_FOUND' },
  ],
  'GET /functions': { ok: true, functions: [AGENDA] },
  'GET /functions/agenda.next': { ok: true, ...AGENDA },
  'POST /functions/call': { ok: true, result: { title: 'Dentist', count: 2 } },
  'GET /apps': { ok: true, apps: [APP] },
  'GET /apps/com.example.agenda': { ok: true, app: APP },
  'POST /apps/com.example.agenda/stop': { ok: true, app: { ...APP, state: 'stopped' } },
  'GET /config/device.name': { ok: true, key: 'device.name', value: 'kitchen', source: 'device', revision: 3 },
  'PUT /config/device.name': { ok: true, key: 'device.name', value: 'hall', source: 'device', revision: 4 },
  'GET /config': { ok: true, entries: [{ key: 'device.name', value: { a: 1 }, source: 'default', revision: 0 }] },
  'GET /spi/handles': {
    ok: true,
    handles: [
      {
        name: 'flash',
        speed: 8e6,
        mode: 0,
        endpoint: 'spi0',
        cs: 0,
        owner: 'sku',
        transfers: 1,
        errors: 0,
        inFlight: 0,
      },
    ],
  },
  'POST /SPI_transfer_txrx': { ok: true, rx: Buffer.from([0xef, 0x40, 0x18, 0x41]).toString('base64') },
  'GET /refusals': {
    ok: true,
    refusals: [
      { ts: 1, caller: { kind: 'app', id: 'com.x' }, capability: 'bridges.spi', hint: 'the line', class: 'oem' },
    ],
  },
  'GET /logs': {
    ok: true,
    entries: [
      { ts: 1, level: 'warn', plugin: 'spi', message: 'odd', fields: { n: 1, err: { message: 'because' } } },
      { level: 'info', app: 'agenda', message: 'printed' },
    ],
    more: false,
  },
  'GET /logs/last-start': {
    ok: true,
    lastStart: {
      ts: 1,
      sku: 'simulator.yaml',
      outcome: 'crashed',
      suspects: ['spi'],
      problems: [{ level: 'fatal', message: 'gone' }],
    },
  },
  'GET /logs/stream': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ ts: 1, level: 'info', message: 'live' })}\n\n`);
  },
  'GET /intents': {
    ok: true,
    intents: [{ id: 'device.time', title: 'What time is it', owner: 'plugin.intent', example: 'what time is it' }],
    leftOut: [{ app: 'com.a', function: 'f', reason: 'the app does not hold audio.intent' }],
  },
  'GET /intents/grammar': { ok: true, grammar: { id: '1', jsgf: '#JSGF V1.0 UTF-8;\ngrammar commands;\n', words: [] } },
  'POST /intents/match': { ok: true, outcome: 'plan', plan: { intent: 'device.time', slots: {}, mayGoOn: true } },
  'GET /voice': { ok: true, state: 'listening', muted: false },
  'PUT /voice/mute': { ok: true, muted: true },
  'GET /voice/ledger': {
    ok: true,
    entries: [{ at: 0, turn: 't', to: 'stt-cloud (Transcription at a)', what: 'audio', bytes: 640, rule: 'unsure' }],
    unsent: [{ at: 0, turn: 't', rule: 'hedge', reason: 'the device is offline' }],
    used: { daySeconds: 0.02, monthSeconds: 1 },
  },
  'GET /ledger': {
    ok: true,
    departures: [
      { id: 'a', at: 0, part: 'egress', for: 'app.com.a', to: 'a.example:443', what: 'tunnel', bytes: 12, details: {} },
    ],
  },
  'GET /ledger/sums': { ok: true, sums: [{ for: 'app.com.a', to: 'a.example:443', count: 3, bytes: 40 }] },
  'GET /sensors': { ok: true, sensors: [{ name: 'air', latest: { at: 1, values: { celsius: 21.5 } }, readings: 3 }] },
  'GET /sensors/air': {
    ok: true,
    at: 1,
    values: { temperature: 21.5, pressure: 100 },
    quantities: [
      { quantity: 'temperature', value: 21.5, unit: 'Cel' },
      { quantity: 'pressure', value: 100, unit: 'Pa' },
    ],
  },
  'POST /NFC_read': { ok: true, tag: { uid: '04a1' }, records: [{ type: 'uri', uri: 'https://example.com' }] },
  'POST /NFC_write': { ok: true, tag: { uid: '04a1' } },
  'POST /UART_read': { ok: true, rx: Buffer.from('hi').toString('base64'), lost: 2 },
  'POST /UART_write': { ok: true, written: 5 },
  'POST /GPIO_write': { ok: true },
  'POST /GPIO_read': { ok: true, value: 1 },
  'POST /CAN_send': { ok: true },
  'POST /I2C_recover': { ok: true },
  'POST /speech/synthesize': { ok: true, wav: 'UklGRg==', ms: 1_940 },
  'GET /openapi.json': { openapi: '3.1.0' },
  'GET /openrpc.json': { openrpc: '1.3.2' },
  'GET /events': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: hello\n\nid: 7\nevent: event\ndata: ${JSON.stringify(EVENT)}\n\n`);
  },
};
