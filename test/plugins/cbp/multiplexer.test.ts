import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '@device-core/plugin-api/testing';
import { noCounts } from '../../../plugins/hardware/cbp/channel.ts';
import { CLASS, type Descriptor } from '../../../plugins/hardware/cbp/descriptor.ts';
import { FRAME, type Frame, parseFrames } from '../../../plugins/hardware/cbp/frame.ts';
import { Multiplexer, type WireEvent } from '../../../plugins/hardware/cbp/multiplexer.ts';
import { ProtocolError } from '../../../plugins/hardware/cbp/protocol-error.ts';
import { STATUS } from '../../../plugins/hardware/cbp/status.ts';

const BUS: Descriptor = {
  ep: 3,
  class: CLASS.SPIX,
  version: { major: 1, minor: 0 },
  priority: 3,
  maxInflight: 2,
  flags: 0,
  rxWindow: 256,
  eventQueue: 0,
  maxTransfer: 4096,
};

function open(descriptor: Descriptor = BUS) {
  const clock = new VirtualClock();
  const events: WireEvent[] = [];
  const breaches: string[] = [];
  const frames = new Multiplexer({
    clock,
    wake: () => undefined,
    breach: (reason) => void breaches.push(reason),
    pong: () => undefined,
    goAway: () => undefined,
    event: (event) => void events.push(event),
    countsOf: () => noCounts(),
  });
  frames.add(descriptor);
  const channel = frames.channel(descriptor.ep)!;
  const submit = (body = new Uint8Array(4), patienceMs = 1000) =>
    channel.submit({ op: 1, body, deadlineMs: 0, patienceMs, answerLimit: 64 });
  /** The frames of the next packet. */
  const next = (capacity = 244): readonly Frame[] => parseFrames(frames.build(capacity))!;
  return { clock, frames, channel, events, breaches, submit, next };
}

function frame(type: number, values: Partial<Frame> = {}): Frame {
  return { type, fin: true, ep: 3, rid: 1, op: 0, aux: 0, body: new Uint8Array(4), ...values };
}

const tlen = (length: number, ...data: number[]) => Uint8Array.of(length, 0, 0, 0, ...data);

