/** Nothing that is kept is ever written: the finished line of the log, and the words of others. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type SecretScan, secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { type Secrets, secrets } from '@device-core/plugin-api/services/secrets';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../../fixtures/core.ts';

after(leakCheck());

const SECRET = 'correct "horse" battery\nstaple';

test('a secret is in no line of the log from the moment on that it is set, and in no text of others', async () => {
  await using core = await startCore({ plugins: { 'secrets-file': '^1.0.0', operations: '^1.0.0' } });
  const { log } = core.kernel.parts;
  const lines = () =>
    readFileSync(join(core.paths.var, 'log/core.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  log.info({ where: 'before' }, `it is ${SECRET} so far`);
  const user = { plugin: 'tea', measured: (_: string, work: unknown) => work, failed: () => undefined };
  const view = core.kernel.parts.services.find(secrets.id, '^1.0.0', user as never) as Secrets;
  await view.set('token', SECRET);
  log.child({ plugin: 'tea' }).error({ err: new Error(`refused ${SECRET}`), n: 1 }, `it is ${SECRET} now`);
  const [before, now] = ['before', 'now'].map((word) =>
    lines().find(({ msg }) => msg.includes('it is') && (word === 'now') === /now$/.test(msg)),
  );
  assert.equal(before.msg, `it is ${SECRET} so far`, 'what nobody had set could not be known');
  assert.match(now.msg, /^it is \[secret [\w.]+\/token\] now$/);
  assert.match(now.err.message, /^refused \[secret [\w.]+\/token\]$/);
  assert.match(now.err.stack, /\[secret [\w.]+\/token\]/);
  assert.deepEqual([now.level, now.plugin, now.n], [50, 'tea', 1]);
  const scanFor = (outside: boolean) =>
    core.kernel.parts.services.find(secretScan.id, '^1.0.0', { ...user, outside } as never) as SecretScan;
  await assert.rejects(async () => scanFor(true).hide(['x']), { code: 'SECRET_DENIED' });
  const scan = scanFor(false);
  const [first, second] = await scan.hide([`x ${SECRET}`, JSON.stringify({ level: 'info', msg: SECRET })]);
  assert.equal(first, 'x [secret]');
  assert.equal(JSON.parse(second!).msg, '[secret]');
});
