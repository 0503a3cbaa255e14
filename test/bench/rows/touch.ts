/**
 * Row 80: from a finger that is lifted to the notification at the app's socket. The finger is an operation, so a request over HTTP is part of it; beside
 * it stands a request that does nothing, in turns in the same run. The whole device runs as a process of its own and paints meanwhile.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpawnedCore } from '../../fixtures/spawned-core.ts';
import { shows, speaksFor, TouchedApp } from '../../fixtures/touched-app.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';
import { placed, touched } from '../sku-data.ts';

const STILL = {
  scene: 1,
  nodes: [{ kind: 'rect', id: 'n', x: 200, y: 200, w: 320, h: 320, fill: '@accent', tap: 'hit', label: 'hit' }],
};
/** Frames are painted all the time. */
const MOVING = {
  ...STILL,
  timelines: [{ node: 'n', property: 'rotate', from: 0, to: 90, ms: 2_000, repeat: 0 }],
};
/** Between two taps: below the rate at which fingers are believed. */
const PACE_MS = 30;
const WARM_UP = 20;

interface Times {
  readonly touch: number[];
  readonly ping: number[];
}

interface Found {
  readonly still: Times;
  readonly moving: Times;
}

async function measure(taps: number): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-'));
  try {
    using app = new TouchedApp();
    await using core = await SpawnedCore.start('--sku', placed(folder, touched()), '--app', app.folder);
    return await measureOn(core, taps);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOn(core: SpawnedCore, taps: number): Promise<Found> {
  const session = await speaksFor(core);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const finger = (phase: string) =>
    core.ask('/display/input', { agent, unix: true, method: 'POST', body: { x: 360, y: 360, phase } });
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  const tapping = async (): Promise<Times> => {
    const times: Times = { touch: [], ping: [] };
    for (let tap = -WARM_UP; tap < taps; tap++) {
      await sleep(PACE_MS);
      const { status } = await finger('down');
      if (status !== 200) throw new Error(`a touch is answered with ${status}`);
      let answered: Promise<unknown> | undefined;
      const touch = await timed(() => {
        answered = finger('up');
        return session.find(({ method }) => method === 'display.input');
      });
      await answered;
      const ping = await timed(() => core.ask('/ping', { agent, unix: true }));
      if (tap < 0) continue;
      times.touch.push(touch);
      times.ping.push(ping);
    }
    return times;
  };
  await shows(session, STILL);
  const still = await tapping();
  await shows(session, MOVING);
  const moving = await tapping();
  agent.destroy();
  session.socket.destroy();
  return { still, moving };
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}

function told(found: readonly Times[]): readonly [touch: Measured, ratio: Measured] {
  const ms = (kind: keyof Times) => quartiles(found.map((times) => p95(times[kind])));
  const [touch, ping] = [ms('touch'), ms('ping')];
  const sides = { ours: `${touch.median.toFixed(2)} ms`, theirs: `${ping.median.toFixed(2)} ms` };
  return [
    { ...touch, theirs: sides.theirs },
    { ...quartiles(found.map((times) => p95(times.touch) / p95(times.ping))), ...sides },
  ];
}

export const rows: readonly Row[] = [
  {
    id: 80,
    title: 'a finger that is lifted to the notification of the app, p95, beside a request that does nothing',
    goals: [
      { name: 'still', goal: 10, unit: 'ms' },
      { name: 'still / ping', goal: 3 },
      { name: 'moving', goal: 10, unit: 'ms' },
      { name: 'moving / ping', goal: 3 },
    ],
    async run({ quick }) {
      const found: Found[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round++) found.push(await measure(quick ? 60 : 300));
      const [still, stillRatio] = told(found.map((one) => one.still));
      const [moving, movingRatio] = told(found.map((one) => one.moving));
      return { still, 'still / ping': stillRatio, moving, 'moving / ping': movingRatio };
    },
  },
];
