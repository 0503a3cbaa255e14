/** Schemas of apps that would never come to an end. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { app } from '../../fixtures/operation-calls.ts';
import { double } from './double.ts';
import { start } from './start.ts';

const AGENDA = 'com.example.agenda';

suite('a schema without an end', () => {
  const ENDLESS: [string, JsonSchema, string, unknown][] = [
    ['a pattern', { properties: { a: { pattern: '^(a+)+$' } } }, 'a', `${'a'.repeat(60)}!`],
    ['a pattern of keys', { patternProperties: { '^(a+)+$': {} } }, `${'a'.repeat(60)}-`, 1],
    ['references that double', { properties: { a: { $ref: '#/definitions/d40' } }, definitions: double(41) }, 'a', 1],
  ];
  for (const [what, schema, key, value] of ENDLESS)
    test(`the schema of an app cannot hold up the Core with ${what}`, async () => {
      await using started = await start();
      await started.host.service(config).describeApp(AGENDA, { schema });
      const set = () => started.table.run('config.set', { key, value }, { caller: app(AGENDA) });
      const begun = process.threadCpuUsage();
      for (let n = 0; n < 20; n++) await assert.rejects(set(), /schema of the app cannot be applied: it takes longer/);
      const { user, system } = process.threadCpuUsage(begun);
      assert.ok(user + system < 2_000_000, `${user + system} us of the processor`);
      assert.equal((await started.table.run('config.set', { key: 'a', value: 1 })).value, 1);
    });
});
