import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventCredit, SendCredit } from '../../../plugins/hardware/cbp/credit.ts';
import { FRAME, FRAME_HEAD, PayloadWriter } from '../../../plugins/hardware/cbp/frame.ts';
import { Scheduler, type Source } from '../../../plugins/hardware/cbp/scheduler.ts';

/** An endpoint with so many bytes left, in frames of at most `most` body bytes. */
class Backlog implements Source {
  served = 0;
  left: number;
  readonly most: number;

  constructor(left: number, most = Number.POSITIVE_INFINITY) {
    this.left = left;
    this.most = most;
  }

  get ready(): boolean {
    return this.left > 0;
  }

  cut(out: PayloadWriter, room: number): number {
    const count = Math.min(this.left, room - FRAME_HEAD, this.most);
    if (count < Math.min(16, this.left)) return 0;
    out.frame({ type: FRAME.DATA, ep: 1, rid: 1 }, count);
    this.left -= count;
    this.served += count;
    return FRAME_HEAD + count;
  }
}

function packets(scheduler: Scheduler, count: number, capacity: number): void {
  for (let index = 0; index < count; index++) scheduler.fill(new PayloadWriter(capacity));
}

describe('scheduler', () => {
  it('puts a waiting interactive frame into the next packet beside any backlog', () => {
    const scheduler = new Scheduler();
    const bulk = new Backlog(1e6);
    const gpio = new Backlog(16);
    scheduler.add(3, bulk);
    scheduler.add(1, gpio);
    packets(scheduler, 1, 244);
    assert.equal(gpio.left, 0);
    assert.ok(bulk.served > 150, 'and gives the rest of it to the backlog');
  });

  it('leaves a quarter to a lower class, and gives it away when that class is idle', () => {
    const scheduler = new Scheduler();
    const high = new Backlog(1e6);
    const low = new Backlog(1e6);
    scheduler.add(1, high);
    packets(scheduler, 1, 244);
    assert.equal(high.served, 244 - FRAME_HEAD);
    scheduler.add(3, low);
    packets(scheduler, 10, 244);
    assert.ok(low.served >= 10 * (61 - FRAME_HEAD));
  });

  for (const capacity of [52, 116, 244, 1012]) {
    it(`treats endpoints of one class alike in packets of ${capacity} bytes`, () => {
      const scheduler = new Scheduler();
      const sources = Array.from({ length: 5 }, () => new Backlog(1e6));
      for (const source of sources) scheduler.add(3, source);
      packets(scheduler, 500, capacity);
      const shares = sources.map(({ served }) => served);
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 2 * capacity, shares.join(' '));
    });
  }

  it('starves no request that never fits behind the others', () => {
    const scheduler = new Scheduler();
    const first = new Backlog(1e6, 40);
    const second = new Backlog(1e6, 44);
    scheduler.add(3, first);
    scheduler.add(3, second);
    packets(scheduler, 100, 52);
    assert.ok(first.served > 1000 && second.served > 1000, `${first.served} ${second.served}`);
  });
});

describe('credit', () => {
  it('counts frame heads and goes by absolute limits', () => {
    const credit = new SendCredit(64);
    assert.equal(credit.room, 56);
    credit.spend(56);
    assert.equal(credit.room, -8);
    credit.grant(96);
    assert.equal(credit.room, 24);
    credit.grant(80);
    assert.equal(credit.room, 24, 'an older grant changes nothing');
    assert.equal(credit.peak, 64);
  });

  it('goes on across 2^32', () => {
    const credit = new SendCredit(1024);
    let consumed = 0;
    for (let index = 0; index < 70; index++) {
      consumed += 1024;
      credit.grant((consumed + 1024) >>> 0);
    }
    const huge = new SendCredit(0xffff);
    let limit = 0xffff;
    for (let index = 0; index < 70_000; index++) {
      huge.spend(0xffff - FRAME_HEAD);
      limit = (limit + 0xffff) >>> 0;
      huge.grant(limit);
      assert.equal(huge.room, 0xffff - FRAME_HEAD);
    }
  });

  it('grows the event credit by quarters', () => {
    const credit = new EventCredit();
    const grants = Array.from({ length: 40 }, () => {
      credit.consume(92);
      return credit.grant();
    }).filter((limit) => limit !== undefined);
    assert.deepEqual(grants, [4096 + 1100, 4096 + 2200, 4096 + 3300]);
  });
});
