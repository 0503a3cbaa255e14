/**
 * Rows 31 to 37, and 134 to 139: what innocent clients feel of a flood, what the Core holds meanwhile, and what it has kept
 * a minute later. The whole device runs as a process of its own, over loopback. The attacker is another thread of this
 * process, or a plugin in a worker. Each flood ends with its row. The innocents: one asks over REST, one over the socket
 * of its app, and one waits for an event that it published.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { culprits } from '../../fixtures/culprits.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { SpawnedCore } from '../../fixtures/spawned-core.ts';
import { RawClient } from '../../plugins/rpc/fixture.ts';
import type { Goal, Measured, Row } from '../harness.ts';
import { placed, withGuests } from '../sku-data.ts';
import type { Attack, Flood } from '../workloads/flood.ts';

const ATTACKER = new URL('../workloads/flood.ts', import.meta.url);

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const send = (method: string, path: string, body: object) => {
  const text = JSON.stringify(body);
  const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
  return `${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};
const PING = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'system.ping' })}\n`;
const APPS = ['agenda', 'flash-reader'];
/** What the apps offer once they are there. */
const FUNCTIONS = ['agenda.next', 'flash.id'];
const FLASH = 'com.example.flash-reader';

const FLOODS: readonly (readonly [title: string, Flood | 'guest'])[] = [
  ['40 x 300 documents unread', { connections: 40, requests: 300, text: get('/openapi.json'), reads: false }],
  ['8 x 3,000 pings', { connections: 8, requests: 3_000, text: get('/ping'), reads: true }],
  [
    '10,000 config sets of the operator',
    { connections: 4, requests: 2_500, text: send('PUT', '/config/flood', { value: 1 }), reads: true, unix: true },
  ],
  [
    '10,000 events of the operator',
    {
      connections: 4,
      requests: 2_500,
      reads: true,
      unix: true,
      text: send('POST', '/events/publish', { topic: 'user.flood', payload: {} }),
    },
  ],
  ['200 event streams unread', { connections: 200, requests: 1, text: get('/events'), reads: false, unix: true }],
  ['10,200 requests of an app', { connections: 3, requests: 3_400, text: PING, reads: true, app: 'agenda' }],
  ['a plugin in a worker that publishes without end', 'guest'],
];
const asked = (method: string, params: object) => `${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`;
const KEYS = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, 1]));
const FUNCTIONS_WITH_SENTENCES = Array.from({ length: 200 }, (_, n) => ({
  name: `flood${n}`,
  version: '1.0.0',
  inputs: { a: 'string' },
  utterances: [`do the thing number ${n} with {a}`, `(please|kindly) start [the] job ${n} on {a}`],
}));
const AGENDA = 'com.example.agenda';
const publish = (keys: number) =>
  send('POST', '/events/publish', {
    topic: `app.${AGENDA}.event.flood`,
    payload: Object.fromEntries(Object.entries(KEYS).slice(0, keys)),
  });
/** Cheap to send and dear to take: a line of each app session costs as much as thousands of plain ones. */
const DEAR: readonly (readonly [title: string, Flood])[] = [
  ['lines of 340,000 brackets of an app', app(60, asked('config.set', { key: 'a', value: Array(340_000).fill([]) }))],
  ['events of 60,000 keys of an app', app(60, asked('events.publish', { topic: 'user.flood', payload: KEYS }))],
  [
    'registrations of 200 functions with sentences',
    app(300, asked('functions.register', { app: AGENDA, functions: FUNCTIONS_WITH_SENTENCES })),
  ],
  [
    '100 connections of an app that ping over REST',
    { connections: 100, requests: 200, text: get('/ping'), reads: true, token: 'agenda' },
  ],
  [
    'events of 15,000 keys of an app over 16 connections of REST',
    { connections: 16, requests: 20, text: publish(15_000), reads: true, token: 'agenda' },
  ],
  [
    'events of 15,000 keys of the operator over 16 connections',
    { connections: 16, requests: 20, text: publish(15_000), reads: true, unix: true },
  ],
];

function app(requests: number, text: string): Flood {
  return { connections: 1, requests, text, reads: true, app: 'agenda' };
}

const PROBES = { all: 300, quick: 80 };
const PACE_MS = 10;
const RECOVERED = 3;
/** Memory has so long to go back. */
const MINUTE_MS = 60_000;
const KEPT_MIB = 64;
const INNOCENTS = ['REST', 'RPC', 'event'] as const;
type Times = Record<(typeof INNOCENTS)[number], number[]>;
const GOALS: readonly Goal[] = [
  ...INNOCENTS.map((name) => ({ name: `${name} p95 beside / idle`, goal: 3 })),
  { name: "longest REST wait, the Core's processor", goal: 150, unit: 'ms' },
  { name: 'memory above idle', goal: 64, unit: 'MiB' },
  { name: 'recovery', goal: 1, unit: 's' },
  { name: 'memory above idle, a minute later at most', goal: 64, unit: 'MiB' },
];

export const rows: readonly Row[] = [...rowsFrom(31, FLOODS), ...rowsFrom(134, DEAR)];

function rowsFrom(first: number, floods: readonly (readonly [title: string, Flood | 'guest'])[]): readonly Row[] {
  return floods.map(([title, flood], index) => ({
    id: first + index,
    title: `innocent clients beside ${title}`,
    goals: GOALS,
    run: async ({ quick }) => measure(flood, quick ? PROBES.quick : PROBES.all),
  }));
}

