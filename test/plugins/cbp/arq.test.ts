import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Arq } from '../../../plugins/hardware/cbp/arq.ts';

const payload = (value: number) => Uint8Array.of(value);

function sent(arq: Arq, ...values: number[]): void {
  for (const value of values) {
    arq.push(payload(value));
    assert.equal(arq.take(0)?.[0], value);
  }
}

describe('go-back-N', () => {
  it('sends again from the oldest when a later transaction does not acknowledge it', () => {
    const arq = new Arq(8, 1);
    sent(arq, 1);
    arq.acknowledge(0);
    assert.equal(arq.pending, false, 'the packet of the same transaction cannot know');
    arq.tick();
    sent(arq, 2);
    arq.acknowledge(0);
    assert.deepEqual([arq.take(0)?.[0], arq.take(0)?.[0], arq.take(0)], [1, 2, undefined]);
    assert.equal(arq.retransmissions, 2);
  });

  it('waits a transaction longer for a peer that pipelines', () => {
    const arq = new Arq(8, 2);
    sent(arq, 1);
    arq.tick();
    arq.acknowledge(0);
    assert.equal(arq.pending, false);
    arq.tick();
    arq.acknowledge(0);
    assert.equal(arq.pending, true);
  });

  it('ignores a stale acknowledgement, for losses as well', () => {
    const arq = new Arq(8, 1);
    sent(arq, 1, 2);
    arq.acknowledge(2);
    sent(arq, 3);
    arq.tick();
    arq.tick();
    arq.acknowledge(1);
    assert.equal(arq.pending, false);
    assert.equal(arq.unacked, 1);
  });

  it('closes at its window and opens with an acknowledgement', () => {
    const arq = new Arq(2, 1);
    sent(arq, 1, 2);
    assert.equal(arq.open, false);
    assert.throws(() => arq.push(payload(3)), RangeError);
    arq.acknowledge(1);
    assert.equal(arq.open, true);
  });

  it('tells new, repeated and early packets apart across the wrap of the counter', () => {
    const arq = new Arq(8, 1);
    for (let seq = 0; seq < 600; seq++) {
      assert.equal(arq.accept((seq + 1) & 0xff), 'ahead');
      assert.equal(arq.accept(seq & 0xff), 'new');
      assert.equal(arq.accept(seq & 0xff), 'duplicate');
      if (seq >= 8) assert.equal(arq.accept((seq - 7) & 0xff), 'duplicate');
    }
    assert.equal(arq.ack, 600 & 0xff);
  });
});
