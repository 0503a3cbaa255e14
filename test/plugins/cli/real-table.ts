import { readFileSync } from 'node:fs';
import type { SkuManifest } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { parse } from 'yaml';
import { startCore } from '../../fixtures/core.ts';

/** The OpenRPC document of a Core with every plugin of the simulator. It takes two seconds of CPU: for one file of tests, not for each. */
export async function realTable(): Promise<object> {
  const file = new URL('../../../manifests/skus/simulator.yaml', import.meta.url);
  const { plugins } = parse(readFileSync(file, 'utf8')) as SkuManifest;
  await using core = await startCore({ plugins });
  const call = {
    caller: { kind: 'operator', id: 'operator' },
    signal: new AbortController().signal,
    deadline: Date.now() + 10_000,
  } as const;
  return (await core.service(operations).invoke('rpc.discover', {}, call)) as object;
}
