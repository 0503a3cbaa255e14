/** A configuration schema of a package is applied under a limit that ends it, and what cannot be checked is refused. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CoreError, type PluginManifest } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { configure } from '../../kernel/boot/manifests.ts';
import { checkConfig } from '../../plugins/apps/plugin-store/candidate.ts';

after(leakCheck());

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(60)}!` }, b: { type: 'integer' } },
};

test('at a start, of a plugin from outside', () => {
  assert.throws(() => configure(SCHEMA, {}, 'outside'), /it takes longer than 250 ms/);
  const begun = process.threadCpuUsage();
  for (let n = 0; n < 100; n++) assert.throws(() => configure(SCHEMA, {}, 'outside'), /it takes longer than 250 ms/);
  const { user, system } = process.threadCpuUsage(begun);
  assert.ok(user + system < 1_000_000, 'it is not tried again');
});

test('at an install, before any code of the package runs', () => {
  const manifest = {
    id: 'hostile',
    version: '1.0.0',
    summary: 'x',
    api: '*',
    main: 'x',
    config: SCHEMA,
  } as PluginManifest;
  assert.throws(
    () => checkConfig(manifest, {}),
    (error) => error instanceof CoreError && error.code === 'PARAMS_INVALID' && /it takes longer/.test(error.message),
  );
});

test('an honest one fills its defaults in', () => {
  const config: Record<string, unknown> = {};
  const schema = { type: 'object', properties: { mode: { type: 'string', pattern: '^[a-z]{1,64}$', default: 'day' } } };
  assert.deepEqual(configure(schema, config, 'outside'), []);
  assert.deepEqual(config, { mode: 'day' });
});
