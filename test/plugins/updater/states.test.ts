/** The states of an update, as a machine that every sequence of steps keeps to. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { UPDATE_STATES, type UpdateState } from '@device-core/plugin-api/inside/services/updates';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import {
  type At,
  COMMITTED,
  OVER,
  RESTS,
  STEPS,
  type Step,
  after as step,
} from '../../../plugins/life/updater/states.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

describe('the states of an update', () => {
  it('lead from nothing to a good image, and back from a bad one', () => {
    const way = (steps: readonly Step[]): readonly UpdateState[] => {
      let at: At = { state: 'idle' };
      return steps.map((one) => {
        const next = step(at, one);
        assert.ok(next, `${one} in ${at.state}`);
        at = next;
        return at.state;
      });
    };
    const staged = ['check', 'found', 'download', 'downloaded', 'staged'] as const;
    assert.deepEqual(way([...staged, 'wait', 'activate', 'started', 'good', 'check', 'nothing']), [
      ...['checking', 'available', 'downloading', 'verifying', 'staged', 'waiting', 'activating', 'probation', 'good'],
      ...['checking', 'idle'],
    ]);
    assert.deepEqual(way([...staged, 'activate', 'started', 'bad']).at(-1), 'rolled-back');
    assert.deepEqual(way([...staged, 'check', 'nothing']).at(-1), 'staged');
    assert.deepEqual(way([...staged, 'wait', 'check', 'fail']).at(-1), 'waiting');
    assert.deepEqual(way([...staged, 'activate', 'started', 'good', 'check', 'fail']).at(-1), 'good');
    assert.deepEqual(way(['check', 'found', 'download', 'stop']).at(-1), 'available');
  });

  const STOPS: readonly (readonly [UpdateState, UpdateState | undefined, UpdateState | undefined])[] = [
    ['idle', undefined, undefined],
    ['checking', 'idle', undefined],
    ['available', undefined, 'idle'],
    ['downloading', 'available', 'idle'],
    ['verifying', 'available', 'idle'],
    ['staged', undefined, 'idle'],
    ['waiting', undefined, 'idle'],
    ['activating', undefined, undefined],
    ['probation', undefined, undefined],
    ['good', undefined, undefined],
    ['rolled-back', undefined, undefined],
    ['failed', undefined, 'idle'],
  ];
  for (const [state, stopped, discarded] of STOPS)
    it(`can ${stopped ? '' : 'not '}be stopped and can ${discarded ? '' : 'not '}be discarded in ${state}`, () => {
      assert.equal(step({ state }, 'stop')?.state, stopped);
      assert.equal(step({ state }, 'discard')?.state, discarded);
    });

  it('hold, in any order of events', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...STEPS), { maxLength: 60 }), (steps) => {
        let at: At = { state: 'idle' };
        let staged = false;
        for (const one of steps) {
          const next = step(at, one);
          if (!next) continue;
          assert.ok(UPDATE_STATES.includes(next.state));
          assert.equal(next.before, next.state === 'checking' ? at.state : undefined);
          // Nothing is started that was not staged; only what is on trial can be found good.
          if (next.state === 'staged' && one === 'staged') staged = true;
          if (next.state === 'activating') assert.ok(staged, `${one} in ${at.state}`);
          if (next.state === 'good') assert.equal(at.before ?? at.state, at.before ? 'good' : 'probation');
          // Once it is under way only what was found of it ends it.
          if (COMMITTED.includes(at.state))
            assert.ok(['probation', 'good', 'rolled-back', 'failed'].includes(next.state), `${one} in ${at.state}`);
          // A check takes nothing away; one that finds nothing ends what is over.
          if (at.state === 'checking' && at.before && next.state !== 'available' && next.state !== 'probation')
            assert.equal(next.state, one === 'nothing' && OVER.includes(at.before) ? 'idle' : at.before);
          at = next;
        }
        assert.ok(RESTS.includes(at.state) || step(at, 'fail') || step(at, 'bad') || step(at, 'stop'));
        assert.ok(OVER.every((state) => step({ state }, 'found')?.state === 'available'));
      }),
      { numRuns: runs(2_000) },
    );
  });
});
