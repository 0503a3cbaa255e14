/** A listener that asks for the list at each change has it as it is: home, voice and the launcher do. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Bench, eventually, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const RUNNING = manifestOf(ID);
const ASLEEP = manifestOf(ID, { lifecycle: { autostart: false } });

/** The list as a listener knows it. */
function follow(bench: Bench) {
  let seen: readonly string[] = [];
  const look = async () => {
    seen = (await bench.apps.list()).map(({ id }) => id);
  };
  return { listener: bench.apps.onChange(() => void look()), seen: () => seen };
}

for (const [what, manifest] of [
  ['that runs', RUNNING],
  ['that never ran', ASLEEP],
] as const)
  test(`an app ${what} comes into the list of a listener, and leaves it when its folder goes`, async () => {
    await using bench = await startBench();
    await bench.host.hook('kernel.ready').promise();
    const { listener, seen } = follow(bench);
    using _ = listener;
    const folder = await putApp(bench.installed, manifest);
    await bench.apps.refresh();
    await eventually(() => (seen().includes(ID) ? true : undefined), 'it is seen');
    if (manifest === RUNNING) await bench.reach(ID, 'running');
    await rm(folder, { recursive: true });
    await bench.apps.refresh();
    await eventually(() => (seen().includes(ID) ? undefined : true), 'it is no longer seen');
    await assert.rejects(bench.apps.status(ID), { code: 'APP_NOT_FOUND' });
  });

test('a folder whose manifest cannot be read comes and goes in the list of a listener', async () => {
  await using bench = await startBench();
  await bench.host.hook('kernel.ready').promise();
  const { listener, seen } = follow(bench);
  using _ = listener;
  const folder = await putApp(bench.installed, ASLEEP);
  await writeFile(join(folder, 'app.yaml'), 'manifestVersion: 1\nid: [');
  await bench.apps.refresh();
  const count = await eventually(() => (seen().length > 0 ? seen().length : undefined), 'it is seen');
  assert.equal(count, 1);
  await rm(folder, { recursive: true });
  await bench.apps.refresh();
  await eventually(() => (seen().length === 0 ? true : undefined), 'it is no longer seen');
});
