/** The caller's clock and the transfer's (decisions D4a), for every class of endpoint, on the virtual clock. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { EndpointRequestOptions } from '@device-core/plugin-api/services/endpoints';
import fc from 'fast-check';
import { transferBody } from '../../../plugins/hardware/spi/messages.ts';
import { Lab, openLab } from '../../fixtures/bridge-lab.ts';
import { runs } from '../../fixtures/runs.ts';

const BOARD = {
  board: 'all',
  endpoints: [
    { label: 'gpio0', class: 'gpio' },
    { label: 'spi0', class: 'spix', targets: [{ cs: 0, kind: 'loopback' }] },
    { label: 'i2c0', class: 'i2c', targets: [{ kind: 'registers', address: 0x50 }] },
    { label: 'uart0', class: 'uart', loopback: true },
    { label: 'can0', class: 'can' },
    { label: 'pio0', class: 'pio', gpio: 'gpio0' },
  ],
};
const spix = (speedHz: number, bytes: number) =>
  transferBody({ cs: 0, mode: 0, speedHz, tx: new Uint8Array(bytes), rxLength: bytes });
const can = Buffer.alloc(9);
can.writeUInt32LE(500_000);

/** Something that each class does at once. */
const WORK: readonly (readonly [endpoint: string, op: number, body: Uint8Array])[] = [
  ['gpio0', 1, Uint8Array.of(1, 0, 0, 0)],
  ['spi0', 1, spix(1_000_000, 1)],
  ['i2c0', 1, Uint8Array.of(0x50, 0, 1, 0, 1, 0, 7)],
  ['uart0', 2, Uint8Array.of(65)],
  ['can0', 1, can],
  ['pio0', 1, Uint8Array.of(0xff, 1, 0, 0)],
];

interface Ended {
  readonly error: CoreError | undefined;
  readonly at: number;
}

/** How a request ended, and when, milliseconds from now. */
async function ended(
  lab: Lab,
  [endpoint, op, body]: (typeof WORK)[number],
  options: EndpointRequestOptions,
): Promise<Ended> {
  const from = lab.clock.now();
  const error = await lab.source.request(endpoint, op, body, options).then(
    () => undefined,
    (thrown: unknown) => {
      assert.ok(thrown instanceof CoreError, String(thrown));
      return thrown;
    },
  );
  return { error, at: lab.clock.now() - from };
}

const told = ({ error }: Ended) =>
  error ? [error.code, error.details.clock, error.details.executed] : ['done', undefined, undefined];

for (const work of WORK) {
  const [endpoint] = work;
  describe(`the two clocks of ${endpoint}`, () => {
    const open = async (slowMs: number) => {
      const lab = await openLab({ board: BOARD });
      lab.bridge.endpoint(endpoint)!.slowMs = slowMs;
      return lab;
    };

    it('a caller with 200 ms behind 2.5 s has its answer after 200 ms, and nothing was done for it', async () => {
      await using lab = await open(2_500);
      const first = ended(lab, work, { deadlineMs: 5_000 });
      const second = ended(lab, work, { deadlineMs: 5_000, callerMs: 200 });
      const { at, ...outcome } = await lab.run(second);
      assert.deepEqual(told({ at, ...outcome }), ['TIMEOUT', 'caller', 'no']);
      assert.ok(at >= 200 && at < 205, `${at}`);
      assert.deepEqual(told(await lab.run(first)), ['done', undefined, undefined]);
      assert.equal(lab.bridge.endpoint(endpoint)!.counts.cancels, 1);
      assert.equal(lab.bridge.endpoint(endpoint)!.inFlight, 0);
    });

    it('time in the queue is not the transfer’s', async () => {
      await using lab = await open(1_000);
      const all = Array.from({ length: 8 }, () => ended(lab, work, { deadlineMs: 1_500, callerMs: 30_000 }));
      for (const outcome of await lab.run(Promise.all(all))) assert.equal(outcome.error, undefined);
    });

    it('a transfer that exceeds its own limit ends, also where it was sent ahead of its turn', async () => {
      await using lab = await open(0);
      const behind = lab.bridge.endpoint(endpoint)!;
      behind.slowMs = 400;
      const first = ended(lab, work, { deadlineMs: 20_000 });
      const second = ended(lab, work, { deadlineMs: 500 });
      await lab.clock.advance(100);
      behind.slowMs = 60_000;
      assert.equal((await lab.run(first)).error, undefined);
      const outcome = await lab.run(second);
      assert.deepEqual(told(outcome), ['TIMEOUT', 'transfer', 'unknown']);
      assert.ok(outcome.at < 400 + 500 + 300, `${outcome.at}`);
      behind.slowMs = 0;
      assert.equal((await lab.run(ended(lab, work, { deadlineMs: 500 }))).error, undefined);
    });

    it('work that has begun when its caller gives up comes to its own end', async () => {
      await using lab = await open(1_000);
      const outcome = await lab.run(ended(lab, work, { deadlineMs: 1_500, callerMs: 300 }));
      assert.deepEqual(told(outcome), ['TIMEOUT', 'caller', 'unknown']);
      assert.ok(outcome.at < 305, `${outcome.at}`);
      assert.equal((await lab.run(ended(lab, work, { deadlineMs: 1_500 }))).error, undefined);
      const { counts } = lab.bridge.endpoint(endpoint)!;
      assert.deepEqual([counts.cancels, counts.timeouts], [0, 0]);
      assert.equal(lab.host.link.statistics.resets, 0);
    });

    it('nothing was done of what waits when the session ends', async () => {
      await using lab = await open(1_000);
      const all = Array.from({ length: 6 }, () => ended(lab, work, { deadlineMs: 1_500 }));
      await lab.clock.advance(50);
      lab.bridge.reset(3);
      const outcomes = await lab.run(Promise.all(all));
      assert.deepEqual(
        outcomes.map(({ error }) => [error?.details.status, error?.details.executed]),
        [...Array(4).fill(['LINK_RESET', 'unknown']), ...Array(2).fill(['LINK_RESET', 'no'])],
      );
    });
  });
}

