import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { certaintyOf, doubtOf, leadsOf } from '../../../plugins/voice/soundswallower/certainty.ts';
import { placesOf } from '../../../plugins/voice/soundswallower/rivals.ts';

const piece = (word: string, from: number, frames: number, byFrame: number, silent = false) => ({
  word,
  from,
  frames,
  score: byFrame * frames,
  silent,
});
/** Sounds that fit each frame by -40. */
const SOUNDS = [piece('_ah_', 0, 50, -40), piece('_t_', 50, 150, -40)];
const said = (...leads: readonly number[]) =>
  leadsOf(
    leads.map((lead, index) => piece(`w${index}`, 20 * index, 20, lead - 40)),
    SOUNDS,
  );

describe('the certainty of a sentence', () => {
  test('a word is compared with the sounds over its frames alone, and silence with nothing', () => {
    const path = [piece('<sil>', 0, 30, -5, true), piece('stop', 30, 40, -15), piece('<sil>', 70, 100, -5, true)];
    const sounds = [piece('<sil>', 0, 30, -4, true), piece('_s_', 30, 20, -30), piece('_p_', 50, 150, -50)];
    assert.deepEqual(leadsOf(path, sounds), [{ word: 'stop', frames: 40, fit: -15, lead: 25 }]);
  });

  test('sentences that fit are accepted, and what any sounds fit as well is not', () => {
    assert.equal(certaintyOf(said(25, 30, 20), 0.5).accepted, true);
    const { accepted, confidence } = certaintyOf(said(2, -3, 4), 0.5);
    assert.deepEqual([accepted, confidence < 0.3], [false, true]);
  });

  test('the word that fits least is named, but no short one that longer ones swallow', () => {
    assert.equal(certaintyOf(said(25, -8, 20), 0.5).unsure, 'w1');
    const leads = [...said(25, 20), { word: 'a', frames: 4, fit: -90, lead: -50 }];
    assert.equal(certaintyOf(leads, 0.5).unsure, 'w1');
    assert.equal(certaintyOf(leads.slice(2), 0.5).unsure, 'a');
  });

  test('without a word there is no certainty', () => {
    assert.deepEqual(certaintyOf([], 0.5), { accepted: false, confidence: 0 });
  });

  test('the value of a slot is in doubt where its words together fit no better than sounds', () => {
    const leads = said(30, -20, 10, 25);
    assert.equal(doubtOf(leads, [{ from: 2, to: 4 }]), undefined);
    assert.equal(
      doubtOf(leads, [
        { from: 2, to: 4 },
        { from: 1, to: 3 },
      ]),
      'w1 w2',
    );
    assert.equal(doubtOf(leads, [{ from: 1, to: 1 }]), undefined);
  });

  test('rivals that differ at the same place are looked for together, and those that cannot be said are left out', () => {
    const known = new Set('a short long tea with some milk'.split(' '));
    const rivals = ['a long tea', 'a some tea', 'a short tea with milk', 'a green tea'];
    const places = placesOf(
      'a short tea',
      rivals.map((text) => ({ text, byValue: !text.includes('milk') })),
      known,
    );
    assert.deepEqual(places, [
      { from: 1, to: 2, byValue: true, others: new Set(['long', 'some']) },
      { from: 3, to: 3, byValue: false, others: new Set(['with milk']) },
    ]);
  });

  test('a better fit is never less certain, and more strictness never accepts more', () => {
    const leads = fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(leads, fc.nat(7), fc.integer({ min: 1, max: 40 }), (some, at, more) => {
        const better = some.map((one, index) => (index === at % some.length ? one + more : one));
        const [one, other] = [certaintyOf(said(...some), 0.5), certaintyOf(said(...better), 0.5)];
        assert.ok(other.confidence >= one.confidence);
        assert.ok(!certaintyOf(said(...some), 0.9).accepted || one.accepted);
      }),
    );
  });
});
