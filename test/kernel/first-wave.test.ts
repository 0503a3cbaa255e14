/** What says `early` is there before the code of the rest is imported, and holds nobody up beyond its own start. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

/** Writes down when its start begins and ends; that takes some turns of the event loop. */
function plugin(id: string, seen: string[], more: Partial<MemoryPlugin> = {}): MemoryPlugin {
  return {
    id,
    plugin: {
      async setup() {
        seen.push(`+${id}`);
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        seen.push(id);
      },
    },
    ...more,
  };
}

const early = { early: true } as const;
const CASES: readonly {
  readonly title: string;
  readonly plugins: (seen: string[]) => readonly MemoryPlugin[];
  readonly seen: readonly string[];
  readonly failed?: readonly string[];
}[] = [
  {
    title: 'the first wave is over before the rest begins, whatever the order of the lines',
    plugins: (seen) => [
      plugin('a', seen),
      plugin('front', seen, { ...early, requires: { table: '^1.0.0' } }),
      plugin('table', seen, { ...early, provides: { table: '1.0.0' } }),
    ],
    seen: ['+table', 'table', '+front', 'front', '+a', 'a'],
  },
  {
    title: 'one that waits for a plugin of the rest holds nobody up',
    plugins: (seen) => [
      plugin('front', seen, { ...early, requires: { table: '^1.0.0' } }),
      plugin('table', seen, { provides: { table: '1.0.0' } }),
    ],
    seen: ['+table', 'table', '+front', 'front'],
  },
  {
    title: 'one that fails holds nobody up',
    plugins: (seen) => [
      plugin('a', seen),
      { id: 'front', ...early, plugin: { setup: () => Promise.reject(new Error('broken')) } },
    ],
    seen: ['+a', 'a'],
    failed: ['front'],
  },
  {
    title: 'one that is disabled holds nobody up',
    plugins: (seen) => [plugin('a', seen), plugin('front', seen, { ...early, enabled: false })],
    seen: ['+a', 'a'],
  },
  {
    title: 'a plugin from outside does not go before the others',
    plugins: (seen) => [plugin('a', seen), plugin('guest', seen, { ...early, tree: false })],
    seen: ['+a', '+guest', 'a', 'guest'],
  },
  {
    title: 'a gatekeeper of the first wave looks at the rest of it',
    plugins: (seen) => [
      plugin('front', seen, early),
      plugin('store', seen, { ...early, taps: ['plugin.verify'] }),
      plugin('a', seen),
    ],
    seen: ['+store', 'store', '+front', 'front', '+a', 'a'],
  },
];

for (const { title, plugins, seen: expected, failed = [] } of CASES)
  test(title, async () => {
    const seen: string[] = [];
    await using core = memoryKernel(plugins(seen));
    await core.kernel.start();
    assert.deepEqual(seen, expected);
    const states = Object.entries(await core.states());
    assert.deepEqual(
      states.filter(([, state]) => state === 'failed').map(([id]) => id),
      failed,
    );
  });

test('a later restart delays no other plugin', async () => {
  const seen: string[] = [];
  await using core = memoryKernel([plugin('a', seen), plugin('front', seen, early)]);
  await core.kernel.start();
  seen.length = 0;
  await Promise.all([core.kernel.restart('front'), core.kernel.restart('a')]);
  assert.deepEqual(seen.filter((one) => one.startsWith('+')).sort(), ['+a', '+front']);
  assert.ok(seen.indexOf('+a') < seen.indexOf('front'), seen.join(' '));
});
