/** Costs thousands of operations over a link that loses and garbles. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SeededRandom } from '../../../plugins/hardware/port-sim/sim/random.ts';
import { openLab } from '../../fixtures/bridge-lab.ts';
import { runs } from '../../fixtures/runs.ts';

const BOARD = {
  board: 'stress',
  endpoints: [
    { label: 'gpio0', class: 'gpio', lines: 32 },
    { label: 'spi0', class: 'spix', targets: [{ cs: 0, kind: 'echo' }] },
    { label: 'spi1', class: 'spix', targets: [{ cs: 0, kind: 'echo' }] },
    { label: 'spi2', class: 'spix', targets: [{ cs: 0, kind: 'echo' }] },
  ],
};
const BUSES = ['spi0', 'spi1', 'spi2'] as const;
const GARBLED = { zeroed: 0.0015, stale: 0.0015, slipped: 0.0015, truncated: 0.0015 };
const OUTSTANDING = 12;

/**
 * An echo target answers each byte with the one before it, across transfers: so the answers of a bus prove that its transfers ran once each and in the
 * order in which they were asked for.
 */
async function stress(operations: number, bitErrorRate: number, seed: number, transactionBytes: number) {
  await using lab = await openLab({
    board: BOARD,
    link: { transactionBytes },
    faults: { ...GARBLED, bitErrorRate, seed },
    host: { transactionBytes },
  });
  const random = new SeededRandom(seed);
  let started = 0;
  let answered = 0;
  const last: Record<string, number> = { spi0: 0, spi1: 0, spi2: 0 };
  const transfer = async (bus: (typeof BUSES)[number]) => {
    while (started < operations) {
      started++;
      const tx = Uint8Array.from({ length: 1 + random.below(random.hit(0.02) ? 700 : 24) }, () => random.below(256));
      const expected = [last[bus]!, ...tx.subarray(0, -1)];
      last[bus] = tx.at(-1)!;
      const rx = await lab.io.spixTransfer(bus, { cs: 0, mode: 0, speedHz: 8_000_000, tx, rxLength: tx.length });
      assert.deepEqual([...rx], expected);
      answered++;
    }
  };
  const workers = BUSES.flatMap((bus) => Array.from({ length: OUTSTANDING }, () => transfer(bus)));
  await lab.run(Promise.all(workers));
  const executed = BUSES.reduce((sum, label) => sum + lab.bridge.endpoint(label)!.counts.requests, 0);
  const { bad } = lab.host.link.statistics;
  return { answered, executed, bad, resets: lab.host.link.statistics.resets };
}

describe('link under faults, nothing lost, doubled or reordered', () => {
  const table = [
    { operations: runs(40_000), bitErrorRate: 1e-4, transactionBytes: 256 },
    { operations: runs(30_000), bitErrorRate: 1e-5, transactionBytes: 256 },
    { operations: runs(15_000), bitErrorRate: 1e-4, transactionBytes: 64 },
    { operations: runs(15_000), bitErrorRate: 1e-4, transactionBytes: 1024 },
  ];
  table.forEach(({ operations, bitErrorRate, transactionBytes }, index) => {
    it(`${operations} operations at a bit error rate of ${bitErrorRate}, N = ${transactionBytes}`, async () => {
      const result = await stress(operations, bitErrorRate, index + 1, transactionBytes);
      assert.equal(result.answered, operations);
      assert.equal(result.executed, operations);
      assert.equal(result.resets, 0);
      assert.ok(result.bad > 0, 'the faults did fall');
    });
  });
});
