import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Lab, openLab } from '../../fixtures/bridge-lab.ts';

const SLOW = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(65_536), rxLength: 65_536 } as const;

/** Microseconds of so many GPIO reads, at moments spread over the transactions. */
async function roundTrips(lab: Lab, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    await lab.clock.advance(1 + ((index * 0.618) % 1) * 3);
    const from = lab.clock.now();
    await lab.run(lab.io.gpioRead('gpio0', 1));
    times.push((lab.clock.now() - from) * 1000);
  }
  return times.toSorted((a, b) => a - b);
}

describe('isolation, in simulated time', () => {
  it('answers GPIO beside 64 KiB on a 125 kHz target as on an idle link', async () => {
    await using idle = await openLab();
    const alone = await roundTrips(idle, 300);
    await using busy = await openLab();
    const transfer = busy.io.spixTransfer('spi1', SLOW);
    await busy.clock.advance(20);
    const beside = await roundTrips(busy, 300);
    assert.equal(Math.round(alone[150]!), 552, 'two transactions less a gap');
    assert.ok(beside[150]! <= alone[150]! * 1.05, `${beside[150]} against ${alone[150]}`);
    assert.ok(beside.at(-1)! <= 848.1, `three transactions less a gap are the bound, not ${beside.at(-1)} us`);
    await busy.run(transfer);
    assert.ok(busy.clock.now() >= 4194, 'and the transfer takes as long as its bits');
  });

  it('keeps to the bound while a fast bus saturates the link', async () => {
    await using lab = await openLab();
    const fast = { ...SLOW, speedHz: 8_000_000 };
    const work = Promise.all([lab.io.spixTransfer('spi0', fast), lab.io.spixTransfer('spi1', fast)]);
    await lab.clock.advance(5);
    const times = await roundTrips(lab, 40);
    assert.ok(times.at(-1)! <= 848.1, `${times.at(-1)} us`);
    await lab.run(work);
  });
});
