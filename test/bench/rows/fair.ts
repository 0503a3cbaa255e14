/**
 * Rows 31 to 35: what an innocent client feels of a flood, and what the Core holds meanwhile. The whole device runs as a process of its own, over
 * loopback; the attacker is another thread of this process. Each flood is bounded in count, and all of it ends with the row.
 */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { SpawnedCore } from '../../fixtures/spawned-core.ts';
import type { Goal, Measured, Row } from '../harness.ts';
import type { Attack, Flood } from '../workloads/flood.ts';

const ATTACKER = new URL('../workloads/flood.ts', import.meta.url);

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: device\r\n\r\n`;
const send = (method: string, path: string, body: object) => {
  const text = JSON.stringify(body);
  const head = `${method} ${path} HTTP/1.1\r\nhost: device\r\ncontent-type: application/json\r\n`;
  return `${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};
const FLOODS: readonly (readonly [title: string, Flood])[] = [
  ['40 x 300 documents unread', { connections: 40, requests: 300, text: get('/openapi.json'), reads: false }],
  ['8 x 3,000 pings', { connections: 8, requests: 3_000, text: get('/ping'), reads: true }],
  [
    '10,000 config sets of the operator',
    { connections: 4, requests: 2_500, text: send('PUT', '/config/flood', { value: 1 }), reads: true, unix: true },
  ],
  [
    '10,000 events of the operator',
    {
      ...{ connections: 4, requests: 2_500, reads: true, unix: true },
      text: send('POST', '/events/publish', { topic: 'user.flood', payload: {} }),
    },
  ],
  ['200 event streams unread', { connections: 200, requests: 1, text: get('/events'), reads: false, unix: true }],
];
const PROBES = { all: 300, quick: 80 };
const PACE_MS = 10;
const RECOVERED = 3;
const GOALS: readonly Goal[] = [
  { name: 'p95 beside / idle', goal: 3 },
  { name: 'memory above idle', goal: 64, unit: 'MiB' },
  { name: 'recovery', goal: 1, unit: 's' },
];

export const rows: readonly Row[] = FLOODS.map(([title, flood], index) => ({
  id: 31 + index,
  title: `an innocent client beside ${title}`,
  goals: GOALS,
  run: async ({ quick }) => measure(flood, quick ? PROBES.quick : PROBES.all),
}));

async function measure(flood: Flood, probes: number): Promise<Readonly<Record<string, Measured>>> {
  await using core = await SpawnedCore.start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ping = async (): Promise<number> => {
    const began = performance.now();
    await core.ask('/ping', { agent });
    return performance.now() - began;
  };
  const times = async (count: number, until: () => boolean = () => false): Promise<number[]> => {
    const list: number[] = [];
    for (; list.length < count && !until(); await sleep(PACE_MS)) list.push(await ping());
    return list;
  };
  await times(50);
  const idle = p95(await times(probes));
  const before = residentMB(core.pid);
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentMB(core.pid));
  }, 20);
  const workerData: Attack = { flood, port: core.port, socket: core.socket };
  const attacker = new Worker(ATTACKER, { workerData });
  const beside = p95(await times(probes));
  await attacker.terminate();
  const gone = performance.now();
  for (let calm = 0; calm < 5; calm = (await ping()) <= RECOVERED * idle ? calm + 1 : 0)
    if (performance.now() - gone > 60_000) break;
  const recovery = (performance.now() - gone) / 1_000;
  clearInterval(watching);
  agent.destroy();
  return {
    'p95 beside / idle': one(beside / idle, `${beside.toFixed(2)} ms`, `${idle.toFixed(2)} ms`),
    'memory above idle': one(most - before),
    recovery: one(recovery),
  };
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}

function one(median: number, ours?: string, theirs?: string): Measured {
  return { q1: median, median, q3: median, ...(ours && { ours }), ...(theirs && { theirs }) };
}

function residentMB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
