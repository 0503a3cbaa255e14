/** apps.sandbox: what a run of an app sees, running or not, and what a grant changes of it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CallContext } from '@device-core/plugin-api';
import { linesOf } from '../../../plugins/apps/apps/program/sandbox.ts';
import type { Sandbox } from '../../../plugins/apps/apps/sandbox-operation.ts';
import { type Bench, KEEPS, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const call = { signal: AbortSignal.timeout(60_000), caller: { kind: 'operator', id: 'operator' } } as CallContext;
const ask = async (bench: Bench, id = 'demo') =>
  (await bench.operation('apps.sandbox').run({ id }, call)) as unknown as Sandbox;

test('an app that does not run is shown as it would run, as specification, unit, command and profile', async () => {
  const host = { id: 'network.outbound:api.example.com', ports: [8443], reason: 'it asks' } as const;
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { capabilities: [KEEPS, host] })),
  });
  const seen = await ask(bench);
  const data = join(bench.installed, ID, 'data');
  assert.equal(seen.problem, undefined);
  assert.deepEqual(seen.spec.files.write, [data, join(data, '../cache')]);
  // It was claimed and not granted.
  assert.equal(seen.spec.network, 'none');
  assert.equal(seen.egressUnit, undefined);
  assert.match(seen.unit, /^PrivateNetwork=yes$/m);
  assert.ok(seen.bwrap.includes('--unshare-net'));
  assert.ok(seen.apparmor.includes(`owner "${data}/**" rwkl,`));
  assert.deepEqual(Object.keys(seen.enforcement.enforced).includes('files'), true);
  const lines = linesOf(seen, {});
  assert.match(lines.join('\n'), /network {2}none/);
  assert.deepEqual(linesOf(seen, { unit: true }), seen.unit.split('\n'));
});

test('an app that is not there has none', async () => {
  await using bench = await startBench();
  await assert.rejects(ask(bench, 'nobody'), { code: 'APP_NOT_FOUND' });
});

test('text of others cannot steer the terminal', async () => {
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(installed, manifestOf(ID, { exec: { command: 'node', args: ['main.cjs', '\u001b[2Jgone\nyes'] } })),
  });
  const seen = await ask(bench);
  for (const part of [{}, { unit: true }, { bwrap: true }, { apparmor: true }])
    for (const line of linesOf(seen, part)) assert.doesNotMatch(line, /\p{Cc}/u);
});
