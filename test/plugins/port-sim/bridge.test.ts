import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '@device-core/plugin-api/testing';
import { FRAME, PayloadWriter } from '../../../plugins/hardware/cbp/frame.ts';
import { HELLO_LENGTH, NO_FIRMWARE, readHello, writeHello } from '../../../plugins/hardware/cbp/hello.ts';
import { openPacket, type Packet, type PacketHead, sealPacket } from '../../../plugins/hardware/cbp/packet.ts';
import { checkBoard } from '../../../plugins/hardware/port-sim/sim/board.ts';
import { Bridge } from '../../../plugins/hardware/port-sim/sim/bridge.ts';
import { LAB_BOARD } from '../../fixtures/bridge-lab.ts';

const NONCE = 0xc0de_5a17;
const SID = 0x5a17;

/** A bridge, spoken to packet by packet. */
class Bare {
  readonly bridge = new Bridge(checkBoard(LAB_BOARD, 'bare'), { clock: new VirtualClock(), bootId: 1 });
  #seq = 0;

  exchange(head: Partial<PacketHead>, write: (out: PayloadWriter) => void = () => undefined, n = 256): Packet {
    const back = Buffer.alloc(n);
    back.set(this.bridge.responder.begin());
    const out = new PayloadWriter(n - 12);
    write(out);
    const all = { data: false, more: false, rst: false, seq: 0, ack: 0, sid: 0, ...head };
    this.bridge.responder.finish(sealPacket(all, out.payload(), n));
    const packet = openPacket(back);
    assert.ok(typeof packet === 'object');
    return packet;
  }

  hello(nonce = NONCE): Packet {
    return this.exchange(
      { rst: true },
      (out) => {
        const body = out.frame({ type: FRAME.HELLO, ep: 0, rid: 0, op: 1 }, HELLO_LENGTH);
        const limits = { n: 256, window: 8, rxReorder: 0, gapUs: 0, ackDelay: 1, endpoints: 0 };
        const rest = { heartbeatMs: 1000, khz: 8000, bootId: 5, tableCrc: 0, firmware: NO_FIRMWARE };
        writeHello({ nonce, ...limits, ...rest }, body);
      },
      64,
    );
  }

  data(write: (out: PayloadWriter) => void): Packet {
    return this.exchange({ data: true, seq: this.#seq++, sid: SID }, write);
  }

  up(): this {
    this.hello();
    this.hello();
    this.exchange({ sid: SID });
    assert.equal(this.bridge.responder.state, 'up');
    return this;
  }

  request(rid: number, body: number, announced = body): void {
    this.data((out) => {
      const bytes = out.frame({ type: FRAME.REQ, fin: body === announced, ep: 3, rid, op: 1 }, 8 + body);
      bytes.writeUInt32LE(announced, 0);
      // A transfer that could run: 8-bit words, 125 kHz, so many bytes.
      bytes[8 + 2] = 8;
      bytes.writeUInt32LE(125_000, 8 + 4);
      bytes.writeUInt32LE(announced, 8 + 8);
    });
  }
}

describe('responder of the simulated bridge', () => {
  it('sends empty packets outside a session and keeps its data-ready line high until it is greeted', () => {
    const bare = new Bare();
    const packet = bare.exchange({}, undefined, 64);
    assert.deepEqual([packet.rst, packet.data, packet.sid, packet.frames.length], [true, false, 0, 0]);
    assert.equal(bare.bridge.responder.dataReady, true);
  });

  it('believes the second HELLO with one nonce, not the first', () => {
    const bare = new Bare();
    bare.hello(1);
    bare.hello(NONCE);
    assert.equal(bare.bridge.responder.state, 'boot');
    bare.hello(NONCE);
    assert.equal(bare.bridge.responder.state, 'acking');
    const answer = bare.exchange({}, undefined, 64);
    assert.equal(readHello(answer.frames[0]!.body)?.nonce, NONCE);
    assert.equal(bare.bridge.responder.sid, SID);
  });

  it('ignores a replay of the HELLO of its own session, and one that stands alone', () => {
    const bare = new Bare().up();
    bare.hello(NONCE);
    bare.hello(NONCE);
    bare.hello(77);
    bare.exchange({ sid: SID });
    bare.hello(77);
    bare.exchange({ sid: SID });
    assert.equal(bare.bridge.responder.state, 'up');
  });

  it('executes nothing of a packet that comes twice, or with a number ahead', () => {
    const bare = new Bare().up();
    const write = (out: PayloadWriter) =>
      void out.frame({ type: FRAME.REQ, fin: true, ep: 1, rid: 1, op: 1 }, 12).writeUInt32LE(4, 0);
    bare.exchange({ data: true, seq: 5, sid: SID }, write);
    assert.equal(bare.bridge.endpoint('gpio0')!.counts.requests, 0);
    for (let index = 0; index < 3; index++) bare.exchange({ data: true, seq: 0, sid: SID }, write);
    assert.equal(bare.bridge.endpoint('gpio0')!.counts.requests, 1);
    assert.equal(bare.bridge.responder.state, 'up');
  });

  const violations: readonly [string, (bare: Bare) => void][] = [
    [
      'more bytes than its ring holds',
      (bare) => {
        bare.request(1, 200, 60_000);
        for (let index = 1; index < 6; index++) {
          bare.data((out) => void out.frame({ type: FRAME.DATA, ep: 3, rid: 1, aux: index }, 220));
        }
      },
    ],
    ['more request bytes than announced', (bare) => bare.request(1, 30, 20)],
    [
      'a fragment out of order',
      (bare) => {
        bare.request(1, 20, 60);
        bare.data((out) => void out.frame({ type: FRAME.DATA, ep: 3, rid: 1, aux: 2 }, 20));
      },
    ],
    [
      'a request inside another one',
      (bare) => {
        bare.request(1, 20, 60);
        bare.request(2, 20);
      },
    ],
    [
      'an endpoint that is not there',
      (bare) => void bare.data((out) => void out.frame({ type: FRAME.REQ, ep: 40, rid: 1 }, 8)),
    ],
    ['an answer', (bare) => void bare.data((out) => void out.frame({ type: FRAME.RSP, ep: 1, rid: 1 }, 4))],
  ];
  for (const [title, break_] of violations) {
    it(`leaves the session when the host sends ${title}`, () => {
      const bare = new Bare().up();
      break_(bare);
      assert.equal(bare.bridge.responder.state, 'boot');
      assert.equal(bare.bridge.responder.counts.violations, 1);
    });
  }

  it('answers BUSY beyond its limit and goes on', () => {
    const bare = new Bare().up();
    bare.request(1, 100, 600);
    bare.exchange({ sid: SID });
    assert.equal(bare.bridge.endpoint('spi1')!.inFlight, 1);
    const limit = bare.bridge.endpoint('gpio0')!.description.maxInflight;
    bare.data((out) => {
      for (let rid = 1; rid <= limit + 1; rid++) {
        out.frame({ type: FRAME.REQ, fin: true, ep: 1, rid, op: 1 }, 12).writeUInt32LE(4, 0);
      }
    });
    const statuses = [...bare.exchange({ sid: SID }).frames, ...bare.exchange({ sid: SID, ack: 1 }).frames]
      .filter(({ type, ep }) => type === FRAME.RSP && ep === 1)
      .map(({ rid, op }) => [rid, op]);
    assert.deepEqual(statuses[0], [limit + 1, 6]);
  });
});
