/** One start of written plugins: what it cost, and what it takes when it has settled. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { entryOf, HERE } from '../checkout.ts';
import { Device } from '../device.ts';
import type { RunOptions } from '../harness.ts';
import { cpuOfDevice, memoryOfDevice, switchesOfDevice } from '../process-tree.ts';
import type { Workload } from './written-plugins.ts';

/** Until the compile cache is written and what the start left behind is collected. */
const SETTLE_MS = 8_000;

export interface Sample {
  /** Microseconds, of the start. */
  readonly cpu: number;
  /** Bytes (PSS). */
  readonly memory: number;
  /** Microseconds of CPU, and voluntary context switches, a second of idling; 0 where nobody watched. */
  readonly idle: number;
  readonly switches: number;
}

export async function sample(work: Workload, { confinement }: RunOptions, watchMs = 0): Promise<Sample> {
  const root = join(work.folder, 'root');
  const main = [entryOf({ folder: HERE }), '--sku', work.sku, '--root', root, ...(work.listens ? ['--no-tcp'] : [])];
  const [program, ...args] = [...(confinement?.command ?? []), process.execPath, ...main];
  await using device = await Device.start(program!, args, {
    socket: join(root, 'run/core.sock'),
    asked: work.listens,
  });
  await sleep(SETTLE_MS);
  const all = () =>
    switchesOfDevice(device.pid)
      .values()
      .reduce((sum, count) => sum + count, 0);
  const [from, cpu, switches] = [performance.now(), cpuOfDevice(device.pid), all()];
  await sleep(watchMs);
  const each = watchMs === 0 ? 0 : 1_000 / (performance.now() - from);
  return {
    cpu: device.start.ready.cpu,
    memory: memoryOfDevice(device.pid).pss,
    idle: (cpuOfDevice(device.pid) - cpu) * each,
    switches: (all() - switches) * each,
  };
}
