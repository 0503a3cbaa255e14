import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { CoreError } from '@device-core/plugin-api';
import { readCharacter } from '@device-core/plugin-api/inside/character/read';
import {
  CHARACTER_STATES,
  type CharacterMoment,
  characterNodes,
  checkScene,
  EXPRESSIONS,
  MOUTHS,
  Mouth,
  mouthOf,
  nodesOf,
} from '@device-core/plugin-api/scene';
import fc from 'fast-check';
import { PIP, PIP_TEXT } from '../../fixtures/character.ts';

const BASE: CharacterMoment = { state: 'idle', expression: 'neutral', at: 10_000, since: 0, w: 300, h: 300 };
const look = (moment: Partial<CharacterMoment>) => characterNodes(PIP, { ...BASE, ...moment });

describe('A character is read', () => {
  const line = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length;
  const cases: readonly (readonly [what: string, from: string, to: string, reason: RegExp])[] = [
    ['another version', 'character: 1', 'character: 2', /it must be one of 1/],
    ['an unknown member', 'title: Pip', 'titel: Pip', /titel.*did you mean title/],
    ['a member of a part with a typing error', 'id: ground, x: 72', 'id: ground, xx: 72', /no member xx/],
    ['a kind that is not drawn', '{ kind: rect, id: dash', '{ kind: sprite, id: dash', /image|no member|missing/],
    ['an id that is there twice', 'id: cheek-right', 'id: cheek-left', /cheek-left is the id of/],
    ['a colour that is none', 'fill: "@shadow"', 'fill: "@shadoww"', /shadow/],
    ['a path that is none', 'd: "M1 23 C -2 8 10 -2 30 1 C 30 16 18 27 1 23 Z"', 'd: "M1 23 K"', /K|path/],
    ['a change of a part that is not there', 'pebble: { fill', 'peble: { fill', /no part peble; did you mean pebble/],
    [
      'a change to something that cannot be',
      'dash: { opacity: 1, fill',
      'dash: { kind: path, opacity: 1, fill',
      /cannot be changed/,
    ],
    ['a motion of a part that is not there', 'part: dot-3', 'part: dot-4', /no part dot-4/],
    ['a motion that is faster than eyes', 'ms: 1400', 'ms: 1', /from 100 to 60000/],
    ['a blink that never ends', 'every: [2600, 6200]', 'every: [6200, 2600]', /must not be more/],
    ['a state that is not drawn', '  thinking:\n', '  dreaming:\n', /dreaming/],
    ['a syntax that is none', 'title: Pip', 'title: [Pip', /indentation/],
  ];
  for (const [what, from, to, reason] of cases)
    test(`${what} is refused with its line`, () => {
      assert.ok(PIP_TEXT.includes(from), from);
      const text = PIP_TEXT.replace(from, () => to);
      assert.throws(
        () => readCharacter(text, 'pip/character.yaml'),
        (error) => {
          assert.ok(error instanceof CoreError && error.code === 'SCENE_INVALID', String(error));
          assert.match(error.message, reason);
          const told = Number(/line (\d+)/.exec(error.message)?.[1]);
          // Faults of syntax are told where the parser saw them.
          if (!what.includes('syntax')) assert.equal(told, line(PIP_TEXT, from.trim()), error.message);
          return true;
        },
      );
    });

  test('every mouth, state and expression must be there', () => {
    const { round: _, ...mouth } = PIP.mouth;
    const { states, expressions } = PIP;
    for (const missing of [{ mouth }, { states: { idle: {} } }, { expressions: {} }])
      assert.throws(
        () => readCharacter(JSON.stringify({ ...PIP, states, expressions, ...missing }), 'x'),
        /it is missing/,
      );
  });
});

