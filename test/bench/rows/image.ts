/**
 * Row 95: what a start costs from an image, which is JavaScript without any cache of code, beside the same SKU from a checkout. Row 96: what the boot loader
 * adds to it, which looks at the whole slot before the Core starts and hears that it is ready; and beside it the least that this work can cost here.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { signImage } from '@device-core/plugin-api/inside/image';
import { Checkout } from '../../../plugins/life/maker/image/build/checkout.ts';
import { skuPlace } from '../../../plugins/life/maker/image/build/contents.ts';
import { buildImage } from '../../../plugins/life/maker/image/build/index.ts';
import { loaderOf } from '../../../plugins/life/maker/image/install/index.ts';
import { placeDevice } from '../../../plugins/life/maker/image/install/place.ts';
import { unpack, writeImage } from '../../../plugins/life/maker/image/write.ts';
import { without } from '../../fixtures/debian.ts';
import { testKey } from '../../fixtures/image-folder.ts';
import {
  type Measured,
  microseconds,
  processCpu,
  quartiles,
  type Row,
  type RunOptions,
  type Skipped,
  skipped,
} from '../harness.ts';
import { headlessWithoutTcp, placed } from '../sku-data.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SKU = 'headless-io';

async function cpuToReady(node: string, words: readonly string[], root: string): Promise<number> {
  const core = spawn(node, [...words, '--root', root], { stdio: ['ignore', 'pipe', 'ignore'] });
  let cpu: number | undefined;
  for await (const line of createInterface(core.stdout)) {
    if (!line.includes('Ctrl-C')) continue;
    cpu = processCpu(core.pid!);
    core.kill('SIGTERM');
  }
  if (core.exitCode === null && core.signalCode === null) await once(core, 'exit');
  if (cpu === undefined) throw new Error(`${words[0]} ended before it was ready`);
  return cpu;
}

/** What both rows start. */
function built(checkout: Checkout, folder: string) {
  const file = placed(folder, headlessWithoutTcp());
  return { file, ...buildImage(checkout, { sku: file, severity: 'normal' }) };
}

