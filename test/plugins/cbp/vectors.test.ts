import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { readDescriptors } from '../../../plugins/hardware/cbp/descriptor.ts';
import { FRAME, PayloadWriter } from '../../../plugins/hardware/cbp/frame.ts';
import { HELLO_LENGTH, readHello, writeHello } from '../../../plugins/hardware/cbp/hello.ts';
import { openPacket, PACKET_OVERHEAD, type Packet, sealPacket } from '../../../plugins/hardware/cbp/packet.ts';
import { STATUS } from '../../../plugins/hardware/cbp/status.ts';
import { transferBody } from '../../../plugins/hardware/spi/messages.ts';

interface Vector {
  readonly name: string;
  readonly n: number;
  readonly full: string;
  readonly expect?: string;
}

const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../../fixtures/cbp-vectors.json', import.meta.url), 'utf8'),
);

function vector(id: string): Vector {
  return VECTORS.find(({ name }) => name.startsWith(`${id} `))!;
}

function packet(id: string): Packet {
  const opened = openPacket(Buffer.from(vector(id).full, 'hex'));
  assert.ok(typeof opened === 'object', `${id} is rejected: ${String(opened)}`);
  return opened;
}

describe('test vectors of the protocol, host codec', () => {
  for (const { name, n, full, expect } of VECTORS) {
    if (expect) {
      it(`rejects ${name}`, () => assert.equal(openPacket(Buffer.from(full, 'hex')), expect));
    } else {
      it(`reads ${name} and writes the same bytes`, () => {
        const opened = openPacket(Buffer.from(full, 'hex'));
        assert.ok(typeof opened === 'object');
        const out = new PayloadWriter(n - PACKET_OVERHEAD);
        for (const frame of opened.frames) out.frame(frame, frame.body.length).set(frame.body);
        assert.equal(sealPacket(opened, out.payload(), n).toString('hex'), full);
      });
    }
  }

  it('covers every vector of the draft', () => assert.equal(VECTORS.length, 15));

  it('finds the values of HELLO and HELLO_ACK', () => {
    const hello = packet('V2').frames[0]!;
    assert.deepEqual([hello.type, hello.op], [FRAME.HELLO, 1]);
    const { nonce, n, window, heartbeatMs, khz } = readHello(hello.body)!;
    assert.deepEqual([nonce, n, window, heartbeatMs, khz], [0xc0de5a17, 256, 8, 100, 8000]);
    const answer = readHello(packet('V3').frames[0]!.body)!;
    assert.deepEqual([answer.gapUs, answer.ackDelay, answer.endpoints, answer.tableCrc], [40, 1, 4, 0x07bf79eb]);
    assert.deepEqual(answer.firmware, { major: 1, minor: 2, patch: 3, reset: 1 });
    const again = Buffer.alloc(HELLO_LENGTH);
    writeHello(answer, again);
    assert.deepEqual(again, Buffer.from(packet('V3').frames[0]!.body));
  });

  it('builds the SPIX body of V6', () => {
    const tx = Buffer.from('deadbeef', 'hex');
    const body = transferBody({ cs: 0, mode: 3, speedHz: 125_000, tx, rxLength: 4 });
    assert.deepEqual(body, Buffer.from(packet('V6').frames[0]!.body.subarray(8)));
  });

  it('finds three frames in V7', () => {
    const frames = packet('V7').frames;
    assert.deepEqual(
      frames.map(({ type, ep, op, fin }) => [type, ep, op, fin]),
      [
        [FRAME.CREDIT, 3, 0, true],
        [FRAME.EVT, 1, 0x80, true],
        [FRAME.DATA, 3, STATUS.IO_ERROR, true],
      ],
    );
  });

  it('reads the endpoint table of V10', () => {
    const table = packet('V10').frames[0]!.body.subarray(4);
    assert.equal(crc32(table), 0x07bf79eb);
    const rows = readDescriptors(table)!;
    assert.deepEqual(
      rows.map(({ ep, class: kind, priority, maxInflight, rxWindow, maxTransfer }) => [
        ep,
        kind,
        priority,
        maxInflight,
        rxWindow,
        maxTransfer,
      ]),
      [
        [0, 0, 1, 4, 512, 1024],
        [1, 1, 1, 8, 256, 64],
        [2, 2, 2, 4, 512, 4096],
        [3, 3, 3, 2, 1024, 65536],
      ],
    );
  });
});
