import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Effect,
  type Input,
  type Limits,
  type Machine,
  START,
  step,
} from '../../../plugins/voice/voice/machine.ts';
import { runs } from '../../fixtures/runs.ts';

const LIMITS: Limits = {
  listeningMs: 8_000,
  thinkingMs: 15_000,
  ttsStartMs: 5_000,
  turnMs: 60_000,
  errorMs: 3_000,
  refractoryMs: 1_000,
  followUps: 3,
};

/** Walks through inputs at times, and keeps what was said to be done. */
class Walk {
  machine: Machine = START;
  readonly effects: Effect[] = [];

  take(now: number, input: Input): readonly Effect[] {
    const { machine, effects } = step(this.machine, input, now, LIMITS);
    this.machine = machine;
    this.effects.push(...effects);
    return effects;
  }

  done<D extends Effect['do']>(what: D): Extract<Effect, { do: D }>[] {
    return this.effects.filter((effect): effect is Extract<Effect, { do: D }> => effect.do === what);
  }

  get states(): readonly string[] {
    return this.done('state').map(({ state }) => state);
  }
}

const ids = fc.constantFrom('a', 'b', 'c', 'd');
const fresh = fc.constant('new');
const input: fc.Arbitrary<Input> = fc.oneof(
  fc.record({ kind: fc.constantFrom('wake' as const, 'button' as const, 'ask' as const), turn: fresh }),
  fc.record({ kind: fc.constant('announce' as const), id: fresh }),
  fc.record({ kind: fc.constantFrom('endpoint' as const, 'release' as const, 'empty' as const), turn: ids }),
  fc.record(
    {
      kind: fc.constant('answer' as const),
      turn: ids,
      outcome: fc.constantFrom('answered' as const, 'refused' as const, 'failed' as const),
      say: fc.boolean(),
      followUp: fresh,
    },
    { requiredKeys: ['kind', 'turn', 'outcome', 'say'] },
  ),
  fc.record({ kind: fc.constantFrom('speaking' as const, 'spoken' as const), id: ids }),
  fc.record({ kind: fc.constant('unspoken' as const), id: ids, code: fc.constant('SPEECH_FAILED' as const) }),
  fc.record({ kind: fc.constant('stop' as const), id: ids }, { requiredKeys: ['kind'] }),
  fc.record({ kind: fc.constant('deaf' as const), code: fc.constant('AUDIO_UNAVAILABLE' as const) }),
  fc.record({ kind: fc.constant('mute' as const), muted: fc.boolean() }),
  fc.record({ kind: fc.constant('time' as const), speech: fc.boolean() }),
);