describe('A character at a moment', () => {
  test('is a scene in each state, expression and mouth, within its box', () => {
    for (const state of CHARACTER_STATES)
      for (const expression of EXPRESSIONS)
        for (const mouth of state === 'speaking' ? MOUTHS : [undefined]) {
          const { nodes } = look({ state, expression, mouth });
          checkScene({ scene: 1, nodes }, 'the character');
          for (const { id, x = 0, y = 0, w = 0, h = 0 } of nodes)
            assert.ok(x >= -20 && y >= -20 && x + w <= 320 && y + h <= 320, `${state} ${id} ${x} ${y} ${w} ${h}`);
        }
  });

  test('looks different in each of its states, expressions and mouths', () => {
    const all = [
      ...CHARACTER_STATES.map((state) => look({ state })),
      ...EXPRESSIONS.slice(1).map((expression) => look({ expression })),
      ...MOUTHS.slice(1).map((mouth) => look({ state: 'speaking', mouth })),
    ].map(({ nodes }) => JSON.stringify(nodes));
    assert.equal(new Set(all).size, all.length);
  });

  test('an expression does not change with a mouth at rest', () => {
    assert.deepEqual(look({ expression: 'happy', mouth: 'open' }).nodes, look({ expression: 'happy' }).nodes);
  });

  for (const state of ['muted', 'error'] as const)
    test(`${state} is still`, () => {
      const { nodes, next } = look({ state });
      assert.equal(next, undefined);
      assert.deepEqual(look({ state, at: 123_456 }).nodes, nodes);
    });

  test('nothing moves where less motion is asked for', () => {
    for (const state of CHARACTER_STATES)
      for (const mouth of ['open', 'wide'] as const) {
        const before = { state: 'idle', expression: 'sad' } as const;
        const still = (at: number) => look({ state, mouth, at, since: at - 5, before, reducedMotion: true });
        assert.equal(still(10_000).next, undefined);
        assert.deepEqual(still(10_000).nodes, still(13_777).nodes);
      }
    assert.deepEqual(
      look({ state: 'speaking', mouth: 'open', reducedMotion: true }).nodes,
      look({ state: 'speaking', mouth: 'round', reducedMotion: true }).nodes,
    );
  });

  test('an idle one is painted a few times after a turn, and then never', () => {
    let pictures = 0;
    let at = 0;
    for (let next: number | undefined = 0; next !== undefined; at += next ?? 0) {
      ({ next } = look({ at }));
      pictures++;
    }
    assert.equal(at, 30_000);
    assert.ok(pictures > 20 && pictures < 150, `${pictures} pictures`);
    assert.deepEqual(look({ at: 30_000 }).nodes, look({ at: 30_000, gaze: [0, 0], reducedMotion: true }).nodes);
  });

  test('it is the same until the moment it says, and another at once or soon after', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CHARACTER_STATES),
        fc.constantFrom(...EXPRESSIONS),
        fc.integer({ min: 0, max: 90_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (state, expression, at, part) => {
          const before = { state: 'thinking', expression: 'happy' } as const;
          const { nodes, next } = look({ state, expression, at, before });
          if (next === undefined) return;
          assert.ok(next >= 1);
          assert.deepEqual(look({ state, expression, at: at + (next - 1) * part, before }).nodes, nodes);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('motions go in steps: half a unit, a degree, a hundredth of a size', () => {
    const positions = new Set<number>();
    for (let at = 0; at < 4_000; at += 7) {
      const ring = [...nodesOf(look({ state: 'listening', at }).nodes)].find(({ id }) => id === 'ring');
      positions.add(Math.round(ring!.scale! * 1e6));
    }
    assert.ok(positions.size <= 13, `${positions.size} sizes`);
  });

  test('a new pose comes gradually, and is there after a quarter of a second', () => {
    const before = { state: 'idle', expression: 'neutral' } as const;
    const eye = (at: number) => {
      const { nodes } = look({ expression: 'surprised', at, since: 10_000, before, gaze: [0, 0] });
      return [...nodesOf(nodes)].find(({ id }) => id === 'eye-left')!.w!;
    };
    const widths = [10_000, 10_080, 10_160, 10_240].map(eye);
    assert.deepEqual(
      widths.toSorted((a, b) => a - b),
      widths,
    );
    assert.ok(widths[0]! < widths[3]!);
    assert.equal(widths[3], (28 * 300) / 240);
  });

  test('where it looks moves its face, and no more than its face', () => {
    const [left, right] = [look({ gaze: [-1, 0] }).nodes, look({ gaze: [1, 0] }).nodes];
    const changed = [...nodesOf(left)].filter((node) => {
      const other = [...nodesOf(right)].find(({ id }) => id === node.id)!;
      const { nodes: _, ...own } = node as { nodes?: unknown };
      const { nodes: __, ...others } = other as { nodes?: unknown };
      return !isDeepStrictEqual(own, others);
    });
    assert.deepEqual(changed.map(({ id }) => id).toSorted(), Object.keys(PIP.gaze!).toSorted());
  });

  test('it keeps its shape in a box of any form', () => {
    const [tall, square] = [look({ w: 300, h: 500 }), look({ w: 300, h: 300 })];
    assert.deepEqual(
      tall.nodes.map(({ w, h }) => [w, h]),
      square.nodes.map(({ w, h }) => [w, h]),
    );
    assert.equal(tall.nodes[0]!.y! - square.nodes[0]!.y!, 100);
  });
});

describe('A mouth', () => {
  test('opens as far for a soft voice as for a loud one, and as often for a dark one as for a bright one', () => {
    const shapesOf = (gain: number, tone: number) => {
      const mouth = new Mouth();
      const counts: Record<string, number> = {};
      for (let index = 0; index < 600; index++) {
        const rms = gain * [0.05, 0.6, 1, 0.9, 0.3, 0.8][index % 6]!;
        const brightness = tone * [1, 1, 0.4, 1, 1, 2.2][index % 6]!;
        mouth.take([{ at: index * 40, rms, brightness }]);
        const { shape } = mouth.at(index * 40);
        if (index > 100) counts[shape] = (counts[shape] ?? 0) + 1;
      }
      return counts;
    };
    const counts = shapesOf(0.06, 0.02);
    for (const shape of ['closed', 'small', 'open', 'wide', 'round']) assert.ok(counts[shape]! > 50, shape);
    assert.deepEqual(shapesOf(0.5, 0.2), counts);
  });

  const cases = [
    ['nothing', 0, 0.06, 'rest'],
    ['a breath', 0.015, 0.06, 'closed'],
    ['soft speech', 0.05, 0.06, 'small'],
    ['loud speech', 0.15, 0.06, 'open'],
    ['a bright vowel', 0.15, 0.12, 'wide'],
    ['a dark vowel', 0.15, 0.02, 'round'],
  ] as const;
  for (const [what, rms, brightness, shape] of cases)
    test(`is ${shape} at ${what}`, () => assert.equal(mouthOf({ rms, brightness }), shape));

  test('does not tremble where the sound is between two shapes', () => {
    let shape = mouthOf({ rms: 0.095, brightness: 0.06 });
    const shapes = new Set([shape]);
    for (let step = 0; step < 50; step++) {
      shape = mouthOf({ rms: step % 2 ? 0.08 : 0.095, brightness: step % 3 ? 0.06 : 0.085 }, shape);
      shapes.add(shape);
    }
    assert.deepEqual([...shapes], ['open']);
  });

  test('is that of now, though levels come ahead of time; and rests after the last', () => {
    const mouth = new Mouth();
    mouth.take([
      { at: 100, rms: 0.2, brightness: 0.06 },
      { at: 140, rms: 0.05, brightness: 0.06 },
      { at: 180, rms: 0, brightness: 0 },
    ]);
    assert.deepEqual(mouth.at(60), { shape: 'rest', next: 40 });
    assert.deepEqual(mouth.at(110), { shape: 'open', next: 30 });
    assert.deepEqual(mouth.at(150), { shape: 'small', next: 30 });
    assert.deepEqual(mouth.at(180), { shape: 'rest' });
  });

  test('shuts where the end of the sound was lost', () => {
    const mouth = new Mouth();
    mouth.take([{ at: 0, rms: 0.2, brightness: 0.06 }]);
    assert.deepEqual(mouth.at(50), { shape: 'open', next: 150 });
    assert.deepEqual(mouth.at(200), { shape: 'rest' });
  });

  test('takes a new state in place of the former one', () => {
    const mouth = new Mouth();
    mouth.take([0, 40, 80].map((at) => ({ at, rms: 0.2, brightness: 0.06 })));
    mouth.take([{ at: 30, rms: 0, brightness: 0 }]);
    assert.equal(mouth.at(20).shape, 'open');
    assert.deepEqual(mouth.at(90), { shape: 'rest' });
  });
});
