/** The share of the event loop that an app has: counted by a meter of the test, on a clock of the test. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { MAX_JSON_VALUES, tooManyValues } from '../../../plugins/interface/shared/json-values.ts';
import { LoopShare, SHARE } from '../../../plugins/interface/shared/loop-share.ts';
import { LoopTurns } from '../../../plugins/interface/shared/loop-turns.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a share of the event loop', () => {
  it('is not charged for cheap turns', () => {
    const share = new LoopShare(() => 0);
    for (let n = 0; n < 10_000; n++) share.charge(SHARE.freeMs, 1);
    assert.equal(share.owedMs, 0);
  });

  it('waits for what dear turns took beyond its savings, and never longer than its bound', () => {
    let now = 0;
    const share = new LoopShare(() => now);
    share.charge(SHARE.freeMs + SHARE.savedMs, 1);
    assert.equal(share.owedMs, 0);
    share.charge(SHARE.freeMs + 10, 1);
    assert.equal(share.owedMs, 10 / SHARE.perMs);
    now += 10 / SHARE.perMs;
    assert.equal(share.owedMs, 0);
    share.charge(60_000, 1);
    assert.equal(share.owedMs, SHARE.owedMs / SHARE.perMs);
  });

  it('takes no more of the time than its part, cheap or dear its turns', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 4, max: 80, noNaN: true }), { minLength: 200, maxLength: 200 }),
        (costs) => {
          let now = 0;
          let charged = 0;
          const share = new LoopShare(() => now);
          for (const ms of costs) {
            now += share.owedMs;
            share.charge(ms, 1);
            charged += ms - SHARE.freeMs;
          }
          const most = SHARE.savedMs + SHARE.owedMs + now * SHARE.perMs;
          assert.ok(charged <= most + 1, `${charged} ms of ${most}`);
        },
      ),
      { numRuns: runs(50) },
    );
  });

  it('learns how many messages fit into a turn', () => {
    const share = new LoopShare(() => 0);
    assert.equal(share.most, SHARE.together);
    share.charge(8, 16);
    assert.equal(share.most, 2);
    share.charge(60, 2);
    assert.equal(share.most, 1);
    share.charge(0, 0);
    assert.equal(share.most, 1, 'a part of a message says nothing');
    for (let n = 0; n < 10; n++) share.charge(0.02 * share.most, share.most);
    assert.equal(share.most, SHARE.together);
  });
});

describe('turns of reading', () => {
  it('charge an app with the promises that follow from what it sent', async () => {
    let spent = 0;
    const turns = new LoopTurns({ monotonic: () => 0, after: assert.fail, spent: () => spent });
    const share = turns.share('app');
    let owes = 0;
    const read = () => {
      void (async () => {
        for (let n = 0; n < 10; n++) {
          await null;
          spent += 100;
        }
      })();
      return 1;
    };
    turns.read(share, 4_096, read, () => owes++);
    assert.equal(share.owedMs, 0);
    await turn();
    assert.equal(owes, 1);
    assert.equal(share.owedMs, SHARE.owedMs / SHARE.perMs);
    assert.equal(turns.share('app'), share, 'all sessions of an app have one share');
    assert.equal(turns.share('other').owedMs, 0);
  });

  it('let an app that owes wait while others read on', async () => {
    let spent = 0;
    let now = 0;
    const waits: (() => void)[] = [];
    const after = (_ms: number, fn: () => void) => waits.push(fn);
    const turns = new LoopTurns({ monotonic: () => now, after, spent: () => spent });
    const heard: string[] = [];
    const hear = (name: string, ms: number) => (): number => {
      heard.push(name);
      spent += ms;
      return 1;
    };
    turns.wait(turns.share('dear'), hear('dear', 500));
    // It has its place in the row already when the first one is charged.
    turns.wait(turns.share('dear'), hear('dear again', 500));
    turns.wait(turns.share('cheap'), hear('cheap', 1));
    for (let n = 0; n < 10; n++) await turn();
    assert.deepEqual(heard, ['dear', 'cheap']);
    now += 60_000;
    assert.equal(waits.length, 1);
    waits[0]!();
    for (let n = 0; n < 5; n++) await turn();
    assert.deepEqual(heard, ['dear', 'cheap', 'dear again']);
  });
});

describe('values of a JSON text', () => {
  const rows: readonly (readonly [what: string, text: string, refused: boolean])[] = [
    ['brackets', `[${'[],'.repeat(MAX_JSON_VALUES)}[]]`, true],
    ['keys', JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, 1]))), true],
    ['brackets that nothing closes', '['.repeat(MAX_JSON_VALUES + 1), true],
    ['a long text of signs', JSON.stringify('[,:{'.repeat(MAX_JSON_VALUES)), false],
    ['a text with escaped quotes', JSON.stringify('\\",[{'.repeat(MAX_JSON_VALUES)), false],
    ['a text that nothing closes', `"${','.repeat(2 * MAX_JSON_VALUES)}`, false],
    ['as many numbers as are taken', `[${'1,'.repeat(MAX_JSON_VALUES - 1)}1]`, false],
  ];
  for (const [what, text, refused] of rows)
    it(`are ${refused ? 'too many' : 'few enough'} in ${what}`, () => {
      const reason = refused ? `it has more than ${MAX_JSON_VALUES} values and keys` : undefined;
      assert.equal(tooManyValues(Buffer.from(text)), reason);
    });

  it('are counted as a parser finds them', () => {
    const count = (value: unknown): number => {
      if (typeof value !== 'object' || value === null) return 0;
      const inner = Object.values(value);
      const signs = Math.max(0, inner.length - 1) + (Array.isArray(value) ? 0 : inner.length);
      return inner.reduce<number>((sum, one) => sum + count(one), 1 + signs);
    };
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = Buffer.from(JSON.stringify(value));
        const all = count(value);
        // A text that is shorter than the bound is not looked through.
        const padded = Buffer.concat([text, Buffer.alloc(all + 1, ' ')]);
        assert.equal(tooManyValues(padded, all), undefined);
        if (all > 0) assert.notEqual(tooManyValues(padded, all - 1), undefined);
      }),
      { numRuns: runs(200) },
    );
  });
});
