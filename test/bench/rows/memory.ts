/** Row 43: what a Core keeps of what is over, in bytes that are in use after a forced collection. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Measured, Row, RunOptions } from '../harness.ts';

const MIB = 1 << 20;
/** Before it is measured, so much of the whole is done: what is compiled and made once is there then. */
const WARM = 0.3;
const QUICK = 0.1;

const WORK = {
  'restarts inline': { level: 'inline', kind: 'inline', count: 1_000 },
  'restarts of a worker': { level: 'worker', kind: 'worker', count: 1_000 },
  'restarts of a process': { level: 'process', kind: 'process', count: 1_000 },
  calls: { level: 'inline', kind: 'calls', count: 100_000 },
  sessions: { level: 'inline', kind: 'sessions', count: 10_000 },
} as const;
type Name = keyof typeof WORK;

async function bytesAfter(core: ChildProcess, kind: string, count: number): Promise<number> {
  core.send({ kind, count });
  const [{ bytes }] = (await once(core, 'message')) as [{ bytes: number }];
  return bytes;
}

async function kept(name: Name, { quick }: RunOptions): Promise<Measured> {
  const { level, kind, count } = WORK[name];
  const wanted = quick ? count * QUICK : count;
  const core = fork(join(import.meta.dirname, '../workloads/memory-core.ts'), [level]);
  try {
    await once(core, 'message');
    const before = await bytesAfter(core, kind, wanted * WARM);
    const grown: number[] = [];
    for (let part = 0; part < 4; part++) grown.push((await bytesAfter(core, kind, wanted / 4)) - before);
    // What is kept grows; what the collector holds at one moment does not.
    const median = grown.at(-1)! / MIB;
    return { q1: Math.min(...grown) / MIB, median, q3: Math.max(...grown) / MIB, ours: `${wanted} ${kind}` };
  } finally {
    core.disconnect();
  }
}

export const rows: readonly Row[] = [
  {
    id: 43,
    title: 'Memory that is kept after 1,000 restarts at each level, 100,000 calls and 10,000 sessions',
    goals: (Object.keys(WORK) as Name[]).map((name) => ({ name, goal: 2, unit: 'MiB' })),
    async run(options) {
      const measured: Record<string, Measured> = {};
      for (const name of Object.keys(WORK) as Name[]) measured[name] = await kept(name, options);
      return measured;
    },
  },
];
