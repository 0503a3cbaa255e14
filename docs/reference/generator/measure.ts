/** What each variant takes on this machine, written to variants.json: `node docs/reference/generate.ts --measure`. Never part of the check: numbers drift. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processCpu, processMemory, quartiles } from '../../../test/bench/harness.ts';
import { CoreProcess, TemporaryRoot } from '../../../test/fixtures/core-process.ts';
import type { Measurements, VariantCost } from './variants.ts';

const STARTS = 7;
/** After the start, before the memory is read. */
const SETTLE_MS = 3_000;
const MIB = 1 << 20;

export async function measureVariants(): Promise<void> {
  const folder = fileURLToPath(new URL('../../../manifests/skus', import.meta.url));
  const variants: Record<string, VariantCost> = {};
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml') && !name.endsWith('.lock.yaml')))
    variants[file.slice(0, -'.yaml'.length)] = await costOf(`${folder}/${file}`);
  const [cpu] = cpus();
  const measured: Measurements = {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${cpus().length} x ${cpu?.model ?? process.arch}, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
    variants,
  };
  writeFileSync(new URL('../variants.json', import.meta.url), `${JSON.stringify(measured, null, 2)}\n`);
}

async function costOf(sku: string): Promise<VariantCost> {
  using root = new TemporaryRoot();
  const args = sku.endsWith('/safe-mode.yaml') ? ['--safe-mode'] : ['--sku', sku];
  const costs: { cpu: number; wall: number; memory: number; others: number }[] = [];
  // The first start fills the compile cache, as an image comes with one.
  for (let start = 0; start <= STARTS; start++) {
    const began = performance.now();
    await using core = await CoreProcess.start(root.path, ...args, '--port', '0');
    const wall = performance.now() - began;
    const pid = core.process.pid!;
    const cpu = processCpu(pid) / 1_000;
    await sleep(start === 0 ? 6_000 : SETTLE_MS);
    const others = childrenOf(pid).reduce((sum, child) => sum + processMemory(child), 0);
    if (start > 0) costs.push({ cpu, wall, memory: processMemory(pid) / MIB, others: others / MIB });
    await core.stop();
  }
  const median = (of: keyof (typeof costs)[number]) => Math.round(quartiles(costs.map((one) => one[of])).median);
  return {
    startCpuMs: median('cpu'),
    startMs: median('wall'),
    memoryMiB: median('memory'),
    othersMiB: median('others'),
  };
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' '))
    .filter(Boolean)
    .map(Number);
}
