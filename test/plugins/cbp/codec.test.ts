import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FRAME_HEAD, PayloadWriter } from '../../../plugins/hardware/cbp/frame.ts';
import { openPacket, PACKET_OVERHEAD, sealPacket, TRANSACTION_SIZES } from '../../../plugins/hardware/cbp/packet.ts';
import { decodePacket, encodeFrame, encodePacket } from '../../../plugins/hardware/port-sim/sim/wire-format.ts';
import { runs } from '../../fixtures/runs.ts';

const byte = fc.integer({ min: 0, max: 255 });
const frame = fc.record({
  type: fc.integer({ min: 1, max: 15 }),
  fin: fc.boolean(),
  ep: byte,
  rid: fc.integer({ min: 0, max: 65_535 }),
  op: byte,
  aux: byte,
  body: fc.uint8Array({ maxLength: 40 }),
});
const head = fc.record({
  data: fc.boolean(),
  more: fc.boolean(),
  rst: fc.boolean(),
  seq: byte,
  ack: byte,
  sid: fc.integer({ min: 0, max: 65_535 }),
});
const size = fc.constantFrom(...TRANSACTION_SIZES);

function fill(n: number, frames: readonly { body: Uint8Array }[]): typeof frames {
  let room = n - PACKET_OVERHEAD;
  return frames.filter(({ body }) => {
    const need = FRAME_HEAD + body.length;
    if (need > room) return false;
    room -= need;
    return true;
  });
}

describe('codec', () => {
  it('reads back what it has written, and so does the other implementation', () => {
    fc.assert(
      fc.property(size, head, fc.array(frame, { maxLength: 12 }), (n, packetHead, all) => {
        const frames = fill(n, all) as typeof all;
        const out = new PayloadWriter(n - PACKET_OVERHEAD);
        for (const item of frames) out.frame(item, item.body.length).set(item.body);
        const bytes = sealPacket(packetHead, out.payload(), n);
        assert.equal(bytes.length, n);

        const opened = openPacket(bytes);
        assert.ok(typeof opened === 'object');
        const { frames: read, ...rest } = opened;
        assert.deepEqual(rest, { ...packetHead });
        assert.deepEqual(
          read.map((item) => ({ ...item, body: [...item.body] })),
          frames.map((item) => ({ ...item, body: [...item.body] })),
        );

        const other = decodePacket(bytes);
        assert.ok(other.ok);
        assert.deepEqual(
          other.frames.map((item) => [item.type, item.fin, item.endpoint, item.rid, item.code, item.fragment]),
          frames.map((item) => [item.type, item.fin, item.ep, item.rid, item.op, item.aux]),
        );
        const again = encodePacket({ ...other.packet, payload: Buffer.concat(other.frames.map(encodeFrame)) });
        assert.deepEqual(Buffer.from(again), bytes.subarray(0, again.length));
      }),
      { numRuns: runs(300) },
    );
  });

  it('takes no packet with flipped bits for another one', () => {
    fc.assert(
      fc.property(
        size,
        head,
        fc.uint8Array({ maxLength: 52 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
        (n, h, body, flips) => {
          const bytes = sealPacket(h, Uint8Array.of(0, ...body.subarray(1)), n);
          const covered = 8 * (PACKET_OVERHEAD + Math.max(1, body.length));
          const damaged = Buffer.from(bytes);
          for (const flip of new Set(flips.map((value) => value % covered))) damaged[flip >> 3]! ^= 1 << (flip & 7);
          assert.equal(typeof openPacket(damaged), 'string');
          assert.equal(decodePacket(damaged).ok, false);
        },
      ),
      { numRuns: runs(300) },
    );
  });

  it('agrees with the other implementation about any bytes at all', () => {
    const sealed = fc.tuple(head, fc.uint8Array({ maxLength: 52 })).map(([h, payload]) => sealPacket(h, payload, 64));
    fc.assert(
      fc.property(fc.oneof(sealed, fc.uint8Array({ minLength: 0, maxLength: 64 })), (bytes) => {
        const ours = openPacket(bytes);
        const theirs = decodePacket(bytes);
        assert.equal(theirs.ok ? 'packet' : theirs.reason, typeof ours === 'object' ? 'packet' : ours);
      }),
      { numRuns: runs(500) },
    );
  });
});
