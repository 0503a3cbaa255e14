/** Rows 75 to 79: what the screen costs. The panel is memory of 16 bits a pixel; conversion and the write to it are part of each frame. */

import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NIGHT } from '@device-core/plugin-api/scene';
import { addon } from '../../../plugins/display/render-skia/canvas.ts';
import { convert } from '../../../plugins/display/render-skia/pixels.ts';
import { surfaceOf } from '../../fixtures/glass.ts';
import { SpawnedCore } from '../../fixtures/spawned-core.ts';
import { alternate, type Measured, processMemory, quartiles, type Row } from '../harness.ts';
import { placed, simulator, withoutScreen } from '../sku-data.ts';
import { screen, talk } from '../workloads/screen.ts';

const load = (): string => `load ${loadavg()[0]!.toFixed(1)}`;

async function talking(fps: number, quick: boolean): Promise<Measured> {
  await using shown = await screen(fps);
  await talk(shown, 3_000, sleep);
  const shares: number[] = [];
  let frames = 0;
  for (let round = 0; round < (quick ? 2 : 5); round += 1) {
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    frames += await talk(shown, 6_000, sleep);
    const { user, system } = process.cpuUsage(cpu);
    shares.push((user + system) / 10 / (performance.now() - began));
  }
  const seconds = shares.length * 6;
  return { ...quartiles(shares), ours: `${(frames / seconds).toFixed(0)} frames a second; ${load()}` };
}

const RECTS = Array.from({ length: 12 }, (_, index) => ({
  kind: 'rect' as const,
  id: `r${index}`,
  x: 24 + (index % 4) * 172,
  y: 96 + Math.floor(index / 4) * 200,
  w: 156,
  h: 180,
  radius: 28,
  fill: '@raised',
}));
const TEXTS = RECTS.map(({ x, y }, index) => ({
  kind: 'text' as const,
  id: `t${index}`,
  text: `Card ${index}`,
  role: 'label' as const,
  x: x + 16,
  y: y + 16,
  w: 124,
}));

/** One full frame of cards after the other, as the product paints it and as bare calls of the canvas do. */
async function fullFrames(count: number) {
  const card = surfaceOf('cards', [...RECTS, ...TEXTS], { background: '@background' });
  const shown = await screen(1_000, [card]);
  const { renderer, glass } = shown;
  let revision = 1;
  const frame = async (set: object): Promise<void> => {
    const seen = new Promise<void>((done) => {
      glass.onFrame = done;
    });
    await renderer.apply({ base: revision, revision: revision + 1, ...set });
    revision += 1;
    await seen;
  };
  let turn = 0;
  const whole = async (): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      turn += 1;
      const background = turn % 2 === 0 ? '@background' : '@surface';
      await frame({ set: [{ ...card, version: turn, scene: { ...card.scene, background } }] });
    }
  };
  const damage = async (): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      turn += 1;
      const set = [{ id: 't5', text: `Card ${turn % 10}` }];
      await frame({ patch: [{ surface: 'cards', patch: { version: turn, set }, since: 0 }] });
    }
  };
  return { whole, damage, [Symbol.asyncDispose]: () => shown[Symbol.asyncDispose]() };
}

/** The same picture by calls of the canvas alone, read, converted and written. */
function bare(count: number): () => Promise<void> {
  const context = addon().createCanvas(720, 720).getContext('2d', { alpha: false });
  const sink = new Uint8Array(720 * 720 * 2);
  let turn = 0;
  return async () => {
    for (let index = 0; index < count; index += 1) {
      turn += 1;
      context.fillStyle = turn % 2 === 0 ? NIGHT.colours.background : NIGHT.colours.surface;
      context.fillRect(0, 0, 720, 720);
      context.fillStyle = NIGHT.colours.raised;
      for (const { x, y, w, h } of RECTS) {
        context.beginPath();
        context.roundRect(x, y, w, h, 28);
        context.fill();
      }
      context.fillStyle = NIGHT.colours.text;
      context.font = '700 30px "Inter"';
      for (const { x, y, text } of TEXTS) context.fillText(text, x, y + 30);
      const { data } = context.getImageData(0, 0, 720, 720);
      const pixels = new Uint8Array(720 * 720 * 2);
      convert(data, { x: 0, y: 0, w: 720, h: 720 }, 'rgb565', pixels, 0);
      sink.set(pixels);
      // At the pace of the renderer, which leaves a millisecond between frames: what it finds in the caches is as old.
      await sleep(1);
    }
  };
}

async function resident(without: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-screen-'));
  try {
    const sku = without ? withoutScreen() : simulator();
    await using core = await SpawnedCore.start('--sku', placed(folder, sku));
    await sleep(8_000);
    return processMemory(core.pid) / (1 << 20);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Plugins of the wing. */

export const rows: readonly Row[] = [
  {
    id: 75,
    title: 'Display: talking character, clock and a toast every 3 s, with conversion and write, share of a core',
    goals: [
      { name: '30 fps', goal: 6, unit: '%' },
      { name: '60 fps', goal: 8, unit: '%' },
    ],
    async run({ quick }) {
      return { '30 fps': await talking(30, quick), '60 fps': await talking(60, quick) };
    },
  },
  {
    id: 76,
    title: 'Display: frame of a word that changes / full frame of the same scene (CPU)',
    goals: [{ name: 'damage', goal: 0.25 }],
    async run({ quick }) {
      await using frames = await fullFrames(20);
      const sides = [{ load: frames.damage, operations: 20 }, { load: frames.whole, operations: 20 }] as const; // biome-ignore format: sides
      return { damage: (await alternate(...sides, quick ? 7 : 21, 3)).cpu };
    },
  },
  {
    id: 77,
    title: 'Display: full frame of the renderer / bare calls of the canvas for the same picture (CPU)',
    goals: [{ name: 'product', goal: 1.3 }],
    async run({ quick }) {
      await using frames = await fullFrames(20);
      const sides = [{ load: frames.whole, operations: 20 }, { load: bare(20), operations: 20 }] as const; // biome-ignore format: sides
      return { product: (await alternate(...sides, quick ? 7 : 21, 3)).cpu };
    },
  },
  {
    id: 78,
    title: 'Display: a static screen with a clock of minutes, frames in a minute beside the minute',
    goals: [{ name: 'frames', goal: 0, unit: '' }],
    async run() {
      const clock = surfaceOf('home', [{ kind: 'text', text: '{time:HH:mm}', role: 'hero' }]);
      await using shown = await screen(30, [clock]);
      await sleep(2_000);
      const before = shown.glass.frames.length;
      const cpu = process.cpuUsage();
      await sleep(60_000);
      const { user, system } = process.cpuUsage(cpu);
      const extra = Math.max(0, shown.glass.frames.length - before - 1);
      return {
        frames: { ...quartiles([extra]), ours: `${((user + system) / 1_000).toFixed(1)} ms of CPU; ${load()}` },
      };
    },
  },
  {
    id: 79,
    title: 'Display: resident memory of the Core over the same SKU without a screen',
    goals: [{ name: 'memory', goal: 60, unit: 'MiB' }],
    async run({ quick }) {
      const apart: number[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round += 1)
        apart.push((await resident(false)) - (await resident(true)));
      return { memory: { ...quartiles(apart), ours: load() } };
    },
  },
];
