/** Rows 40 and 41: what it costs to change a setting as an app does, beside one durable write of the same bytes. */
import { watch } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { alternate, type Measured, quartiles, type Row, type RunOptions } from '../harness.ts';
import { type AppClient, appClient } from '../workloads/app-client.ts';
import { start, temporary } from '../workloads/rpc-clients.ts';

/** The bare minimum: a temporary file, fsync, rename, fsync of the folder. */
async function durableWrite(folder: string, bytes: Buffer): Promise<void> {
  const temporary = join(folder, 'settings.tmp');
  const file = await open(temporary, 'wx', 0o600);
  await file.writeFile(bytes);
  await file.sync();
  await file.close();
  await rename(temporary, join(folder, 'settings'));
  const directory = await open(folder, 'r');
  await directory.sync();
  await directory.close();
}

async function fill(client: AppClient, keys: number): Promise<void> {
  for (let from = 0; from < keys; from += 32)
    await Promise.all(
      Array.from({ length: Math.min(32, keys - from) }, (_, index) =>
        client.call('config.set', { key: `bench.k${from + index}`, value: `a value of some length ${from + index}` }),
      ),
    );
}

const fileOf = (said: unknown) => join((said as { var: string }).var, 'apps/com.example.a/config.yaml');
const pathOf = (said: unknown) => (said as { path: string }).path;

async function against(keys: number, { quick }: RunOptions): Promise<Measured> {
  const calls = quick ? 20 : 50;
  using core = await start('state-core.ts');
  await using client = await appClient(pathOf(core.said));
  await fill(client, keys);
  using place = temporary();
  const bytes = await readFile(fileOf(core.said));
  let count = 0;
  const set = () =>
    client.call('config.set', { key: `bench.k${count++ % keys}`, value: `a value of some length ${count}` });
  const { cpu } = await alternate(
    {
      operations: calls,
      pids: [core.pid],
      load: async () => {
        for (let call = 0; call < calls; call++) await set();
      },
    },
    {
      operations: calls,
      load: async () => {
        for (let call = 0; call < calls; call++) await durableWrite(place.path, bytes);
      },
    },
    quick ? 5 : 15,
    2,
  );
  return cpu;
}

/** How often the file is replaced while so many changes of it are in flight. */
async function writesOf(inFlight: number, rounds: number): Promise<Measured> {
  using core = await start('state-core.ts');
  await using client = await appClient(pathOf(core.said));
  await fill(client, inFlight);
  let writes = 0;
  const watcher = watch(join(fileOf(core.said), '..'), (event, name) => {
    if (event === 'rename' && name === 'config.yaml') writes += 1;
  });
  const found: number[] = [];
  for (let round = 0; round < rounds; round++) {
    writes = 0;
    await Promise.all(
      Array.from({ length: inFlight }, (_, index) =>
        client.call('config.set', { key: `bench.k${index}`, value: round }),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 20)); // what the kernel still has to tell of them
    found.push(writes);
  }
  watcher.close();
  if (found.some((count) => count === 0)) throw new Error('no write was seen: this measures nothing');
  return quartiles(found);
}

export const rows: readonly Row[] = [
  {
    id: 40,
    title: 'config.set by an app, against one durable write of the same bytes (CPU of Core and app)',
    goals: [
      { name: '1 key', goal: 2, floor: 1 },
      { name: '1,000 keys', goal: 5, floor: 1 },
    ],
    run: async (options) => ({ '1 key': await against(1, options), '1,000 keys': await against(1_000, options) }),
  },
  {
    id: 41,
    title: 'config.set, 32 in flight: writes of the file',
    goals: [{ name: 'writes', goal: 4, unit: 'writes' }],
    run: async ({ quick }) => ({ writes: await writesOf(32, quick ? 5 : 20) }),
  },
];
