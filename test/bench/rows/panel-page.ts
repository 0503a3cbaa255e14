/**
 * Rows 86 and 87: the panel on a page. The device paints all the time; what the page costs is the difference to the same painting without a page, in
 * turns in the same run. The lag is measured in the page: from the time at which the panel was given the frame to its acknowledgement, by one clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { SpawnedCore } from '../../fixtures/spawned-core.ts';
import { shows, speaksFor, TouchedApp } from '../../fixtures/touched-app.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';
import { cpuOfDevice, switchesOfDevice } from '../process-tree.ts';
import { openTab } from '../workloads/page.ts';

/** Something of the size of the character's face moves at 30 frames a second, as it does while it speaks. */
const MOVING = {
  scene: 1,
  background: '@background',
  nodes: [
    { kind: 'text', text: 'Something moves', role: 'title', x: 48, y: 60, w: 624 },
    { kind: 'ellipse', id: 'n', x: 260, y: 240, w: 200, h: 240, fill: '@accent' },
  ],
  timelines: [{ node: 'n', property: 'h', from: 160, to: 240, ms: 900, alternate: true, repeat: 0 }],
};
const STILL = { ...MOVING, timelines: [] };
const SETTLE_MS = 4_000;
/** What starts with the device comes to rest first. */
const REST_MS = 30_000;
/** Nobody touches it: the app would lose the screen after a minute, which would be dimmed before. */
const DAY_MS = 86_400_000;
/** Where fewer frames come in a second, nothing was measured. */
const FEWEST = 10;

/** Percent of a core that the device takes. */
async function shareOf(core: SpawnedCore, ms: number): Promise<number> {
  const [cpu, began] = [cpuOfDevice(core.pid), performance.now()];
  await sleep(ms);
  return (cpuOfDevice(core.pid) - cpu) / 10 / (performance.now() - began);
}

const wakeups = (core: SpawnedCore): number =>
  [...switchesOfDevice(core.pid).values()].reduce((sum, count) => sum + count, 0);

async function wakeupsOf(core: SpawnedCore, ms: number): Promise<number> {
  const [before, began] = [wakeups(core), performance.now()];
  await sleep(ms);
  return ((wakeups(core) - before) * 1_000) / (performance.now() - began);
}

const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;

async function withDevice<T>(work: (core: SpawnedCore, show: (scene: object) => Promise<void>) => Promise<T>) {
  using app = new TouchedApp();
  const awake = ['idleMs', 'dimMs', 'offMs'].flatMap((key) => ['--set', `display.${key}=${DAY_MS}`]);
  await using core = await SpawnedCore.start('--sku', 'manifests/skus/simulator.yaml', '--app', app.folder, ...awake);
  const session = await speaksFor(core);
  try {
    return await work(core, (scene) => shows(session, scene));
  } finally {
    session.socket.destroy();
  }
}

function viewed(rounds: number, ms: number): Promise<Readonly<Record<'cpu' | 'lag' | 'bytes', Measured>>> {
  return withDevice(async (core, show) => {
    await show(MOVING);
    await sleep(REST_MS);
    const [extra, lags, bytes, frames]: number[][] = [[], [], [], []];
    let name = '';
    for (let round = 0; round < rounds; round += 1) {
      await sleep(SETTLE_MS);
      const without = await shareOf(core, ms);
      await using tab = await openTab(core);
      name = tab.name;
      await sleep(SETTLE_MS);
      await tab.take();
      const began = performance.now();
      const beside = await shareOf(core, ms);
      const seen = await tab.take();
      const s = (performance.now() - began) / 1_000;
      extra?.push(beside - without);
      lags?.push(p95(seen.lags));
      bytes?.push(seen.bytes / 1_000 / s);
      const perSecond = seen.lags.length / s;
      if (perSecond < FEWEST)
        throw new Error(`${perSecond.toFixed(1)} frames a second came, at least ${FEWEST} should`);
      frames?.push(perSecond);
    }
    const ours = `${name}, ${quartiles(frames ?? []).median.toFixed(1)} frames a second`;
    return {
      cpu: { ...quartiles(extra ?? []), ours },
      lag: { ...quartiles(lags ?? []), ours },
      bytes: quartiles(bytes ?? []),
    };
  });
}

export const rows: readonly Row[] = [
  {
    id: 86,
    title: 'the panel on a page at 15 frames a second: CPU of the device beyond painting, lag p95, and bytes',
    goals: [
      { name: 'cpu', goal: 6, unit: '%' },
      { name: 'lag', goal: 150, unit: 'ms' },
      { name: 'bytes', goal: 150, unit: 'kB/s' },
    ],
    run: ({ quick }) => viewed(quick ? 1 : 5, quick ? 5_000 : 20_000),
  },
  {
    id: 87,
    title: 'nobody watches any more: wakeups of the device beside those before anybody did, a still screen',
    goals: [{ name: 'after / before', goal: 1.1 }],
    run: ({ quick }) =>
      withDevice(async (core, show) => {
        const ms = quick ? 5_000 : 20_000;
        await show(STILL);
        await sleep(REST_MS);
        const before = [await wakeupsOf(core, ms), await wakeupsOf(core, ms)];
        await (await openTab(core))[Symbol.asyncDispose]();
        await sleep(3 * SETTLE_MS);
        const after = [await wakeupsOf(core, ms), await wakeupsOf(core, ms)];
        const ratios = after.map((one, index) => one / (before[index] ?? Number.NaN));
        const sides = {
          ours: `${quartiles(after).median.toFixed(1)}/s`,
          theirs: `${quartiles(before).median.toFixed(1)}/s`,
        };
        return { 'after / before': { ...quartiles(ratios), ...sides } };
      }),
  },
];