describe('frames of a session', () => {
  const breaches: readonly [string, readonly Partial<Frame>[]][] = [
    ['an answer to a request that is not open', [{ type: FRAME.RSP, rid: 9 }]],
    ['an answer of an endpoint that is not there', [{ type: FRAME.RSP, ep: 77 }]],
    ['data before the head of the answer', [{ type: FRAME.DATA, aux: 0 }]],
    ['an answer whose head is too short', [{ type: FRAME.RSP, body: new Uint8Array(3) }]],
    ['more bytes than announced', [{ type: FRAME.RSP, body: tlen(1, 1, 2) }]],
    ['an answer beyond what was set aside', [{ type: FRAME.RSP, body: tlen(200), fin: false }]],
    [
      'a fragment left out',
      [
        { type: FRAME.RSP, fin: false, body: tlen(4) },
        { type: FRAME.DATA, aux: 2 },
      ],
    ],
    [
      'a second head',
      [
        { type: FRAME.RSP, fin: false, body: tlen(4) },
        { type: FRAME.RSP, aux: 1, body: tlen(4) },
      ],
    ],
    ['a request from the bridge', [{ type: FRAME.REQ }]],
    ['a CANCEL from the bridge', [{ type: FRAME.CANCEL }]],
    ['HELLO inside a session', [{ type: FRAME.HELLO }]],
    ['a CREDIT that is too short', [{ type: FRAME.CREDIT, body: new Uint8Array(2) }]],
    ['an event without its head', [{ type: FRAME.EVT, body: new Uint8Array(4) }]],
  ];
  for (const [title, list] of breaches) {
    it(`takes ${title} for a protocol error`, () => {
      const { frames, submit, next } = open();
      submit();
      next();
      assert.throws(() => {
        for (const { type, ...values } of list) frames.receive(frame(type!, values));
      }, ProtocolError);
    });
  }

  it('skips extensions that it does not know', () => {
    const { frames } = open();
    for (let type = 12; type <= 15; type++) frames.receive(frame(type, { ep: 200 }));
  });

  it('answers a PING with its token', () => {
    const { frames, next } = open();
    frames.receive(frame(FRAME.PING, { ep: 0, body: Uint8Array.of(7, 0, 0, 0, 1, 1, 1, 1) }));
    const [pong] = next();
    assert.deepEqual([pong?.type, pong?.body[0], pong?.body.length], [FRAME.PONG, 7, 8]);
  });

  it('takes events before it knows the endpoint, and pays for them', () => {
    const { frames, events, next } = open();
    const body = Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0, ...new Uint8Array(500));
    for (let index = 0; index < 4; index++) frames.receive(frame(FRAME.EVT, { ep: 50, op: 0x80, body }));
    assert.equal(events.length, 4);
    assert.deepEqual([events[0]!.timestampUs, events[0]!.lost, events[0]!.data.length], [1, 2, 500]);
    const credits = next().filter(({ type }) => type === FRAME.CREDIT);
    assert.deepEqual(
      credits.map(({ ep, op }) => [ep, op]),
      [[50, 1]],
      'one CREDIT, the newest',
    );
  });

  it('cuts a request when the packet is built, within the credit, and goes on when more is granted', () => {
    const { frames, submit, next, channel } = open();
    submit(new Uint8Array(400));
    const first = next(52);
    assert.deepEqual(
      first.map(({ type, aux, fin, body }) => [type, aux, fin, body.length]),
      [[FRAME.REQ, 0, false, 44]],
    );
    const sent = [...first, ...next(52), ...next(52), ...next(52), ...next(52), ...next(52)];
    assert.ok(sent.reduce((sum, { body }) => sum + 8 + body.length, 0) <= 256);
    assert.equal(channel.ready, false);
    frames.receive(frame(FRAME.CREDIT, { body: Uint8Array.of(0, 2, 0, 0) }));
    const rest = [...next(), ...next()];
    assert.equal(rest.at(-1)?.fin, true);
    const all = [...sent, ...rest];
    assert.equal(
      all.reduce((sum, { body }) => sum + body.length, 0),
      8 + 400,
    );
    assert.deepEqual(
      all.map(({ aux }) => aux),
      all.map((_, index) => index),
    );
  });

  it('stops sending a request that is answered early', async () => {
    const { frames, submit, next } = open();
    const request = submit(new Uint8Array(2000));
    next();
    frames.receive(frame(FRAME.RSP, { op: STATUS.TOO_BIG, body: tlen(0) }));
    assert.equal((await request.outcome).status, STATUS.TOO_BIG);
    assert.deepEqual(next(), []);
  });

  it('repeats a request once after BUSY, when another has ended', async () => {
    const { frames, submit, next } = open();
    const [long, refused] = [submit(), submit()];
    assert.deepEqual(
      next().map(({ rid }) => rid),
      [1, 2],
    );
    frames.receive(frame(FRAME.RSP, { rid: 2, op: STATUS.BUSY, body: tlen(0) }));
    assert.deepEqual(next(), [], 'not at once');
    frames.receive(frame(FRAME.RSP, { rid: 1, body: tlen(0) }));
    assert.equal((await long.outcome).status, STATUS.OK);
    assert.deepEqual(
      next().map(({ rid }) => rid),
      [3],
    );
    frames.receive(frame(FRAME.RSP, { rid: 3, op: STATUS.BUSY, body: tlen(0) }));
    assert.equal((await refused.outcome).status, STATUS.BUSY);
  });

  it('tells the caller of a time-out, sends CANCEL, and counts the late answer', async () => {
    const { clock, frames, submit, next, channel } = open();
    const request = submit(new Uint8Array(4), 100);
    next();
    await clock.advance(351);
    assert.equal((await request.outcome).status, STATUS.TIMEOUT);
    const [cancel] = next();
    assert.deepEqual([cancel?.type, cancel?.rid, cancel?.op], [FRAME.CANCEL, 1, 1]);
    assert.equal(channel.inFlight, 1, 'its id stays taken');
    frames.receive(frame(FRAME.RSP, { body: tlen(0) }));
    assert.deepEqual([channel.inFlight, channel.counts.lateAnswers], [0, 1]);
  });

  it('ends a session whose bridge never answers a cancelled request', async () => {
    const { clock, submit, next, breaches } = open();
    submit(new Uint8Array(4), 100);
    next();
    await clock.advance(6000);
    assert.equal(breaches.length, 1);
  });

  it('ends everything with the status of the reset', async () => {
    const { frames, submit, next } = open();
    const requests = [submit(), submit(), submit()];
    next();
    frames.end(STATUS.LINK_RESET);
    for (const request of requests) assert.equal((await request.outcome).status, STATUS.LINK_RESET);
    assert.deepEqual(next(), []);
  });
});
