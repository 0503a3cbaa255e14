/** Row 85: the mouth of the character against the sound that is heard. */
import { loadavg } from 'node:os';
import { mouthLags } from '../../fixtures/mouth.ts';
import { quartiles, type Row } from '../harness.ts';

const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN;

export const rows: readonly Row[] = [
  {
    id: 85,
    title: 'Display: mouth against sound, from the recording of the speaker to the frame (p95)',
    goals: [{ name: 'apart', goal: 80, unit: 'ms' }],
    async run({ quick }) {
      const lags = await mouthLags(quick ? 8 : 40);
      const apart = lags.map(({ ms }) => Math.abs(ms));
      const { q1, median, q3 } = quartiles(apart);
      const held = lags.filter(({ held: ms }) => ms > 20).length;
      const load = loadavg()[0]!.toFixed(1);
      const ours = `p50 ${median.toFixed(0)} ms of ${lags.length}, ${held} of them while the process was held up; load ${load}`;
      return { apart: { q1, median: p95(apart), q3, ours } };
    },
  },
];
