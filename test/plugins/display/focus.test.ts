/** The machine of the foreground, with every order of events. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FocusMachine } from '../../../plugins/display/display/focus.ts';
import { runs } from '../../fixtures/runs.ts';

const APPS = ['a', 'b', 'c'];
const app = fc.constantFrom(...APPS);
const step = fc.oneof(
  fc.record({ do: fc.constant('show' as const), app, mayShowItself: fc.boolean(), keep: fc.boolean() }),
  fc.record({ do: fc.constantFrom('open' as const, 'hide' as const, 'gone' as const), app }),
  fc.record({ do: fc.constantFrom('home' as const, 'touch' as const, 'cover' as const, 'uncover' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
);

describe('steps in any order', () => {
  test('one has the foreground at most, it has something to show, and a person wanted it or was asked before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const machine = new FocusMachine({ idleMs: 60_000, openMs: 30_000 });
        let now = 0;
        let lastSign = 0;
        let covered = false;
        for (const one of steps) {
          const before = machine.foreground;
          switch (one.do) {
            case 'show': {
              const wanted = machine.wants(one.app, now);
              const seen = machine.show(one.app, now, one);
              assert.equal(seen, machine.foreground === one.app);
              if (seen && before !== one.app)
                assert.ok(wanted || (one.mayShowItself && before === undefined), 'nobody takes it from another');
              if (!seen) assert.equal(machine.foreground, before, 'who waits changes nothing');
              break;
            }
            case 'open':
              assert.equal(machine.open(one.app, now), machine.foreground === one.app && machine.has(one.app));
              break;
            case 'hide':
            case 'gone':
              machine[one.do](one.app);
              assert.ok(!machine.has(one.app));
              assert.equal(machine.foreground, before === one.app ? undefined : before);
              break;
            case 'home':
              machine.home();
              assert.equal(machine.foreground, undefined);
              for (const each of APPS) assert.ok(!machine.wants(each, now), 'home is the last word');
              break;
            case 'touch':
              machine.touched(now);
              lastSign = now;
              break;
            case 'wait':
              now += one.ms;
              if (machine.idle(now)) assert.ok(now - lastSign >= 60_000, 'somebody was there');
              assert.ok(machine.endsAt === undefined || machine.endsAt > now);
              break;
            default:
              covered = one.do === 'cover';
              machine.cover(covered);
          }
          if (machine.foreground !== before && machine.foreground !== undefined) lastSign = now;
          const seen = APPS.filter((each) => machine.stateOf(each) !== 'hidden');
          assert.deepEqual(seen, machine.foreground === undefined ? [] : [machine.foreground]);
          for (const each of seen) {
            assert.ok(machine.has(each));
            assert.equal(machine.stateOf(each), covered ? 'covered' : 'foreground');
          }
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
