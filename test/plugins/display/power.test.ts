import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { DisplayState } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Sensors, sensors } from '@device-core/plugin-api/services/sensors';
import { given, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Idle, type Presence } from '../../../plugins/display/display/power/idle.ts';
import { between, LEVELS, levelOf } from '../../../plugins/display/display/power/level.ts';
import { runs } from '../../fixtures/runs.ts';
import { boot } from './fixture.ts';

after(leakCheck());

const SETTINGS = { dimMs: 30_000, offMs: 300_000 };

describe('whether the panel is lit', () => {
  type Step = readonly [now: number, (idle: Idle, now: number) => void];
  const come: Step[1] = (idle, now) => idle.presence('present', now);
  const go: Step[1] = (idle, now) => idle.presence('absent', now);
  const act: Step[1] = (idle, now) => idle.act(now);
  const cases: readonly (readonly [title: string, steps: readonly Step[], states: Readonly<Record<number, string>>])[] =
    [
      ['dims where nothing is known, and never goes off', [], { 29999: 'on', 30000: 'dim', 300000: 'dim', 9e9: 'dim' }],
      [
        'dims and goes off where nobody is there',
        [[0, go]],
        { 29999: 'on', 30000: 'dim', 299999: 'dim', 300000: 'off' },
      ],
      ['stays lit while somebody is there', [[0, come]], { 9e9: 'on' }],
      [
        'begins to wait when they go',
        [
          [0, come],
          [1e6, go],
        ],
        { 1029999: 'on', 1030000: 'dim', 1300000: 'off' },
      ],
      [
        'and when nothing is known of them any more',
        [
          [0, come],
          [1e6, (idle, now) => idle.presence('unknown', now)],
        ],
        { 1029999: 'on', 1030000: 'dim', 2e6: 'dim' },
      ],
      [
        'is lit by a touch, and waits anew',
        [
          [0, go],
          [400_000, act],
        ],
        { 400000: 'on', 429999: 'on', 430000: 'dim', 700000: 'off' },
      ],
      [
        'is lit by who comes',
        [
          [0, go],
          [400_000, come],
        ],
        { 400000: 'on', 9e9: 'on' },
      ],
      [
        'stays lit while it is held',
        [
          [0, go],
          [10, (idle, now) => idle.hold('voice', true, now)],
        ],
        { 9e6: 'on' },
      ],
      [
        'waits anew when it is let go',
        [
          [0, go],
          [10, (idle, now) => idle.hold('voice', true, now)],
          [1e6, (idle, now) => idle.hold('voice', false, now)],
        ],
        { 1029999: 'on', 1030000: 'dim' },
      ],
      [
        'is dark while somebody wants it, though they are there',
        [
          [0, come],
          [5, (idle, now) => idle.ask('off', now)],
        ],
        { 6: 'off', 9e9: 'off' },
      ],
      [
        'until they touch it',
        [
          [0, come],
          [5, (idle, now) => idle.ask('off', now)],
          [10, act],
        ],
        { 10: 'on' },
      ],
      [
        'or somebody comes',
        [
          [0, go],
          [5, (idle, now) => idle.ask('off', now)],
          [10, come],
        ],
        { 10: 'on' },
      ],
      [
        'not because they go',
        [
          [0, come],
          [5, (idle, now) => idle.ask('off', now)],
          [10, go],
        ],
        { 10: 'off' },
      ],
      [
        'is dimmed where somebody wants it',
        [
          [0, come],
          [5, (idle, now) => idle.ask('dim', now)],
        ],
        { 6: 'dim' },
      ],
    ];
  for (const [title, steps, states] of cases)
    it(title, () => {
      for (const [at, expected] of Object.entries(states)) {
        const idle = new Idle(SETTINGS, 0);
        for (const [now, step] of steps) step(idle, now);
        assert.equal(idle.at(Number(at)), expected, `at ${at}`);
      }
    });

  it('changes at its announced time, never in between, and gives no time where only a person can change it', () => {
    const step = fc.record({
      after: fc.nat(400_000),
      what: fc.constantFrom('present', 'absent', 'unknown', 'act', 'hold', 'let go', 'on', 'dim', 'off'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat(1_000_000), (steps, wait) => {
        const idle = new Idle(SETTINGS, 0);
        let now = 0;
        for (const { after: ms, what } of steps) {
          const [before, next] = [idle.at(now), idle.next(now)];
          now += ms;
          if (now < next) assert.equal(idle.at(now), before);
          if (what === 'act') idle.act(now);
          else if (what === 'hold' || what === 'let go') idle.hold('x', what === 'hold', now);
          else if (what === 'on' || what === 'dim' || what === 'off') idle.ask(what, now);
          else idle.presence(what as Presence, now);
        }
        const next = idle.next(now);
        if (next === Number.POSITIVE_INFINITY) assert.equal(idle.at(now + wait), idle.at(now));
        else {
          assert.notEqual(idle.at(next), idle.at(now), 'something changes then');
          assert.ok(next > now);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('how bright it is', () => {
  it('never cannot be read while it is on, is less while it is dimmed, and nothing while it is off', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const lux = fc.option(fc.double({ min: 0, max: 1e5, noNaN: true }), { nil: undefined });
    fc.assert(
      fc.property(
        share,
        lux,
        fc.option(fc.double({ min: 0.05, max: 1, noNaN: true }), { nil: undefined }),
        (set, lx, night) => {
          const of = (power: 'on' | 'dim' | 'off') => levelOf({ power, set, lux: lx, night });
          assert.ok(of('on') >= LEVELS.least && of('on') <= 1);
          assert.ok(of('dim') < of('on') && of('dim') > 0);
          assert.equal(of('off'), 0);
          if (night !== undefined) assert.ok(of('on') <= Math.max(night, LEVELS.least));
          assert.ok(
            levelOf({ power: 'on', set, lux: 0 }) <= levelOf({ power: 'on', set, lux: 1e4 }),
            'darker in the dark',
          );
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('goes from level to level without a jump back', () => {
    const levels = Array.from({ length: 21 }, (_, step) => between(0.8, 0.1, step / 20));
    assert.deepEqual([levels[0], levels.at(-1)], [0.8, 0.1]);
    levels.reduce((before, level) => {
      assert.ok(level <= before);
      return level;
    });
  });
});

describe('the panel of a device', () => {
  async function device(config: object = {}, more: Parameters<typeof boot>[0] = {}) {
    const clock = virtualClock({ now: Date.UTC(2026, 5, 1, 12) });
    const table = new TestOperations();
    const bench = await boot({ clock, config, ...more, services: [[operations, table], ...(more.services ?? [])] });
    await clock.advance(1_000);
    const presence = (state: Presence) => bench.host.publish('system.presence', { state, confidence: 1 });
    const power = async () => (await bench.state()).power;
    return { bench, clock, table, presence, power };
  }

  it('dims, goes off, and is then as quiet as if it were not there', async () => {
    const { bench, clock, presence, power } = await device();
    await using _ = bench;
    presence('absent');
    await clock.advance(28_000);
    assert.equal(await power(), 'on');
    const lit = bench.panel.levels.at(-1) ?? 0;
    await clock.advance(4_000);
    assert.equal(await power(), 'dim');
    const dimmed = bench.panel.levels.at(-1) ?? 1;
    assert.ok(dimmed < lit);
    assert.ok(bench.panel.levels.length > 5, 'in steps, not at once');
    await clock.advance(270_000);
    assert.equal(await power(), 'off');
    await clock.advance(2_000);
    assert.deepEqual([bench.panel.levels.at(-1), bench.panel.powers.at(-1), bench.renderer.isPaused], [0, false, true]);
    assert.equal(clock.pending, 0, 'no timer is left');
    const { frame } = bench.renderer;
    await bench.display.put({ id: 'x', layer: 'home', scene: { scene: 1, nodes: [] } });
    await clock.advance(3_600_000);
    assert.equal(bench.renderer.frame, frame, 'no frame');
    assert.equal(clock.pending, 0);
  });

  const WAKES: readonly (readonly [what: string, wake: (bench: Awaited<ReturnType<typeof boot>>) => unknown])[] = [
    ['a wake word', ({ host }) => host.publish('audio.wake', { turn: 't', wakeword: 'x', score: 1, source: 'wake' })],
    ['a turn', ({ host }) => host.publish('audio.state', { turn: 't', state: 'listening' })],
    [
      'a question',
      ({ host }) =>
        host.publish('prompt.state', { id: 'q', kind: 'consent', subject: 'a', state: 'open', until: 9e12 }),
    ],
    ['a critical event', ({ host }) => host.publish('bridge.link', { state: 'down' }, 'critical')],
    ['who comes', ({ host }) => host.publish('system.presence', { state: 'present', confidence: 1 })],
    ['a plugin', ({ display: screen }) => screen.wake('test')],
  ];
  for (const [what, wake] of WAKES)
    it(`is lit by ${what}`, async () => {
      const { bench, clock, presence, power } = await device();
      await using _ = bench;
      presence('absent');
      await clock.advance(302_000);
      assert.equal(await power(), 'off');
      bench.host.publish('app.state', { app: 'a', state: 'running' });
      await clock.advance(1_000);
      assert.equal(await power(), 'off', 'not by any event');
      await wake(bench);
      await clock.advance(500);
      assert.equal(await power(), 'on');
      assert.deepEqual([bench.panel.powers.at(-1), bench.renderer.isPaused], [true, false]);
      assert.ok((bench.panel.levels.at(-1) ?? 0) > 0.5);
    });

  it('stays lit during speech and questions', async () => {
    const { bench, clock, presence, power } = await device();
    await using _ = bench;
    presence('absent');
    bench.host.publish('audio.state', { turn: 't', state: 'thinking' });
    await clock.advance(1_000_000);
    assert.equal(await power(), 'on');
    bench.host.publish('audio.state', { state: 'idle' });
    await clock.advance(310_000);
    assert.equal(await power(), 'off');
  });

  it('that can neither be dimmed nor switched off is painted dark', async () => {
    const { bench, clock, presence, power } = await device();
    await using _ = bench;
    bench.panel.lose('another one is coming');
    bench.panel.back({ brightness: false, power: false });
    await clock.advance(1_000);
    assert.equal(bench.renderer.surroundings?.light, 0.8);
    presence('absent');
    await clock.advance(303_000);
    assert.equal(await power(), 'off');
    assert.deepEqual([bench.renderer.surroundings?.light, bench.renderer.isPaused], [0, true]);
    await bench.display.wake('test');
    await clock.advance(1_000);
    assert.deepEqual([bench.renderer.surroundings?.light, bench.renderer.isPaused], [0.8, false]);
  });

  it('that is another one is told again', async () => {
    const { bench, clock } = await device();
    await using _ = bench;
    bench.panel.lose('unplugged');
    const before = bench.panel.levels.length;
    bench.panel.back();
    await clock.advance(1_000);
    assert.deepEqual(bench.panel.levels.slice(before), [0.8]);
    assert.equal(bench.panel.powers.at(-1), true);
  });

  it('is switched and set by operations of those who may', async () => {
    const { bench, clock, table, power } = await device({}, { grants: { 'app.com.example.a': ['display.control'] } });
    await using _ = bench;
    const caller = { kind: 'app', id: 'com.example.a' } as const;
    await table.run('display.power', { power: 'off' }, { caller });
    assert.equal(await power(), 'off');
    await clock.advance(1_000);
    await table.run('display.power', { power: 'on' });
    assert.equal(await power(), 'on');
    assert.deepEqual(await table.run('display.brightness', { level: 0.5 }, { caller }), { level: 0.5 });
    assert.deepEqual(
      await table.run('display.brightness', { level: 0 }),
      { level: LEVELS.least },
      'it can still be read',
    );
    await clock.advance(1_000);
    assert.equal(bench.panel.levels.at(-1), LEVELS.least);
    const states = bench.host.published.filter(({ topic }) => topic === 'display.state');
    const last = states.at(-1)?.payload as DisplayState | undefined;
    assert.equal(last?.brightness, LEVELS.least);
    for (const [name, params] of [
      ['power', { power: 'bright' }],
      ['brightness', { level: 2 }],
      ['brightness', { level: Number.NaN }],
    ] as const)
      await assert.rejects(table.run(`display.${name}`, params), { code: 'PARAMS_INVALID' });
    await assert.rejects(
      table.run('display.power', { power: 'off' }, { caller: { kind: 'app', id: 'com.example.b' } }),
      {
        code: 'CAPABILITY_DENIED',
      },
    );
  });

  it('follows the light of the room, but not in the dark', async () => {
    let told: ((lux: number) => void) | undefined;
    const service: Partial<Sensors> = {
      subscribe(name, everyMs, listener) {
        assert.deepEqual([name, everyMs], ['room', 5_000]);
        told = (lux) => listener({ at: 0, values: { light: lux } });
        return {
          [Symbol.dispose]: () => {
            told = undefined;
          },
        };
      },
    };
    const { bench, clock, presence } = await device(
      { ambient: { sensor: 'room' } },
      { services: [given(sensors, service)] },
    );
    await using _ = bench;
    told?.(1);
    await clock.advance(2_000);
    assert.ok(Math.abs((bench.panel.levels.at(-1) ?? 0) - 0.8 * LEVELS.inTheDark) < 0.01);
    const steps = bench.panel.levels.length;
    for (const lux of [1.1, 0.9, 1.15]) told?.(lux);
    await clock.advance(2_000);
    assert.equal(bench.panel.levels.length, steps, 'a cloud is no evening');
    told?.(10_000);
    await clock.advance(2_000);
    assert.equal(bench.panel.levels.at(-1), 0.8);
    presence('absent');
    await clock.advance(302_000);
    assert.equal(told, undefined, 'nobody measures for a dark panel');
    presence('present');
    await clock.advance(1_000);
    assert.ok(told);
  });

  it('is darker in the hours of the night, and its theme goes by them', async () => {
    const { bench, clock, presence } = await device({ theme: 'auto' });
    await using _ = bench;
    presence('present');
    await clock.advance(1_000);
    assert.equal((await bench.display.surroundings()).theme.id, 'day');
    await clock.advance(9 * 3_600_000);
    assert.equal((await bench.display.surroundings()).theme.id, 'night');
    assert.equal(bench.panel.levels.at(-1), 0.4);
    await clock.advance(10 * 3_600_000);
    assert.equal((await bench.display.surroundings()).theme.id, 'day');
    assert.equal(bench.panel.levels.at(-1), 0.8);
  });
});
