/** What apps take, as metrics: by name with the highest consent alone. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import type { App } from '../../../plugins/apps/apps/app.ts';
import type { BudgetUse } from '../../../plugins/apps/apps/app-budget.ts';
import { appSource } from '../../../plugins/apps/apps/app-source.ts';

after(leakCheck());

function app(id: string, state: App['state'], uses: readonly Pick<BudgetUse, 'budget' | 'used'>[]): App {
  return { state, manifest: { id }, budget: { uses: () => uses } } as unknown as App;
}

test('apps are counted by state, and what each takes is told by its name', async () => {
  const memory = [
    { budget: 'memory', used: 2 },
    { budget: 'cpu', used: 50 },
  ] as const;
  const apps = [app('com.a', 'running', memory), app('com.b', 'running', []), app('com.c', 'failed', [])];
  const told = await appSource(() => apps).collect();
  assert.deepEqual(
    told.map(({ name, level, points }) => [name, level, points]),
    [
      [
        'device.apps',
        'crash',
        [
          { labels: { state: 'running' }, value: 2 },
          { labels: { state: 'failed' }, value: 1 },
        ],
      ],
      ['device.app.memory.usage', 'full', [{ labels: { app: 'com.a' }, value: 2_097_152 }]],
      ['device.app.cpu.utilization', 'full', [{ labels: { app: 'com.a' }, value: 0.5 }]],
    ],
  );
});
