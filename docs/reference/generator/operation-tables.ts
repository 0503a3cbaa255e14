import type { SkuManifest } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { metrics } from '@device-core/plugin-api/telemetry';
import { parse } from 'yaml';
import { startCore } from '../../../test/fixtures/core.ts';
import type { Input } from './input.ts';
import { readSource } from './source.ts';

/** What a Core with every plugin of the simulator offers, read from its own table. */
export async function readTables(): Promise<Pick<Input, 'operations' | 'streams' | 'metrics'>> {
  const { plugins } = parse(readSource('manifests/skus/simulator.yaml')) as SkuManifest;
  await using core = await startCore({ plugins });
  const { plugins: all } = await core.kernel.status();
  const idle = all.filter(({ state }) => state !== 'active');
  if (idle.length > 0)
    throw new Error(`not every plugin runs: ${idle.map(({ id, reason }) => `${id} (${reason})`).join(', ')}`);
  const table = core.service(operations);
  const told = await core.service(metrics).collect();
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  return {
    operations: [...(await table.list())].sort(byName),
    streams: [...(await table.streams())].sort(byName),
    metrics: told.map(({ name }) => name),
  };
}