describe('a bridge of minor version 0', () => {
  it('is asked to stop waiting work by the reason that it knows; the fate of begun work stays open', async () => {
    await using lab = new Lab({ board: BOARD });
    lab.bridge.responder.minor = 0;
    await lab.up();
    lab.bridge.endpoint('i2c0')!.slowMs = 2_500;
    const work = WORK[2]!;
    const first = ended(lab, work, { deadlineMs: 5_000 });
    const outcome = await lab.run(ended(lab, work, { deadlineMs: 5_000, callerMs: 200 }));
    assert.deepEqual(told(outcome), ['TIMEOUT', 'caller', 'unknown']);
    assert.ok(outcome.at < 205, `${outcome.at}`);
    assert.equal((await lab.run(first)).error, undefined);
    assert.equal(lab.bridge.blocks.i2cs.get('i2c0')!.clocked, 1);
  });
});

describe('limits and the speed of the link', () => {
  it('64 KiB both ways need no longer than twice what a byte is said to take, at every step of the ladder', async () => {
    for (const [khz, transactionBytes] of [
      [8_000, 256],
      [4_000, 256],
      [2_000, 256],
      [1_000, 256],
      [1_000, 128],
    ] as const) {
      await using lab = await openLab({ board: BOARD, host: { khz, transactionBytes } });
      const busMs = (65_536 * 8) / 8_000;
      const deadlineMs = Math.ceil(2 * busMs + 100 + (2 * lab.host.byteUs * 2 * 65_536) / 1_000);
      const outcome = await lab.run(ended(lab, ['spi0', 1, spix(8_000_000, 65_536)], { deadlineMs }), 60_000);
      assert.equal(outcome.error, undefined, `${khz} kHz: ${outcome.error?.message} after ${outcome.at} ms`);
      assert.ok(outcome.at < deadlineMs / 1.5, `${khz} kHz: ${outcome.at} of ${deadlineMs} ms`);
    }
  });

  it('tells who uses its endpoints what a byte takes now', async () => {
    await using lab = await openLab({ board: BOARD });
    const speeds: number[] = [];
    using _told = lab.source.onState((state) => {
      if (state.state === 'up') speeds.push(state.endpoints[0]?.byteUs ?? 0);
    });
    const fast = lab.host.byteUs;
    lab.faults = { bitErrorRate: 0.0002 };
    while (lab.host.link.khz > 1_000)
      await lab.run(
        lab.io.gpioRead('gpio0', 1).catch(() => 0),
        60_000,
      );
    assert.equal(speeds[0], fast);
    assert.ok(speeds.at(-1)! > 4 * fast, speeds.join(' '));
  });
});

describe('any mix of requests, limits and callers', () => {
  const one = fc.record({
    work: fc.integer({ min: 0, max: WORK.length - 1 }),
    after: fc.integer({ min: 0, max: 400 }),
    deadlineMs: fc.integer({ min: 60, max: 2_000 }),
    callerMs: fc.option(fc.integer({ min: 1, max: 3_000 }), { nil: undefined }),
    abortAfter: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
  });

  it('each is answered once, no caller waits longer than it said, and none is executed of which that is denied', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { minLength: 1, maxLength: 30 }),
        fc.constantFrom(0, 20, 300),
        async (requests, slowMs) => {
          await using lab = await openLab({ board: BOARD });
          for (const [label] of WORK) lab.bridge.endpoint(label)!.slowMs = slowMs;
          const claims = { yes: 0, unknown: 0, no: 0 };
          const all = requests.map(async ({ work, after, deadlineMs, callerMs, abortAfter }) => {
            await lab.clock.sleep(after);
            const stop = new AbortController();
            if (abortAfter !== undefined) lab.clock.after(abortAfter, () => stop.abort());
            const options = { deadlineMs, signal: stop.signal, ...(callerMs === undefined ? {} : { callerMs }) };
            const outcome = await ended(lab, WORK[work]!, options);
            if (callerMs !== undefined) assert.ok(outcome.at <= callerMs + 155, `${outcome.at} of ${callerMs} ms`);
            const executed = outcome.error ? (outcome.error.details.executed as keyof typeof claims) : 'yes';
            if (WORK[work]![0] === 'i2c0') claims[executed]++;
            else assert.ok(executed in claims);
          });
          await lab.run(Promise.all(all), 600_000);
          assert.equal(lab.host.link.statistics.resets, 0);
          await lab.clock.advance(6_000);
          for (const { inFlight } of lab.bridge.endpoints) assert.equal(inFlight, 0);
          const { clocked } = lab.bridge.blocks.i2cs.get('i2c0')!;
          assert.ok(
            clocked >= claims.yes && clocked <= claims.yes + claims.unknown,
            JSON.stringify({ clocked, claims }),
          );
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
