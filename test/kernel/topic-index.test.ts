import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CoreError, checkTopic, matchesTopic, parseFilter } from '@device-core/plugin-api';
import fc from 'fast-check';
import { TopicIndex } from '../../kernel/bus/topic-index.ts';
import { runs } from '../fixtures/runs.ts';

/** Few different segments, so that filters and topics meet; `Aa` and `BB` have the same hash. */
const segment = fc.constantFrom('a', 'b', 'event', 'app', 'Aa', 'BB', 'x-1', '_');
const topic = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join('.'));
const filter = fc
  .tuple(
    fc.array(fc.oneof(segment, fc.constant('*')), { minLength: 0, maxLength: 5 }),
    fc.constantFrom('', '**', '*', 'a'),
  )
  .map(([segments, last]) => [...segments, ...(last ? [last] : [])].join('.'))
  .filter((text) => text !== '');

interface Value {
  readonly filters: readonly string[];
  mark: number;
}

function change(index: TopicIndex<Value>, verb: 'add' | 'remove', value: Value): void {
  const paths = new Map(value.filters.map(parseFilter).map((path) => [path.join('.'), path]));
  for (const path of paths.values()) index[verb](path, value);
}

function matching(values: Iterable<Value>, wanted: string): Value[] {
  return [...values].filter(({ filters }) => filters.some((one) => matchesTopic(one, wanted)));
}

function sameSet(found: readonly Value[], expected: readonly Value[]): void {
  assert.equal(found.length, expected.length);
  assert.deepEqual(new Set(found), new Set(expected));
}

describe('the topic index', () => {
  it('finds exactly what matchesTopic() finds, each value once, while values come and go', () => {
    const step = fc.oneof(
      fc.record({ add: fc.array(filter, { minLength: 1, maxLength: 4 }) }),
      fc.record({ remove: fc.nat() }),
      fc.record({ look: topic }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60, size: 'max' }),
        fc.array(topic, { maxLength: 10 }),
        (steps, topics) => {
          const index = new TopicIndex<Value>(4);
          const values: Value[] = [];
          for (const one of steps) {
            if ('add' in one) {
              values.push({ filters: one.add, mark: 0 });
              change(index, 'add', values.at(-1)!);
            } else if ('look' in one) sameSet(index.lookup(one.look), matching(values, one.look));
            else if (values.length > 0) change(index, 'remove', values.splice(one.remove % values.length, 1)[0]!);
          }
          for (const one of [...topics, ...topics, ...topics]) sameSet(index.lookup(one), matching(values, one));
        },
      ),
      { numRuns: runs(300) },
    );
  });

  it('refuses exactly the topics that checkTopic() refuses', () => {
    const text = fc.oneof(
      topic,
      fc.string({ maxLength: 20 }),
      fc.array(fc.constantFrom('a', '.', '*', 'é', ' ', '\u0080'), { maxLength: 12 }).map((parts) => parts.join('')),
      fc.integer({ min: 14, max: 18 }).map((count) => Array(count).fill('s').join('.')),
      fc.integer({ min: 250, max: 260 }).map((length) => 'l'.repeat(length)),
    );
    const refusal = (attempt: () => unknown): string => {
      try {
        attempt();
      } catch (error) {
        return (error as CoreError).toWire();
      }
      return '';
    };
    fc.assert(
      fc.property(text, (one) => {
        const index = new TopicIndex<Value>(4);
        assert.equal(
          refusal(() => index.lookup(one)),
          refusal(() => checkTopic(one)),
        );
      }),
      { numRuns: runs(500) },
    );
    for (const wrong of [undefined, null, 5, {}] as unknown as string[])
      assert.throws(() => new TopicIndex<Value>(4).lookup(wrong), { code: 'TOPIC_INVALID' });
  });

  it('stays right when topics never repeat, and when they begin to repeat again', () => {
    const index = new TopicIndex<Value>(64);
    const value: Value = { filters: ['room.*.light'], mark: 0 };
    change(index, 'add', value);
    for (let i = 0; i < 20_000; i++) assert.equal(index.lookup(`room.r${i}.light`).length, 1);
    for (let i = 0; i < 2_000; i++)
      assert.equal(index.lookup(`room.r${i % 40}.${i % 2 ? 'light' : 'door'}`).length, i % 2);
    change(index, 'remove', value);
    for (let i = 0; i < 2_000; i++) assert.equal(index.lookup(`room.r${i % 40}.light`).length, 0);
  });
});
