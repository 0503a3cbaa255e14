/** Limits of the link on a board that is busy with others (decisions D12a): nobody is blamed for time in which the host could not run. */
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { after, describe, it } from 'node:test';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { Channel } from '../../../plugins/hardware/cbp/channel.ts';
import { SYS_DESCRIPTOR } from '../../../plugins/hardware/cbp/descriptor.ts';
import { PayloadWriter } from '../../../plugins/hardware/cbp/frame.ts';
import { firstAttempt } from '../../../plugins/hardware/cbp/link-watch.ts';
import { STATUS } from '../../../plugins/hardware/cbp/status.ts';
import { SimPort } from '../../../plugins/hardware/port-sim/port.ts';
import { KIND, writeMessage } from '../../../plugins/hardware/port-sim/sim/index.ts';
import { Lab, openLab } from '../../fixtures/bridge-lab.ts';

after(leakCheck());

/** Moves on timer by timer until `reached`. */
async function stepTo(lab: Lab, what: string, reached: () => boolean): Promise<void> {
  for (let step = 0; step < 10_000; step++) {
    if (reached()) return;
    await lab.clock.next();
  }
  assert.fail(`it did not come to this: ${what}`);
}

describe('a board that stands still', () => {
  const starts: readonly [string, (lab: Lab) => boolean, number][] = [
    [
      'between HELLO and its answer',
      ({ host, wire }) => host.link.phase === 'hello' && wire.counts.transactions > 0,
      3_000,
    ],
    ['while the endpoint table is read', ({ host }) => host.link.phase === 'up', 3_000],
  ];
  for (const [title, reached, ms] of starts) {
    it(`${title} has its link with the first session`, async () => {
      await using lab = new Lab();
      const first = firstAttempt(lab.host, 1_000);
      await stepTo(lab, title, () => reached(lab));
      lab.clock.starve(ms);
      await lab.run(first);
      assert.equal(lab.host.state, 'up', 'the start waited for it');
      assert.deepEqual(lab.states, ['hello the link has not been opened yet', 'up']);
    });
  }

  it('between PING and PONG keeps its session', async () => {
    await using lab = await openLab();
    const { sid, heartbeat } = lab.host.link.session!;
    const before = heartbeat.rttUs;
    const { due } = heartbeat;
    await stepTo(lab, 'a PING is due', () => lab.clock.monotonic() >= due);
    lab.clock.starve(4_000);
    await lab.clock.advance(2_000);
    assert.equal(lab.host.link.session?.sid, sid);
    assert.notEqual(heartbeat.rttUs, before);
  });

  it('while the wire is noisy for a moment keeps its session', async () => {
    await using lab = await openLab();
    const { sid } = lab.host.link.session!;
    lab.wire.silence(605);
    const read = lab.io.gpioRead('gpio0', 1);
    await stepTo(lab, 'a packet is lost', () => lab.host.link.statistics.bad > 0);
    lab.clock.starve(600);
    await lab.run(read);
    assert.equal(lab.host.link.session?.sid, sid);
  });

  it('longer than the limit of a transfer still gets its answer', async () => {
    await using lab = await openLab();
    const transfer = lab.io.spixTransfer('spi1', {
      cs: 0,
      mode: 0,
      speedHz: 125_000,
      tx: new Uint8Array(64),
      rxLength: 64,
    });
    await lab.clock.advance(1);
    lab.clock.starve(1_500);
    assert.equal((await lab.run(transfer)).length, 64);
  });
});

describe('a bridge that does not answer a request of 1,000 ms and its margin', () => {
  for (const [title, busy, ms] of [
    ['on an idle board', 0, 1_250],
    ['on one that is busy half of the time', 0.5, 2_500],
    ['on one that does nothing else', 1, 7_500],
  ] as const) {
    it(`is found ${title} after ${ms} ms`, async () => {
      const clock = new VirtualClock();
      clock.busy = busy;
      const link = { clock, recalls: true, wake: () => undefined, cancel: () => undefined, breach: () => undefined };
      const channel = new Channel(SYS_DESCRIPTOR, link);
      const { outcome } = channel.submit({
        op: 1,
        body: new Uint8Array(4),
        deadlineMs: 0,
        patienceMs: 1_000,
        answerLimit: 64,
      });
      channel.cut(new PayloadWriter(256), 256);
      assert.equal((await clock.until(outcome)).status, STATUS.TIMEOUT);
      assert.ok(Math.abs(clock.monotonic() - ms) <= 2, `${clock.monotonic()} ms`);
    });
  }
});

describe('a transaction with the simulator', () => {
  /** The other end of its socket, for the test to write to. */
  function openPort() {
    const clock = new VirtualClock();
    const port = new SimPort('sim', 1_000, clock);
    const socket = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });
    port.attach(socket as never);
    return {
      clock,
      port,
      answer: (tag: number) => void socket.push(writeMessage(KIND.result, false, tag, Uint8Array.of(7))),
    };
  }

  it('gets the answer that lay ready when a starved loop came back', async () => {
    const { clock, port, answer } = openPort();
    using _port = port;
    const rx = port.transact(new Uint8Array(64));
    clock.starve(3_000);
    await clock.advance(10);
    answer(1);
    assert.deepEqual([...(await clock.until(rx))], [7]);
  });

  it('is over after its limit, or six times that where the board does nothing else', async () => {
    for (const [busy, ms] of [
      [0, 1_000],
      [1, 6_000],
    ] as const) {
      const { clock, port } = openPort();
      using _port = port;
      clock.busy = busy;
      await assert.rejects(clock.until(port.transact(new Uint8Array(64))), { code: 'TIMEOUT' });
      assert.ok(Math.abs(clock.monotonic() - ms) <= 2, `${clock.monotonic()} ms`);
    }
  });
});
