import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readGreeting, writeWelcome } from '../../../plugins/hardware/port-sim/sim/greeting.ts';
import { decodePacket, encodeFrame, encodePacket } from '../../../plugins/hardware/port-sim/sim/wire-format.ts';

interface Vector {
  readonly name: string;
  readonly n: number;
  readonly full: string;
  readonly expect?: string;
}

const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../../fixtures/cbp-vectors.json', import.meta.url), 'utf8'),
);

describe('test vectors of the protocol, codec of the bridge', () => {
  for (const { name, n, full, expect } of VECTORS) {
    it(`${expect ? 'rejects' : 'reads and writes'} ${name}`, () => {
      const decoded = decodePacket(Buffer.from(full, 'hex'));
      if (!decoded.ok) {
        assert.equal(decoded.reason, expect);
        return;
      }
      assert.equal(expect, undefined);
      const bytes = encodePacket({ ...decoded.packet, payload: Buffer.concat(decoded.frames.map(encodeFrame)) });
      assert.equal(Buffer.concat([bytes, Buffer.alloc(n - bytes.length)]).toString('hex'), full);
    });
  }

  it('finds the values of V2 and writes the body of V3', () => {
    const [hello, welcome] = ['V2', 'V3'].map((id) => {
      const decoded = decodePacket(Buffer.from(VECTORS.find(({ name }) => name.startsWith(`${id} `))!.full, 'hex'));
      assert.ok(decoded.ok);
      return decoded.frames[0]!.body;
    });
    const greeting = { nonce: 0xc0de5a17, transactionBytes: 256, window: 8, ackDelay: 1, khz: 8000 };
    assert.deepEqual(readGreeting(hello!), greeting);
    const body = writeWelcome({
      nonce: 0xc0de5a17,
      transactionBytes: 256,
      window: 8,
      gapUs: 40,
      endpoints: 4,
      watchdogMs: 1000,
      khz: 8000,
      bootId: 42,
      tableCrc: 0x07bf79eb,
      firmware: [1, 2, 3, 1],
    });
    assert.deepEqual(Buffer.from(body), Buffer.from(welcome!));
  });
});