const WARM_MS = 10_000;

async function measure(flood: Flood | 'guest', probes: number): Promise<Readonly<Record<string, Measured>>> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-'));
  try {
    const guests = flood === 'guest' ? culprits(folder, ['flood'], 'worker') : {};
    const apps = APPS.flatMap((app) => ['--app', resolve(import.meta.dirname, '../../../docs/examples', app)]);
    await using core = await SpawnedCore.start('--sku', placed(folder, withGuests(guests)), ...apps);
    return await measureOn(core, flood, probes);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOn(
  core: SpawnedCore,
  flood: Flood | 'guest',
  probes: number,
): Promise<Readonly<Record<string, Measured>>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const name of FUNCTIONS) await eventually(() => available(core, name), name, { ms: 60_000, every: 100 });
  await eventually(() => isWarm(core), 'the compile cache is written', { ms: 60_000, every: 250 });
  const session = await RawClient.connect(core.rpc('flash-reader'));
  await session.ready();
  await session.request('events.subscribe', { filters: [`app.${FLASH}.event.*`] });
  const ask = {
    // A client without a name shares its turns with all others that have none.
    REST: () => core.ask('/ping', { agent, token: core.token('flash-reader') }),
    RPC: () => session.request('system.ping'),
    event: async () => {
      await session.request('events.publish', { topic: `app.${FLASH}.event.tick`, payload: {} });
      await session.find(({ method }) => method === 'event');
    },
  };
  let longest = 0;
  const timed = async (name: keyof Times): Promise<number> => {
    const before = processorMs(core.pid);
    const began = performance.now();
    await ask[name]();
    const ms = performance.now() - began;
    if (name === 'REST') longest = Math.max(longest, processorMs(core.pid) - before);
    return ms;
  };
  const times = async (count: number): Promise<Times> => {
    const found: Times = { REST: [], RPC: [], event: [] };
    for (let n = 0; n < count; n++, await sleep(PACE_MS))
      for (const name of INNOCENTS) found[name].push(await timed(name));
    return found;
  };
  await times(50);
  const idle = await times(probes);
  const before = residentMB(core.pid);
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentMB(core.pid));
  }, 20);
  longest = 0;
  const attacker = await attack(core, flood);
  const beside = await times(probes);
  await attacker.terminate();
  const gone = performance.now();
  const calmMs = RECOVERED * p95(idle.REST);
  for (let calm = 0; calm < 5; calm = (await timed('REST')) <= calmMs ? calm + 1 : 0)
    if (performance.now() - gone > 60_000) break;
  const recovery = (performance.now() - gone) / 1_000;
  clearInterval(watching);
  while (residentMB(core.pid) - before > KEPT_MIB && performance.now() - gone < MINUTE_MS) await sleep(500);
  const kept = residentMB(core.pid) - before;
  agent.destroy();
  session.socket.destroy();
  const ratio = (name: keyof Times): [string, Measured] => {
    const [theirs, ours] = [p95(idle[name]), p95(beside[name])];
    return [`${name} p95 beside / idle`, one(ours / theirs, `${ours.toFixed(2)} ms`, `${theirs.toFixed(2)} ms`)];
  };
  return {
    ...Object.fromEntries(INNOCENTS.map(ratio)),
    "longest REST wait, the Core's processor": one(longest),
    'memory above idle': one(most - before),
    recovery: one(recovery),
    'memory above idle, a minute later at most': one(kept),
  };
}

async function available(core: SpawnedCore, name: string): Promise<boolean> {
  const { body } = await core.ask('/functions', { unix: true });
  return body.functions.some((one: { name: string; available: boolean }) => one.name === name && one.available);
}

/** A checkout writes its compile cache once, five seconds after the start: two seconds of the loop that no flood took. */
async function isWarm(core: SpawnedCore): Promise<boolean> {
  const { body } = await core.ask('/plugins/usage', { unix: true });
  return body.uptimeMs > WARM_MS;
}

interface Attacker {
  terminate(): unknown;
}

/** A plugin in a worker is a part of the Core's process: its own heap counts as memory above idle, and it stops when the Core ends it. */
async function attack(core: SpawnedCore, flood: Flood | 'guest'): Promise<Attacker> {
  if (flood !== 'guest') {
    const socket = flood.app === undefined ? core.socket : core.rpc(flood.app);
    const { token } = flood;
    const by = token === undefined ? '' : `authorization: Bearer ${core.token(token)}\r\n`;
    // A host without the port of the Core is another origin, and is refused before anything else.
    const text = flood.text.replace('host: localhost\r\n', `host: localhost:${core.port}\r\n${by}`);
    const workerData: Attack = { flood: { ...flood, text }, port: core.port, socket };
    return new Worker(ATTACKER, { workerData });
  }
  const session = await RawClient.connect(core.rpc('agenda'));
  await session.ready();
  const { error } = await session.request('harm.flood');
  if (error) throw new Error(`the guest does no harm: ${JSON.stringify(error)}`);
  return { terminate: () => session.socket.destroy() };
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}

function one(median: number, ours?: string, theirs?: string): Measured {
  return { q1: median, median, q3: median, ...(ours && { ours }), ...(theirs && { theirs }) };
}

/** Milliseconds that the main thread of a process had a processor: a busy machine does not stretch them. */
function processorMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

function residentMB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
