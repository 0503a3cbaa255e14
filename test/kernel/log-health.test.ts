import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';

after(leakCheck());

test('a Core whose log cannot be written starts all the same, and its health says so', async () => {
  const root = mkdtempSync(join(tmpdir(), 'dl-'));
  after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'var'));
  // A file in the place of the folder: the same for root, whom no mode stops.
  writeFileSync(join(root, 'var/log'), '');
  await using core = await startCore({ plugins: { operations: '*', identity: '*', system: '*' }, root });
  assert.equal((await core.kernel.status()).state, 'ok');
  const call = { caller: { kind: 'operator', id: 'operator' }, deadline: Date.now() + 10_000 } as const;
  const health = (await core
    .service(operations)
    .invoke('system.health', {}, { ...call, signal: new AbortController().signal })) as {
    readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  };
  const told = health.warnings?.find(({ code }) => code === 'LOG_UNWRITABLE');
  assert.match(told?.message ?? '', /the log loses lines, \d+ so far: .*log/);
});
