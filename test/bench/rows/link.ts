/** Row 39: what a transaction of the link costs the Core at full speed, the bridge at its other end left out. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { noSpidev, SpidevLab } from '../../fixtures/spidev.ts';
import { type Measured, microseconds, quartiles, type Row } from '../harness.ts';
import type { LinkRound } from '../workloads/link-core.ts';

const CORE = fileURLToPath(new URL('../workloads/link-core.ts', import.meta.url));

async function costs(port: string, quick: boolean, env: Readonly<Record<string, string>> = {}): Promise<Measured> {
  const args = [CORE, port, quick ? '3' : '15', quick ? '40' : '80'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"transactions"'));
  const each = lines.map((line) => {
    const { cpu, transactions } = JSON.parse(line) as LinkRound;
    return cpu / transactions;
  });
  const { q1, median, q3 } = quartiles(each);
  return { q1: q1 / 1_000, median: median / 1_000, q3: q3 / 1_000, ours: microseconds(median) };
}

export const rows: readonly Row[] = [
  {
    id: 39,
    title: 'Link: CPU of the Core for a transaction of 256 bytes, 4 KiB reads of a flash one after the other',
    goals: [
      { name: 'spidev', goal: 0.15, unit: 'ms' },
      { name: 'simulated port', goal: 0.15, unit: 'ms' },
    ],
    async run({ quick }) {
      const simulated = { 'simulated port': await costs('port-sim', quick) };
      if (noSpidev) return simulated;
      await using lab = await SpidevLab.open();
      return { ...simulated, spidev: await costs('port-spidev', quick, lab.environment) };
    },
  },
];