/** Microseconds of a program that ends by itself, in steps of ten milliseconds: of all children that have ended, before and after. */
function cpuOf(program: string, words: readonly string[]): number {
  const ended = (): number => {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15);
    return (Number(user) + Number(system)) * 10_000;
  };
  const before = ended();
  const { status, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`);
  return ended() - before;
}

/** The least that starting twice and reading all can cost: a Node that does nothing, and a program in C over the same files. */
function floorOf(node: string, folder: string, slot: string): (() => number) | undefined {
  if (without('openssl') !== false) return undefined;
  const nothing = join(folder, 'nothing.mjs');
  writeFileSync(nothing, '');
  const words = ['-c', 'find "$0" -type f -exec openssl dgst -sha256 {} +', slot];
  return () => cpuOf(node, [nothing]) + cpuOf(node, [nothing]) + cpuOf('sh', words);
}

async function loader({ quick }: RunOptions): Promise<Record<string, Measured | Skipped>> {
  const folder = mkdtempSync(join(tmpdir(), 'db-loader-'));
  try {
    const checkout = new Checkout(ROOT);
    const image = built(checkout, folder);
    const key = testKey();
    const source = join(folder, 'image');
    // Packed as quickly as can be: only the slot is looked at.
    writeImage(source, image.contents, image, signImage(image.hash, key.privatePem), { level: 1 });
    const system = join(folder, 'system');
    await placeDevice({ system, image: source, keys: key.keys, loader: loaderOf(checkout) });
    const [run, slot] = [join(folder, 'run'), join(system, 'slots/a')];
    const places = ['--system', system, '--run', run, '--core', join(folder, 'core')];
    const current = join(system, 'boot/current');
    const record = readFileSync(join(system, 'boot/record'));
    const asks = (verb: string): number =>
      cpuOf(join(current, 'bin/node'), [join(current, 'kernel/init/main.js'), verb, ...places]);
    const core = () =>
      cpuToReady(
        join(slot, 'bin/node'),
        [join(slot, 'kernel/start.js'), '--sku', join(slot, skuPlace(SKU))],
        join(folder, 'state'),
      );
    const floor = floorOf(join(current, 'bin/node'), folder, slot);
    await core();
    const values: { core: number; full: number; again: number; floor: number }[] = [];
    for (let i = 0; i < (quick ? 3 : 9); i++) {
      // As after a boot: no note says that the files were read.
      rmSync(run, { recursive: true, force: true });
      mkdirSync(run);
      const full = asks('choose') + asks('ready');
      // Else the loader takes so many starts in one boot for a Core that keeps failing.
      writeFileSync(join(system, 'boot/record'), record);
      const again = asks('choose') + asks('ready');
      writeFileSync(join(system, 'boot/record'), record);
      values.push({ core: await core(), full, again, floor: floor?.() ?? Number.NaN });
    }
    const beside = (loaded: 'full' | 'again'): Measured => ({
      ...quartiles(values.map((one) => (one.core + one[loaded]) / one.core)),
      ours: microseconds(quartiles(values.map((one) => one.core + one[loaded])).median),
      theirs: microseconds(quartiles(values.map((one) => one.core)).median),
    });
    const floors: Measured = {
      ...quartiles(values.map((one) => one.full / one.floor)),
      ours: microseconds(quartiles(values.map((one) => one.full)).median),
      theirs: microseconds(quartiles(values.map((one) => one.floor)).median),
    };
    const least = quartiles(values.map((one) => (one.core + one.floor) / one.core)).median;
    const full = beside('full');
    return {
      'without it, all files read': floor
        ? { ...full, theirs: `${full.theirs}, floor here ${least.toFixed(2)}` }
        : full,
      'without it, files read in this boot': beside('again'),
      'its own part beside two bare Nodes and openssl': floor === undefined ? skipped('no openssl here') : floors,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function start({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const folder = mkdtempSync(join(tmpdir(), 'db-image-'));
  try {
    const checkout = new Checkout(ROOT);
    const { file, contents } = built(checkout, folder);
    const slot = join(folder, 'slot');
    unpack(contents, slot);
    const fresh = (): string => {
      rmSync(join(folder, 'fresh'), { recursive: true, force: true });
      return join(folder, 'fresh');
    };
    const image = () =>
      cpuToReady(join(slot, 'bin/node'), [join(slot, 'kernel/start.js'), '--sku', join(slot, skuPlace(SKU))], fresh());
    const sources = (root: string) =>
      cpuToReady(checkout.node, [checkout.path('kernel/start.js'), '--sku', file], root);
    const warm = join(folder, 'warm');
    await sources(warm);
    const values: { image: number; warm: number; cold: number }[] = [];
    for (let i = 0; i < (quick ? 3 : 9); i++)
      values.push({ image: await image(), warm: await sources(warm), cold: await sources(fresh()) });
    const beside = (other: 'warm' | 'cold'): Measured => ({
      ...quartiles(values.map((one) => one.image / one[other])),
      ours: microseconds(quartiles(values.map((one) => one.image)).median),
      theirs: microseconds(quartiles(values.map((one) => one[other])).median),
    });
    return { 'a checkout with warm caches': beside('warm'), 'a checkout without caches': beside('cold') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const rows: readonly Row[] = [
  {
    id: 95,
    title: 'CPU from exec to READY of an image (headless-io)',
    goals: [
      { name: 'a checkout with warm caches', goal: 1.1 },
      { name: 'a checkout without caches', goal: 0.8 },
    ],
    run: start,
  },
  {
    id: 96,
    title: 'CPU from the boot loader to READY of an image (headless-io)',
    goals: [
      { name: 'without it, all files read', goal: 1.25 },
      { name: 'without it, files read in this boot', goal: 1.25 },
      { name: 'its own part beside two bare Nodes and openssl', goal: 1.7, floor: 1 },
    ],
    run: loader,
  },
];
