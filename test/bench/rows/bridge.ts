/** Row 16: a GPIO round trip on the bridge beside 64 KiB on a 125 kHz SPI target, against the idle link, in simulated time. */
import { type Lab, openLab } from '../../fixtures/bridge-lab.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';

const TRANSFER = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(65_536), rxLength: 65_536 } as const;
const GOLDEN = 0.618;

/** Microseconds of simulated time, one round trip after the other at moments spread over the transactions of the link. */
async function roundTrips(lab: Lab, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    await lab.clock.advance(0.5 + ((index * GOLDEN) % 1) * 2);
    const from = lab.clock.now();
    await lab.run(lab.io.gpioRead('gpio0', 1));
    times.push((lab.clock.now() - from) * 1000);
  }
  return times;
}

/** The same GPIO reads on a link of their own and beside the transfer. */
async function isolation(quick: boolean): Promise<Measured> {
  const count = quick ? 200 : 1000;
  await using idle = await openLab();
  const alone = await roundTrips(idle, count);
  await using busy = await openLab();
  const transfer = busy.io.spixTransfer('spi1', TRANSFER);
  await busy.clock.advance(20);
  const beside = await roundTrips(busy, count);
  await busy.run(transfer);
  const base = quartiles(alone).median;
  const { q1, median, q3 } = quartiles(beside);
  const worst = Math.round(Math.max(...beside));
  return {
    q1: q1 / base,
    median: median / base,
    q3: q3 / base,
    ours: `${Math.round(median)} us beside the transfer, at most ${worst}`,
    theirs: `${Math.round(base)} us idle, at most ${Math.round(Math.max(...alone))}`,
  };
}

export const rows: readonly Row[] = [
  {
    id: 16,
    title: 'Bridge: GPIO round trip beside 64 KiB on a 125 kHz SPI target, against the idle link (simulated time)',
    goals: [{ name: 'idle link', goal: 1.05, floor: 1 }],
    run: async ({ quick }) => ({ 'idle link': await isolation(quick) }),
  },
];