describe('the states of the voice', () => {
  it('each turn begins once and ends exactly once, and all ends in idle or muted within bounded time', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(9_000), input), { maxLength: 60 }), (inputs) => {
        const walk = new Walk();
        let now = 0;
        let made = 0;
        // Of four names each input means the one that is current, or one that never was: both happen often.
        const current = (id: string) =>
          id === 'a' ? 'gone' : (walk.machine.turn?.id ?? walk.machine.announcement?.id ?? 'none');
        for (const [after, chosen] of inputs) {
          now += after;
          // Whoever runs the machine tells it the time when the state is over, at the latest.
          while (walk.machine.until <= now) walk.take(walk.machine.until, { kind: 'time' });
          const named: Record<string, unknown> = { ...chosen };
          const begins = ['wake', 'button', 'ask', 'announce'].includes(chosen.kind);
          for (const key of ['turn', 'id'] as const)
            if (typeof named[key] === 'string') named[key] = begins ? `t${made++}` : current(named[key]);
          if (typeof named.followUp === 'string') named.followUp = `t${made++}`;
          walk.take(now, named as unknown as Input);
          const { state, muted, turn, announcement, until } = walk.machine;
          assert.equal(
            turn !== undefined || announcement !== undefined,
            ['listening', 'thinking', 'speaking'].includes(state),
          );
          assert.ok(!(turn && announcement));
          if (state === 'idle') assert.equal(muted, false);
          if (state === 'muted') assert.equal(muted, true);
          if (state === 'listening') assert.equal(muted, false, 'nothing is listened to while muted');
          assert.equal(until === Number.POSITIVE_INFINITY, state === 'idle' || state === 'muted');
          assert.ok(!(until < Number.POSITIVE_INFINITY) || until <= now + LIMITS.turnMs);
        }
        const end = now;
        let steps = 0;
        while (walk.machine.until < Number.POSITIVE_INFINITY) {
          assert.ok(++steps <= 10, 'it comes to rest in few steps');
          now = Math.max(now, walk.machine.until);
          walk.take(now, { kind: 'time', speech: steps % 2 === 0 });
        }
        assert.ok(now - end <= LIMITS.turnMs + LIMITS.errorMs, `it rests after ${now - end} ms`);
        assert.equal(walk.machine.state, walk.machine.muted ? 'muted' : 'idle');
        const begun = walk.done('begin').map(({ turn }) => turn);
        const ended = walk.done('end').map(({ turn }) => turn);
        assert.deepEqual(begun.toSorted(), ended.toSorted());
        assert.equal(new Set(begun).size, begun.length);
        const spoken = walk.done('announced').map(({ id }) => id);
        assert.equal(new Set(spoken).size, spoken.length);
      }),
      { numRuns: runs(500) },
    );
  });

  it('goes through a turn: wake, listening, thinking, speaking, idle', () => {
    const walk = new Walk();
    walk.take(0, { kind: 'wake', turn: 't' });
    walk.take(900, { kind: 'endpoint', turn: 't' });
    walk.take(1_000, { kind: 'answer', turn: 't', outcome: 'answered', say: true });
    walk.take(1_100, { kind: 'speaking', id: 't' });
    walk.take(9_000, { kind: 'time' });
    walk.take(20_000, { kind: 'spoken', id: 't' });
    assert.deepEqual(walk.states, ['listening', 'thinking', 'speaking', 'idle']);
    assert.deepEqual(walk.done('end'), [{ do: 'end', turn: 't', outcome: 'answered' }]);
  });

  const stories: readonly (readonly [
    title: string,
    inputs: readonly (readonly [at: number, input: Input])[],
    states: readonly string[],
    ends: readonly object[],
  ])[] = [
    [
      'two wakes at once are one turn',
      [
        [0, { kind: 'wake', turn: 't' }],
        [10, { kind: 'wake', turn: 'u' }],
        [8_000, { kind: 'time' }],
      ],
      ['listening', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'silent' }],
    ],
    [
      'a wake within the refractory time after a turn is no other turn',
      [
        [0, { kind: 'wake', turn: 't' }],
        [100, { kind: 'stop' }],
        [900, { kind: 'wake', turn: 'u' }],
      ],
      ['listening', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'cancelled', code: 'CANCELLED' }],
    ],
    [
      'a wake phrase while it speaks begins another turn',
      [
        [0, { kind: 'ask', turn: 't' }],
        [10, { kind: 'answer', turn: 't', outcome: 'answered', say: true }],
        [2_000, { kind: 'wake', turn: 'u' }],
        [10_000, { kind: 'time' }],
      ],
      ['thinking', 'speaking', 'listening', 'idle'],
      [
        { do: 'end', turn: 't', outcome: 'cancelled', code: 'CANCELLED' },
        { do: 'end', turn: 'u', outcome: 'silent' },
      ],
    ],
    [
      'who still speaks when listening is over has said a command',
      [
        [0, { kind: 'button', turn: 't' }],
        [8_000, { kind: 'time', speech: true }],
      ],
      ['listening', 'thinking'],
      [],
    ],
    [
      'a phrase without a command is listened to again, not longer than before',
      [
        [0, { kind: 'wake', turn: 't' }],
        [700, { kind: 'endpoint', turn: 't' }],
        [750, { kind: 'empty', turn: 't' }],
        [8_000, { kind: 'time' }],
      ],
      ['listening', 'thinking', 'listening', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'silent' }],
    ],
    [
      'an app that does not answer is apologised for, and its late answer changes nothing',
      [
        [0, { kind: 'ask', turn: 't' }],
        [15_000, { kind: 'time' }],
        [15_001, { kind: 'answer', turn: 't', outcome: 'answered', say: true }],
        [15_100, { kind: 'speaking', id: 't' }],
        [16_000, { kind: 'spoken', id: 't' }],
      ],
      ['thinking', 'speaking', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'failed', code: 'TIMEOUT' }],
    ],
    [
      'an answer that cannot be spoken is an error, which heals',
      [
        [0, { kind: 'ask', turn: 't' }],
        [10, { kind: 'answer', turn: 't', outcome: 'answered', say: true }],
        [20, { kind: 'unspoken', id: 't', code: 'SPEECH_FAILED' }],
        [3_020, { kind: 'time' }],
      ],
      ['thinking', 'speaking', 'error', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'failed', code: 'SPEECH_FAILED' }],
    ],
    [
      'speech that does not begin in time is an error',
      [
        [0, { kind: 'announce', id: 'x' }],
        [5_000, { kind: 'time' }],
        [8_000, { kind: 'time' }],
      ],
      ['speaking', 'error', 'idle'],
      [],
    ],
    [
      'a turn without end ends',
      [
        [0, { kind: 'ask', turn: 't' }],
        [10, { kind: 'answer', turn: 't', outcome: 'answered', say: true }],
        [20, { kind: 'speaking', id: 't' }],
        [60_000, { kind: 'time' }],
        [63_000, { kind: 'time' }],
      ],
      ['thinking', 'speaking', 'error', 'idle'],
      [{ do: 'end', turn: 't', outcome: 'failed', code: 'TIMEOUT' }],
    ],
    [
      'mute ends a turn that listens, and nothing wakes it any more',
      [
        [0, { kind: 'wake', turn: 't' }],
        [10, { kind: 'mute', muted: true }],
        [5_000, { kind: 'wake', turn: 'u' }],
        [5_000, { kind: 'button', turn: 'v' }],
      ],
      ['listening', 'muted'],
      [{ do: 'end', turn: 't', outcome: 'cancelled', code: 'VOICE_MUTED' }],
    ],
    [
      'who is muted while it speaks hears the answer, and is muted afterwards',
      [
        [0, { kind: 'ask', turn: 't' }],
        [10, { kind: 'answer', turn: 't', outcome: 'answered', say: true, followUp: 'u' }],
        [20, { kind: 'mute', muted: true }],
        [30, { kind: 'spoken', id: 't' }],
      ],
      ['thinking', 'speaking', 'muted'],
      [{ do: 'end', turn: 't', outcome: 'answered' }],
    ],
    [
      'an announcement waits for its turn: while one listens it is not begun',
      [
        [0, { kind: 'wake', turn: 't' }],
        [10, { kind: 'announce', id: 'x' }],
      ],
      ['listening'],
      [],
    ],
    [
      'an engine that is lost while one listens fails the turn',
      [
        [0, { kind: 'button', turn: 't' }],
        [10, { kind: 'deaf', code: 'ENGINE_MISSING' }],
        [20, { kind: 'button', turn: 'u' }],
      ],
      ['listening', 'error', 'listening'],
      [{ do: 'end', turn: 't', outcome: 'failed', code: 'ENGINE_MISSING' }],
    ],
  ];
  for (const [title, inputs, states, ends] of stories)
    it(title, () => {
      const walk = new Walk();
      for (const [at, one] of inputs) walk.take(at, one);
      assert.deepEqual(walk.states, states);
      assert.deepEqual(walk.done('end'), ends);
    });

  it('follow-ups come one after the other, and not for ever', () => {
    const walk = new Walk();
    walk.take(0, { kind: 'ask', turn: 't0' });
    for (let turn = 0; turn < 6; turn++) {
      walk.take(turn, { kind: 'endpoint', turn: `t${turn}` });
      walk.take(turn, { kind: 'answer', turn: `t${turn}`, outcome: 'answered', say: false, followUp: `t${turn + 1}` });
    }
    assert.deepEqual(
      walk.done('begin').map(({ source }) => source),
      ['text', 'follow-up', 'follow-up', 'follow-up'],
    );
    assert.equal(walk.machine.state, 'idle');
  });
});
