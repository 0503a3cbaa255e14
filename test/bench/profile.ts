/** `--profile start` or `idle`: a CPU profile of a SKU, the frozen `board` unless another is named, and its picture. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CACHE, HERE, thisCheckout } from './checkout.ts';
import { Installation, SETTLE_MS } from './device.ts';
import { type CpuProfile, flameOf, flameSvg, milliseconds } from './flame.ts';
import { cpuOfThreads } from './process-tree.ts';

const IDLE_MS = 60_000;
const OF_THE_PAGE = 'board';

const now = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Writes both to `.device/bench`, the picture of the frozen SKU to `docs/performance`; resolves with their names. */
export async function profile(
  kind: 'start' | 'idle',
  sku: string | undefined,
  log: (text: string) => void,
): Promise<readonly string[]> {
  using installation = new Installation(thisCheckout(), sku ?? OF_THE_PAGE);
  log('the first start, which fills the compile cache ...');
  await installation.warm();
  const folder = join(installation.root, 'profiles');
  let from = now();
  const device = await installation.start({ node: ['--cpu-prof', '--cpu-prof-dir', folder] });
  let to = now();
  let threads = cpuOfThreads(device.pid);
  if (kind === 'idle') {
    await sleep(SETTLE_MS);
    const before = cpuOfThreads(device.pid);
    from = now();
    log('an idle minute ...');
    await sleep(IDLE_MS);
    to = now();
    threads = new Map([...cpuOfThreads(device.pid)].map(([name, cpu]) => [name, cpu - (before.get(name) ?? 0)]));
  }
  await device.stop();
  const text = mainProfile(folder, device.pid);
  const all = flameOf(JSON.parse(text) as CpuProfile, HERE, {
    from,
    to,
    cpu: threads.get(`${device.pid} MainThread`) ?? 0,
  });
  const { commit } = thisCheckout();
  const what = kind === 'start' ? 'from exec to ready' : 'of an idle minute that listens to a quiet room';
  const told = `${new Date().toISOString().slice(0, 10)}, commit ${commit}. All threads, with the profiler's own: ${byThread(threads)}.`;
  const title = `CPU of the main thread ${what}: ${milliseconds(all.total)} (SKU ${basename(sku ?? OF_THE_PAGE, '.yaml')})`;
  const kept = join(CACHE, `${kind}.cpuprofile`);
  const picture = join(folderOf(sku), `${kind}.svg`);
  mkdirSync(CACHE, { recursive: true });
  mkdirSync(folderOf(sku), { recursive: true });
  writeFileSync(kept, text);
  writeFileSync(picture, flameSvg(all, title, told));
  return [kept, picture].map((path) => path.slice(HERE.length + 1));
}

const folderOf = (sku: string | undefined): string => (sku === undefined ? join(HERE, 'docs/performance') : CACHE);

/** Node writes one when the process ends; `CPU.date.time.PID.THREAD.count.cpuprofile`, of which the main thread is 0. */
function mainProfile(folder: string, pid: number): string {
  const name = readdirSync(folder).find((one) => one.includes(`.${pid}.0.`));
  if (name === undefined) throw new Error('the Core wrote no CPU profile when it ended');
  return readFileSync(join(folder, name), 'utf8');
}

/** Those that took most, with threads of the same name taken together. */
function byThread(threads: ReadonlyMap<string, number>): string {
  const sums = new Map<string, number>();
  for (const [key, cpu] of threads) {
    const name = key.slice(key.indexOf(' ') + 1);
    sums.set(name, (sums.get(name) ?? 0) + cpu);
  }
  const most = [...sums].sort(([, a], [, b]) => b - a).slice(0, 6);
  return most.map(([name, cpu]) => `${name} ${milliseconds(cpu)}`).join(', ');
}
