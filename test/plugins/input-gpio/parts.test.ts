import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Button, MOST_REPEATED_MS } from '../../../plugins/display/input-gpio/button.ts';
import { Quadrature } from '../../../plugins/display/input-gpio/quadrature.ts';
import { runs } from '../../fixtures/runs.ts';

describe('a button', () => {
  const SETTINGS = { debounceMs: 20, repeat: { delayMs: 500, everyMs: 0 } };
  type Step = readonly [now: number, pressed: boolean | 'tick'];
  const cases: readonly (readonly [title: string, steps: readonly Step[], told: readonly string[]])[] = [
    ['is down with the first edge', [[0, true]], ['0 down']],
    [
      'is up when it is let go',
      [
        [0, true],
        [90, false],
      ],
      ['0 down', '90 up'],
    ],
    [
      'bounces, and is down once',
      [
        [0, true],
        [1, false],
        [2, true],
        [3, false],
        [5, true],
        [20, 'tick'],
      ],
      ['0 down'],
    ],
    [
      'was let go while it bounced',
      [
        [0, true],
        [1, false],
        [20, 'tick'],
      ],
      ['0 down', '20 up'],
    ],
    [
      'bounces when it is let go',
      [
        [0, true],
        [90, false],
        [92, true],
        [94, false],
        [110, 'tick'],
      ],
      ['0 down', '90 up'],
    ],
    [
      'says nothing twice',
      [
        [0, true],
        [50, true],
        [60, false],
        [100, false],
      ],
      ['0 down', '60 up'],
    ],
    [
      'was never pressed',
      [
        [0, false],
        [50, 'tick'],
      ],
      [],
    ],
  ];
  for (const [title, steps, told] of cases)
    it(title, () => {
      const button = new Button(SETTINGS);
      const found = steps.flatMap(([now, what]) =>
        (what === 'tick' ? button.tick(now) : button.sense(what, now)).map((phase) => `${now} ${phase}`),
      );
      assert.deepEqual(found, told);
      assert.equal(button.next(), Number.POSITIVE_INFINITY, 'no timer for nobody');
    });

  it('repeats while it is held, once however late, and not for ever', () => {
    const button = new Button({ debounceMs: 20, repeat: { delayMs: 500, everyMs: 100 } });
    assert.deepEqual(button.sense(true, 0), ['down']);
    assert.equal(button.next(), 500);
    assert.deepEqual(button.tick(499), []);
    assert.deepEqual(button.tick(500), ['repeat']);
    assert.deepEqual(button.tick(5_000), ['repeat']);
    assert.equal(button.next(), 5_100);
    let [now, count] = [5_100, 0];
    for (; Number.isFinite(now); now = button.next(), count++) button.tick(now);
    assert.ok(count <= MOST_REPEATED_MS / 100, 'something lies on it');
    assert.deepEqual(button.sense(false, 60_000), ['up']);
  });

  it('tells down and up in turn, with any bounces of the contacts, and in the end the state of the line', () => {
    const step = fc.record({ after: fc.nat(60), pressed: fc.boolean(), tick: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const button = new Button(SETTINGS);
        let [now, level] = [0, false];
        const told: string[] = [];
        for (const { after, pressed, tick } of steps) {
          now += after;
          told.push(...(tick ? button.tick(now) : button.sense(pressed, now)));
          if (!tick) level = pressed;
        }
        if (Number.isFinite(button.next())) told.push(...button.tick(button.next()));
        told.forEach((phase, index) => {
          assert.equal(phase, index % 2 === 0 ? 'down' : 'up');
        });
        assert.equal(told.length % 2 === 1, level, 'the line is the truth');
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('a knob', () => {
  /** Levels of both lines from quarter to quarter, clockwise. */
  const TURN = [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ] as const;
  const levels = (position: number) => TURN[((position % 4) + 4) % 4]!;

  /** Turns it by quarters, each edge by itself, with contacts that bounce so often. */
  function turn(knob: Quadrature, from: number, quarters: number, bounces = 0): number {
    let detents = 0;
    for (let done = 0; done !== quarters; done += Math.sign(quarters)) {
      const [before, after] = [levels(from + done), levels(from + done + Math.sign(quarters))];
      const line = before[0] === after[0] ? 'b' : 'a';
      const index = line === 'a' ? 0 : 1;
      for (let bounce = 0; bounce < bounces; bounce++) {
        detents += knob.sense(line, after[index]);
        detents += knob.sense(line, before[index]);
      }
      detents += knob.sense(line, after[index]);
    }
    return detents;
  }

  it('tells what it was turned, from wherever it stood, with contacts that bounce', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 4),
        fc.nat(3),
        fc.array(fc.integer({ min: -40, max: 40 }), { maxLength: 20 }),
        fc.nat(4),
        (steps, start, turns, bounces) => {
          const knob = new Quadrature(steps as 1 | 2 | 4, levels(start));
          let [position, detents] = [0, 0];
          for (const detent of turns) {
            detents += turn(knob, start + position, detent * steps, bounces);
            position += detent * steps;
          }
          assert.equal(detents * steps, position);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('goes on as it went where an edge was lost, and is never beside itself for long', () => {
    const knob = new Quadrature(4, [0, 0]);
    assert.equal(turn(knob, 0, 4), 1);
    // 00 -> 10 is told, 11 is lost, 01 is told as a change of both.
    knob.sense('a', 1);
    let detents = 0;
    detents += knob.sense('a', 0) + knob.sense('b', 1);
    detents += knob.sense('b', 0);
    assert.ok(Math.abs(detents) <= 1);
    assert.equal(Math.abs(turn(knob, 0, 40)), 10, 'ten detents are ten detents again');
  });
});
