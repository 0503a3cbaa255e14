/** Apps that wait for each other in a circle are refused, and no others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { waitingForThemselves } from '../../../plugins/apps/apps/start-order.ts';

const apps = (edges: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(edges).map(([id, after]) => ({ id, lifecycle: { after } }));

test('a circle is told with its way, and who only waits for it is not part of it', () => {
  const found = waitingForThemselves(
    apps({ a: ['b'], b: ['c'], c: ['a'], d: ['a'], e: ['d', 'none'], f: [], g: ['g'] }),
  );
  assert.deepEqual(Object.fromEntries(found), {
    a: ['a', 'b', 'c', 'a'],
    b: ['b', 'c', 'a', 'b'],
    c: ['c', 'a', 'b', 'c'],
    g: ['g', 'g'],
  });
});

test('the rest has an order, and each refused app leads back to itself', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  fc.assert(
    fc.property(fc.dictionary(id, fc.array(id, { maxLength: 4 })), (edges) => {
      const all = apps(edges);
      const after = new Map<string, readonly string[]>(Object.entries(edges));
      const circles = waitingForThemselves(all);
      for (const [one, way] of circles) {
        assert.deepEqual([way[0], way.at(-1)], [one, one]);
        for (let at = 1; at < way.length; at++) assert.ok(after.get(way[at - 1]!)?.includes(way[at]!), way.join(' '));
      }
      let left = all.filter((app) => !circles.has(app.id));
      for (let before = -1; before !== left.length; ) {
        before = left.length;
        left = left.filter((app) => app.lifecycle.after.some((other) => left.some((one) => one.id === other)));
      }
      assert.deepEqual(left, []);
    }),
  );
});
