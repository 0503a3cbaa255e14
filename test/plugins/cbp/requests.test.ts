import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Lab, openLab } from '../../fixtures/bridge-lab.ts';
import type { SpixTransfer } from '../../fixtures/endpoint-client.ts';

const FAST: SpixTransfer = { cs: 0, mode: 0, speedHz: 8_000_000, tx: Uint8Array.of(1, 2, 3), rxLength: 3 };
const SLOW: SpixTransfer = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(4096), rxLength: 4096 };

async function failure(lab: Lab, work: Promise<unknown>): Promise<CoreError> {
  const error = await lab.run(
    work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  );
  assert.ok(error instanceof CoreError, 'it should have failed');
  return error;
}

describe('requests', () => {
  const refused: readonly [string, (lab: Lab) => Promise<unknown>, string][] = [
    ['a speed above that of the bus', (lab) => lab.io.spixTransfer('spi0', { ...FAST, speedHz: 9e6 }), 'BAD_SPEED'],
    ['a chip select that is not there', (lab) => lab.io.spixTransfer('spi0', { ...FAST, cs: 3 }), 'INVALID'],
    ['words of 16 bits', (lab) => lab.io.spixTransfer('spi0', { ...FAST, bitsPerWord: 16 }), 'UNSUPPORTED'],
    ['more than the longest transfer', (lab) => lab.io.spixTransfer('spi0', { ...FAST, rxLength: 65_537 }), 'TOO_BIG'],
    [
      'atomic beyond the buffer',
      (lab) => lab.io.spixTransfer('spi0', { ...FAST, atomic: true, rxLength: 8000 }),
      'TOO_BIG',
    ],
    ['an unknown operation', (lab) => lab.io.request('gpio0', 0x55, new Uint8Array(4)), 'UNSUPPORTED'],
    ['a body of the wrong length', (lab) => lab.io.request('gpio0', 1, new Uint8Array(3)), 'INVALID'],
    ['an endpoint that is not there', (lab) => lab.io.request('can7', 1, new Uint8Array(4)), 'NO_ENDPOINT'],
  ];
  for (const [title, work, status] of refused) {
    it(`answers ${title} with ${status}`, async () => {
      await using lab = await openLab();
      const error = await failure(lab, work(lab));
      assert.equal(error.code, 'BRIDGE_FAILED');
      assert.equal(error.details.status, status);
      assert.equal(await lab.run(lab.io.gpioRead('gpio0', 0)), 0, 'and goes on');
    });
  }

  it('carries the longest transfer both ways and takes up to the limit atomically', async () => {
    await using lab = await openLab();
    const tx = Buffer.alloc(65_536, 'cbp ');
    const rx = await lab.run(lab.io.spixTransfer('spi1', { ...FAST, tx, rxLength: tx.length }));
    assert.ok(tx.equals(rx));
    const atomic = { ...FAST, tx: tx.subarray(0, 2000), rxLength: 2000, atomic: true };
    assert.ok(tx.subarray(0, 2000).equals(await lab.run(lab.io.spixTransfer('spi1', atomic))));
  });

  const lengths: readonly [number, number][] = [
    [0, 0],
    [0, 5],
    [5, 0],
    [1, 1],
    [228, 229],
    [1000, 10],
    [10, 1000],
  ];
  for (const [sent, wanted] of lengths) {
    it(`sends ${sent} bytes, clocks in ${wanted}`, async () => {
      await using lab = await openLab();
      const tx = Uint8Array.from({ length: sent }, (_, index) => index + 1);
      const rx = await lab.run(lab.io.spixTransfer('spi1', { ...FAST, tx, rxLength: wanted }));
      assert.deepEqual(
        [...rx],
        Array.from({ length: wanted }, (_, index) => (index < sent ? (index + 1) & 0xff : 0)),
      );
    });
  }

  it('ends with TIMEOUT at its deadline and leaves the endpoint free', async () => {
    await using lab = await openLab();
    const from = lab.clock.now();
    const error = await failure(lab, lab.io.spixTransfer('spi1', SLOW, { deadlineMs: 50 }));
    assert.equal(error.code, 'TIMEOUT');
    assert.ok(lab.clock.now() - from < 60, `after ${lab.clock.now() - from} ms`);
    await lab.run(lab.io.spixTransfer('spi1', { ...SLOW, tx: new Uint8Array(8), rxLength: 8 }));
    assert.equal(lab.host.link.statistics.resets, 0);
  });

  it('times out on the host where the bridge says nothing', async () => {
    await using lab = await openLab();
    lab.wire.silence(100_000);
    const from = lab.clock.now();
    const error = await failure(lab, lab.io.gpioRead('gpio0', 1, { deadlineMs: 20 }));
    assert.ok(error.code === 'TIMEOUT' || error.details.status === 'LINK_RESET', error.message);
    assert.ok(lab.clock.now() - from <= 500);
  });

  it('cancels at once while the transfer runs', async () => {
    await using lab = await openLab();
    const stop = new AbortController();
    const work = failure(lab, lab.io.spixTransfer('spi1', SLOW, { signal: stop.signal }));
    await lab.clock.advance(30);
    const from = lab.clock.now();
    stop.abort();
    assert.equal((await work).code, 'CANCELLED');
    assert.ok(lab.clock.now() - from < 2, `after ${lab.clock.now() - from} ms`);
    await lab.clock.advance(10);
    assert.equal(lab.bridge.endpoint('spi1')!.inFlight, 0);
    await lab.run(lab.io.spixTransfer('spi1', { ...SLOW, tx: new Uint8Array(8), rxLength: 8 }));
  });

  it('cancels one that waits behind others without a word to the bridge', async () => {
    await using lab = await openLab();
    const running = Array.from({ length: 4 }, () => lab.io.spixTransfer('spi1', SLOW));
    const stop = new AbortController();
    const waiting = lab.io.spixTransfer('spi1', SLOW, { signal: stop.signal });
    const outcome = failure(lab, waiting);
    await lab.clock.advance(5);
    stop.abort();
    assert.equal((await outcome).code, 'CANCELLED');
    await lab.run(Promise.all(running));
    assert.equal(lab.bridge.endpoint('spi1')!.counts.requests, 4);
  });

  it('refuses one whose caller has given up already', async () => {
    await using lab = await openLab();
    const error = await failure(lab, lab.io.gpioRead('gpio0', 1, { signal: AbortSignal.abort() }));
    assert.equal(error.code, 'CANCELLED');
  });

  it('waits its turn where the endpoint takes only some at once', async () => {
    await using lab = await openLab();
    const work = Array.from({ length: 50 }, (_, index) =>
      lab.io.spixTransfer('spi1', { ...FAST, tx: Uint8Array.of(index), rxLength: 1 }),
    );
    const answers = await lab.run(Promise.all(work));
    assert.deepEqual(
      answers.map(([byte]) => byte),
      Array.from({ length: 50 }, (_, index) => index),
    );
  });

  it('refuses with BUSY when too many wait', async () => {
    await using lab = await openLab();
    const work = Array.from({ length: 256 }, () => lab.io.spixTransfer('spi1', FAST));
    const error = await failure(lab, lab.io.spixTransfer('spi1', FAST));
    assert.equal(error.code, 'BUSY');
    await lab.run(Promise.all(work));
  });

  it('drives and reads GPIO lines', async () => {
    await using lab = await openLab();
    const { io } = lab;
    for (const line of [0, 1]) await lab.run(io.gpioConfigure('gpio0', { line, direction: 'out' }));
    await lab.run(io.gpioWrite('gpio0', 0b11, 0b10));
    assert.equal(await lab.run(io.gpioRead('gpio0', 0xffff_ffff)), 0b10_0000_0010, 'line 1 is wired to line 9');
    lab.bridge.gpio('gpio0')!.drive(31, 1);
    assert.equal(await lab.run(io.gpioRead('gpio0', 0x8000_0000)), 0x8000_0000);
  });

  it('hands over events, grants credit for them and knows how many were lost', async () => {
    const events: number[] = [];
    let lost = 0;
    await using lab = await openLab({
      host: {
        event: ({ data, lost: gone }) => {
          events.push(data[1]!);
          lost += gone;
        },
      },
    });
    await lab.run(lab.io.gpioConfigure('gpio0', { line: 20, direction: 'in', edge: 'both' }));
    const gpio = lab.bridge.gpio('gpio0')!;
    for (let index = 0; index < 600; index++) {
      gpio.drive(20, (index + 1) % 2 === 1 ? 1 : 0);
      await lab.clock.advance(1);
    }
    assert.equal(events.length, 600, 'more than the initial credit of 4096 bytes');
    for (let index = 0; index < 100; index++) gpio.drive(20, index % 2 === 0 ? 1 : 0);
    await lab.clock.advance(5);
    gpio.drive(20, 1);
    await lab.clock.advance(5);
    assert.equal(events.length + lost, 701);
    assert.ok(lost > 0);
    const { gpio0 } = (await lab.service.health()).endpoints as Record<string, { lostEvents: number }>;
    assert.equal(gpio0!.lostEvents, lost);
  });
});
