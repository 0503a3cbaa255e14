/** Row 42: what one more subscription costs an app whose session has 10,000. */
import { collectGarbage, type Measured, measureCpu, quartiles, type Row, type RunOptions } from '../harness.ts';
import { type AppClient, appClient } from '../workloads/app-client.ts';
import { start } from '../workloads/rpc-clients.ts';

const HELD = 10_000;
const BATCH = 500;

const filterOf = (index: number) => `audio.t${index}.*`;

async function hold(client: AppClient): Promise<void> {
  for (let from = 0; from < HELD; from += BATCH)
    await client.call('events.subscribe', {
      filters: Array.from({ length: BATCH }, (_, index) => filterOf(from + index)),
    });
}

async function run({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const calls = quick ? 200 : 1_000;
  using core = await start('state-core.ts', JSON.stringify({ filters: 2 * HELD }));
  await using client = await appClient((core.said as { path: string }).path);
  await hold(client);
  const costs: Record<'subscribe' | 'unsubscribe', number[]> = { subscribe: [], unsubscribe: [] };
  for (let round = -1; round < (quick ? 5 : 15); round++)
    for (const verb of ['subscribe', 'unsubscribe'] as const) {
      collectGarbage();
      const load = async () => {
        for (let call = 0; call < calls; call++) await client.call(`events.${verb}`, { filter: filterOf(HELD + call) });
      };
      const { cpu } = await measureCpu(load, [core.pid]);
      if (round >= 0) costs[verb].push(cpu / calls / 1_000);
    }
  return { subscribe: quartiles(costs.subscribe), unsubscribe: quartiles(costs.unsubscribe) };
}

export const rows: readonly Row[] = [
  {
    id: 42,
    title: 'events.subscribe and events.unsubscribe of a session with 10,000 filters (CPU of Core and app)',
    goals: [
      { name: 'subscribe', goal: 0.1, unit: 'ms' },
      { name: 'unsubscribe', goal: 0.1, unit: 'ms' },
    ],
    run,
  },
];
