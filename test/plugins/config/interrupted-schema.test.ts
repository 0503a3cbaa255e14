/** A schema that is interrupted and begun again. Costs seven times what a schema may take. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import { app } from '../../fixtures/operation-calls.ts';
import { double } from './double.ts';
import { start } from './start.ts';

const AGENDA = 'com.example.agenda';

// The clock that is made to stand still is that of this thread.
const elsewhere = (process.env.DEVICE_TEST_ISOLATION ?? 'inline') !== 'inline' && 'the plugin has a clock of its own';
const begunAgain = 'a schema that is begun again, for the Core had no processor, is refused for what it is';
test(begunAgain, { skip: elsewhere }, async (t) => {
  await using started = await start();
  const taken = t.mock.method(process, 'threadCpuUsage', () => ({ user: 0, system: 0 }));
  const schema = { properties: { a: { $ref: '#/definitions/d40' }, b: {} }, definitions: double(41) };
  await started.host.service(config).describeApp(AGENDA, { schema });
  const set = () => started.table.run('config.set', { key: 'a', value: 1 }, { caller: app(AGENDA) });
  await assert.rejects(set(), /schema of the app cannot be applied: it takes longer/);
  taken.mock.restore();
});
