/** Apps start after those that they name; the limits of pings; what an app wrote. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { pingLimits } from '../../../plugins/apps/apps/ping.ts';
import { startInOrder, waitingForThemselves } from '../../../plugins/apps/apps/start-order.ts';
import { CONNECT, callAs, eventually, manifestOf, putApp, startBench } from './fixture.ts';

after(leakCheck());

describe('the order of starts', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
  const graph = fc
    .array(fc.uniqueArray(fc.constantFrom(...NAMES, 'elsewhere'), { maxLength: 4 }), { minLength: 6, maxLength: 6 })
    .map((lists) => new Map<string, readonly string[]>(NAMES.map((name, index) => [name, lists[index]!])));

  it('keeps everybody behind those that it names, starts all but the cycles once, and never too many at a time', async () => {
    await fc.assert(
      fc.asyncProperty(graph, fc.integer({ min: 1, max: 3 }), async (wanted, atOnce) => {
        const cycles = waitingForThemselves([...wanted].map(([id, names]) => ({ id, lifecycle: { after: names } })));
        const rest = new Map([...wanted].filter(([app]) => !cycles.has(app)));
        const done: string[] = [];
        let now = 0;
        await startInOrder(rest, atOnce, async (app) => {
          now += 1;
          assert.ok(now <= atOnce);
          for (const before of rest.get(app) ?? [])
            if (rest.has(before)) assert.ok(done.includes(before), `${app} before ${before}`);
          await Promise.resolve();
          now -= 1;
          done.push(app);
        });
        assert.deepEqual(done.toSorted(), [...rest.keys()].toSorted());
      }),
      { numRuns: 60 },
    );
  });

  it('is kept when the device starts', async () => {
    const id = (name: string) => `com.example.${name}`;
    const put = (installed: string, name: string, ...names: readonly string[]) =>
      putApp(installed, manifestOf(id(name), { lifecycle: { after: names.map(id) } }));
    await using bench = await startBench({
      prepare: async (installed) => {
        await put(installed, 'a', 'b', 'elsewhere');
        await put(installed, 'b', 'c');
        await put(installed, 'c');
      },
    });
    await bench.host.hook('kernel.ready').promise();
    await bench.reach(id('a'), 'running');
    assert.deepEqual(
      bench.journal.flatMap((line) => (line.startsWith('identity.launched') ? [line.split('.').at(-1)] : [])),
      ['c', 'b', 'a'],
    );
  });
});

it('the limits of pings are the manifest’s where it says some', () => {
  const usual = { everyMs: 15_000, limitMs: 2_000, misses: 3 };
  assert.deepEqual(pingLimits(usual), usual);
  assert.deepEqual(pingLimits(usual, { intervalMs: 1_000, failures: 5 }), {
    everyMs: 1_000,
    limitMs: 2_000,
    misses: 5,
  });
});

it('apps.logs tells what an app wrote, and nothing more than was asked for', async () => {
  const script = `console.log('one'); console.error('two'); console.log('three');${CONNECT}`;
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf('com.example.demo'), script),
  });
  await bench.apps.start('com.example.demo');
  const ask = async (lines?: number) =>
    (await bench
      .operation('apps.logs')
      .run({ id: 'demo', ...(lines && { lines }) }, callAs({ kind: 'operator', id: 'operator' }))) as {
      readonly lines: readonly { readonly text: string; readonly from: string }[];
    };
  const all = await eventually(async () => {
    const { lines } = await ask();
    return lines.length === 3 ? lines : undefined;
  }, 'three lines');
  assert.deepEqual(all.map(({ from, text }) => `${from} ${text}`).toSorted(), [
    'stderr two',
    'stdout one',
    'stdout three',
  ]);
  assert.equal((await ask(2)).lines.length, 2);
});
