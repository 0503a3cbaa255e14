import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { GESTURES, type Gesture, Gestures, type Touch } from '../../../plugins/display/display/input/gestures.ts';
import { runs } from '../../fixtures/runs.ts';

type Step = readonly [at: number, phase: Touch['phase'] | 'tick', x?: number, y?: number, finger?: string];

/** What is told, without the beginnings. */
function play(steps: readonly Step[]): readonly string[] {
  const gestures = new Gestures();
  const told: Gesture[] = [];
  for (const [at, phase, x = 360, y = 360, key = 'a'] of steps)
    told.push(...(phase === 'tick' ? gestures.tick(at) : gestures.touch({ key, phase, x, y, at }, at)));
  return told.flatMap((gesture) =>
    gesture.kind === 'begin' ? [] : [gesture.kind === 'swipe' ? `swipe ${gesture.direction}` : gesture.kind],
  );
}

describe('gestures', () => {
  const cases: readonly (readonly [title: string, steps: readonly Step[], told: readonly string[]])[] = [
    [
      'a finger that comes and goes taps',
      [
        [0, 'down'],
        [80, 'up'],
      ],
      ['tap'],
    ],
    [
      'one that trembles taps all the same',
      [
        [0, 'down'],
        [30, 'move', 368, 352],
        [80, 'up', 370, 350],
      ],
      ['tap'],
    ],
    [
      'one that stays is told once, when it was there for 500 ms',
      [
        [0, 'down'],
        [499, 'tick'],
        [500, 'tick'],
        [900, 'tick'],
        [1_000, 'up'],
      ],
      ['long-press'],
    ],
    [
      'without a tick it is told when it is lifted',
      [
        [0, 'down'],
        [700, 'up'],
      ],
      ['long-press'],
    ],
    [
      'one that moves and stays does nothing',
      [
        [0, 'down'],
        [50, 'move', 390, 360],
        [900, 'tick'],
        [950, 'up', 390, 360],
      ],
      [],
    ],
    [
      'to the left',
      [
        [0, 'down'],
        [50, 'move', 300, 365],
        [90, 'up', 260, 370],
      ],
      ['swipe left'],
    ],
    [
      'to the right',
      [
        [0, 'down'],
        [90, 'up', 480, 300],
      ],
      ['swipe right'],
    ],
    [
      'upwards',
      [
        [0, 'down'],
        [90, 'up', 380, 200],
      ],
      ['swipe up'],
    ],
    [
      'downwards',
      [
        [0, 'down'],
        [90, 'up', 300, 500],
      ],
      ['swipe down'],
    ],
    [
      'there and back again is nothing',
      [
        [0, 'down'],
        [50, 'move', 500, 360],
        [90, 'up', 365, 360],
      ],
      [],
    ],
    [
      'a swipe that takes its time is one',
      [
        [0, 'down'],
        [100, 'move', 400, 360],
        [5_000, 'up', 500, 360],
      ],
      ['swipe right'],
    ],
    [
      'from the edge below upwards goes home, before the finger is lifted',
      [
        [0, 'down', 360, 715],
        [60, 'move', 360, 600],
      ],
      ['home'],
    ],
    [
      'and is told once',
      [
        [0, 'down', 360, 715],
        [60, 'move', 360, 600],
        [90, 'move', 360, 300],
        [99, 'up', 360, 200],
      ],
      ['home'],
    ],
    [
      "from the edge and too short is nobody's",
      [
        [0, 'down', 360, 715],
        [60, 'up', 360, 640],
      ],
      [],
    ],
    [
      'along the edge is a swipe',
      [
        [0, 'down', 360, 715],
        [60, 'up', 200, 700],
      ],
      ['swipe left'],
    ],
    [
      'at the edge a tap is a tap',
      [
        [0, 'down', 360, 715],
        [60, 'up', 360, 715],
      ],
      ['tap'],
    ],
    [
      'what is cancelled is nothing',
      [
        [0, 'down'],
        [20, 'cancel'],
        [90, 'up'],
        [600, 'tick'],
      ],
      [],
    ],
    [
      'two fingers are nothing',
      [
        [0, 'down'],
        [20, 'down', 100, 100, 'b'],
        [60, 'up'],
        [90, 'up', 100, 100, 'b'],
      ],
      [],
    ],
    [
      'nor is the one that stays',
      [
        [0, 'down'],
        [20, 'down', 100, 100, 'b'],
        [60, 'up', 100, 100, 'b'],
        [900, 'tick'],
        [950, 'up'],
      ],
      [],
    ],
    [
      'and the next one taps',
      [
        [0, 'down'],
        [20, 'down', 9, 9, 'b'],
        [60, 'up'],
        [90, 'up', 9, 9, 'b'],
        [200, 'down'],
        [220, 'up'],
      ],
      ['tap'],
    ],
    [
      'what was never put down is neither moved nor lifted',
      [
        [0, 'move'],
        [10, 'up'],
        [20, 'up', 1, 1, 'z'],
      ],
      [],
    ],
    [
      'down twice is a new finger',
      [
        [0, 'down'],
        [400, 'down'],
        [600, 'tick'],
        [700, 'up'],
      ],
      ['tap'],
    ],
    [
      'lifted twice taps once',
      [
        [0, 'down'],
        [40, 'up'],
        [50, 'up'],
      ],
      ['tap'],
    ],
    [
      'a finger that is never lifted is forgotten',
      [
        [0, 'down'],
        [500, 'tick'],
        [10_500, 'down', 50, 50, 'b'],
        [10_550, 'up', 50, 50, 'b'],
      ],
      ['long-press', 'tap'],
    ],
    [
      'before that it is a second one',
      [
        [0, 'down'],
        [500, 'tick'],
        [9_000, 'down', 50, 50, 'b'],
        [9_050, 'up', 50, 50, 'b'],
      ],
      ['long-press'],
    ],
  ];
  for (const [title, steps, told] of cases)
    it(title, () => {
      assert.deepEqual(play(steps), told);
    });

  it('believes a source its time only where it neither runs ahead nor back', () => {
    const gestures = new Gestures();
    const of = (phase: Touch['phase'], at: number, now: number) =>
      gestures.touch({ key: 'a', phase, x: 10, y: 10, at }, now).map(({ kind }) => kind);
    assert.deepEqual(of('down', 1e12, 1_000), ['begin']);
    assert.equal(gestures.next(), 1_500, 'not in some thousand years');
    assert.deepEqual(of('up', -5, 1_100), ['tap']);
    assert.deepEqual(of('down', Number.NaN, 2_000), ['begin']);
    assert.deepEqual(of('up', Number.NaN, 2_100), ['tap']);
  });

  it('of 1,000 fingers looks at ten, and is well when they are gone', () => {
    const gestures = new Gestures();
    const all = Array.from({ length: 1_000 }, (_, index) => `f${index}`);
    const touch = (key: string, phase: Touch['phase']) => gestures.touch({ key, phase, x: 5, y: 5, at: 0 }, 0);
    assert.deepEqual(
      all.flatMap((key) => touch(key, 'down')).map(({ kind }) => kind),
      ['begin'],
    );
    assert.equal(gestures.fingers, GESTURES.fingers);
    assert.deepEqual(
      all.flatMap((key) => touch(key, 'up')),
      [],
    );
    assert.equal(gestures.fingers, 0);
    assert.deepEqual(
      [...touch('a', 'down'), ...touch('a', 'up')].map(({ kind }) => kind),
      ['begin', 'tap'],
    );
  });

  const coordinate = fc.double({ min: -1e6, max: 1e6, noNaN: true });
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    phase: fc.constantFrom<Touch['phase']>('down', 'move', 'up', 'cancel'),
    x: coordinate,
    y: coordinate,
    at: fc.oneof(fc.nat(20_000), fc.constantFrom(Number.NaN, -1, 1e300, Number.NEGATIVE_INFINITY)),
    pause: fc.nat(3_000),
    tick: fc.boolean(),
  });

  it('any input: one end for each beginning at most, of that finger, and no timer without a finger', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const gestures = new Gestures();
        let now = 0;
        let open: string | undefined;
        const look = (told: readonly Gesture[]) => {
          for (const { kind, key } of told) {
            if (kind === 'begin') open = key;
            else {
              assert.equal(key, open, `${kind} without a beginning`);
              open = undefined;
            }
          }
        };
        for (const { pause, tick, ...touch } of steps) {
          now += pause;
          if (tick) look(gestures.tick(now));
          look(gestures.touch(touch, now));
          const next = gestures.next();
          if (gestures.fingers === 0) assert.equal(next, undefined, 'a timer for nobody');
          if (next !== undefined) assert.ok(next <= now + GESTURES.longPressMs, 'a timer in the far future');
        }
        for (const key of ['a', 'b', 'c']) look(gestures.touch({ key, phase: 'cancel', x: 0, y: 0, at: now }, now));
        assert.equal(gestures.fingers, 0);
        const after = [
          ...gestures.touch({ key: 'a', phase: 'down', x: 9, y: 9, at: now }, now),
          ...gestures.touch({ key: 'a', phase: 'up', x: 9, y: 9, at: now }, now),
        ];
        assert.deepEqual(
          after.map(({ kind }) => kind),
          ['begin', 'tap'],
          'it is well afterwards',
        );
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('never tells more than one thing of two fingers that overlap', () => {
    const one = fc.record({
      from: fc.nat(1_000),
      length: fc.integer({ min: 1, max: 1_000 }),
      x: coordinate,
      y: coordinate,
    });
    fc.assert(
      fc.property(one, one, (first, second) => {
        const events = [
          { ...first, key: 'a', phase: 'down' as const, at: first.from },
          { ...first, key: 'a', phase: 'up' as const, at: first.from + first.length },
          { ...second, key: 'b', phase: 'down' as const, at: second.from },
          { ...second, key: 'b', phase: 'up' as const, at: second.from + second.length },
        ].toSorted((p, q) => p.at - q.at);
        const gestures = new Gestures();
        const told = events.flatMap((event) => gestures.touch(event, event.at)).filter(({ kind }) => kind !== 'begin');
        const overlap = first.from < second.from + second.length && second.from < first.from + first.length;
        assert.ok(told.length <= (overlap ? 1 : 2));
        // What was told of the first of them was told before the second came.
        if (overlap && told.length === 1) assert.equal(told[0]?.kind, 'long-press');
      }),
      { numRuns: runs(500) },
    );
  });
});
