import type { MetricData, MetricSource } from '@device-core/plugin-api/telemetry';
import type { App } from './app.ts';
import type { Budget } from './app-budget.ts';

const MIB = 1 << 20;
const WHY = 'Shows which app takes more than it should';
const NAMED = { level: 'full', why: WHY } as const;

/** Budgets as metrics: name, unit, factor, description. */
const BUDGETS = {
  memory: ['device.app.memory.usage', 'By', MIB, 'Memory of an app, all its processes'],
  cpu: ['device.app.cpu.utilization', '1', 0.01, 'Processors that an app takes'],
  tasks: ['device.app.tasks', '{task}', 1, 'Processes and threads of an app'],
  storage: ['device.app.storage.usage', 'By', MIB, 'Bytes that an app keeps'],
  cache: ['device.app.cache.usage', 'By', MIB, 'Bytes in the cache of an app'],
} as const satisfies Readonly<
  Record<Budget, readonly [name: string, unit: string, factor: number, description: string]>
>;

/** Metrics of the last measurements; collecting measures nothing anew. */
export function appSource(apps: () => readonly App[]): MetricSource {
  return {
    collect: async () => {
      const byBudget = new Map<Budget, { labels: { app: string }; value: number }[]>();
      const states = new Map<string, number>();
      for (const app of apps()) {
        states.set(app.state, (states.get(app.state) ?? 0) + 1);
        for (const { budget, used } of app.budget.uses()) {
          const point = { labels: { app: app.manifest.id }, value: used * BUDGETS[budget][2] };
          byBudget.set(budget, [...(byBudget.get(budget) ?? []), point]);
        }
      }
      const count: MetricData = {
        name: 'device.apps',
        kind: 'gauge',
        unit: '{app}',
        description: 'Apps by state',
        level: 'crash',
        why: 'Shows devices with apps that failed',
        points: [...states].map(([state, value]) => ({ labels: { state }, value })),
      };
      const budgets = [...byBudget].map(([budget, points]): MetricData => {
        const [name, unit, , description] = BUDGETS[budget];
        return { name, kind: 'gauge', unit, description, points, ...NAMED };
      });
      return [count, ...budgets];
    },
  };
}
