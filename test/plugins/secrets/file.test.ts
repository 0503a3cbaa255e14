/** What the file adds to the contract of secrets: no text on the disk, a key that is told, and purges that outlive a restart. The vault itself: vault.test.ts. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/secrets/index.ts';
import { type SecretsUnderTest, secretsContract } from '../../contracts/secrets.ts';
import { secretsOfAppsContract } from '../../contracts/secrets-of-apps.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { AGENDA, asApp, healthOf, manifest, start, startSecrets, TEXT } from '../../fixtures/secrets-device.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';

after(leakCheck());

const place = () => {
  const root = mkdtempSync(join(tmpdir(), 'ds-'));
  after(() => rmSync(root, { recursive: true }));
  return root;
};
const contract = {
  id: 'secrets',
  start: (inForce = {}, { place: root = place(), clock } = {}) =>
    startSecrets({ plugin, manifest }, inForce, { root, ...(clock && { clock }) }),
  place,
  shut(root) {
    const key = join(root, 'etc/secrets/vault.key');
    chmodSync(key, 0o644);
    return () => chmodSync(key, 0o600);
  },
  whenShut: { code: 'VAULT_KEY_REFUSED', remedy: /chmod 600 .*vault\.key$/ },
  told: ['VAULT_KEY_FILE'],
  noRoom: false,
} satisfies SecretsUnderTest;

describe('secrets in a file, of plugins', () => secretsContract(contract));
describe('secrets in a file, of apps', () => secretsOfAppsContract(contract));

describe('the file', () => {
  it('has no text of a secret, is another one once it is sealed anew, and is not there before there is one', async () => {
    const started = await start();
    await using _host = started.host;
    const view = started.viewOf('a');
    await assert.rejects(view.set('../x', TEXT), { code: 'PARAMS_INVALID' });
    assert.ok(!existsSync(started.vault));
    await view.set('token', TEXT);
    const before = readFileSync(started.vault, 'utf8');
    assert.ok(!before.includes(TEXT));
    await started.table.run('secrets.rotate', {});
    assert.notEqual(readFileSync(started.vault, 'utf8'), before);
  });

  for (const [simulated, expected] of [
    [true, ['secrets okay undefined']],
    [false, ['VAULT_KEY_FILE']],
  ] as const)
    it(`has a key in a file, which ${simulated ? 'a simulated device notes' : 'the health warns of'}`, async () => {
      const started = await start({}, { root: place(), simulated });
      await using _host = started.host;
      assert.deepEqual(await healthOf(started), []);
      await started.viewOf('a').set('token', TEXT);
      assert.deepEqual(await healthOf(started), expected);
    });

  it('tells names without its key', async () => {
    const root = place();
    const first = await start({}, { root });
    await first.viewOf('a').set('token', TEXT);
    await first.host.stop();
    contract.shut(root);
    const second = await start({}, { root });
    await using _host = second.host;
    const told = await second.table.run<{ secrets: object[]; locked: string }>('secrets.list', {});
    assert.equal(told.secrets.length, 1);
    assert.match(told.locked, /chmod 600/);
  });
});

describe('an owed purge', () => {
  for (const damaged of [false, true])
    it(`is known after a restart${damaged ? ', and a damaged file of purges blocks no caller' : ''}`, async () => {
      const root = place();
      const first = await start({}, { root });
      await first.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
      await first.host.stop();
      const key = join(root, 'etc/secrets/vault.key');
      const purges = join(root, 'var/secrets/purges.json');
      chmodSync(key, 0o644);
      const second = await start({}, { root });
      second.host.publish('app.removed', { id: AGENDA, purged: true });
      await second.host.settle();
      await eventually(() => existsSync(purges), 'the purge on the disk');
      await second.host.stop();
      if (damaged) writeFileSync(purges, '{');
      chmodSync(key, 0o600);
      const third = await start({}, { root });
      await using _host = third.host;
      const { secrets: left } = await third.table.run<{ secrets: unknown[] }>('secrets.list', {}, asApp());
      assert.equal(left.length, damaged ? 1 : 0);
      if (!damaged) assert.deepEqual(JSON.parse(readFileSync(purges, 'utf8')), { format: 1, scopes: [] });
    });
});

it('owed purges go from the run folder to the disk as soon as it takes them, even if the vault is still locked', async () => {
  const root = place();
  const first = await start({}, { root });
  await first.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
  await first.host.stop();
  contract.shut(root);
  const held = join(root, 'run/secrets-purges.json');
  writeFileSync(held, JSON.stringify({ format: 1, scopes: [`app.${AGENDA}`] }));
  const second = await start({}, { root });
  await using _host = second.host;
  assert.deepEqual(JSON.parse(readFileSync(join(root, 'var/secrets/purges.json'), 'utf8')).scopes, [`app.${AGENDA}`]);
  assert.ok(!existsSync(held));
});

describe('an owed purge on a disk that takes nothing', { skip: NO_DISK }, () => {
  it('is told, known after a restart of the Core all the same, and done by itself as soon as the disk takes it', async () => {
    const root = place();
    mkdirSync(join(root, 'var'));
    mkdirSync(join(root, 'run'));
    using disk = new SmallDisk(512, join(root, 'var'));
    const clock = virtualClock();
    const first = await start({}, { root, clock });
    await first.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    await disk.readOnly(true);
    first.host.publish('app.removed', { id: AGENDA, purged: true });
    await first.host.settle();
    const held = join(root, 'run/secrets-purges.json');
    await eventually(() => existsSync(held), 'what is owed, in the run folder');
    const owed = ['SECRETS_OWED', 'SECRETS_OWED'];
    await eventually(async () => {
      return (
        assert.deepEqual(
          (await healthOf(first)).filter((one) => one === 'SECRETS_OWED'),
          owed,
        ) ?? true
      );
    }, 'a health that tells it');
    const read = { name: 'token' };
    await assert.rejects(first.table.run('secrets.get', read, asApp()), { code: 'SECRETS_LOCKED' });
    await first.host.stop();
    const second = await start({}, { root, clock });
    await using _host = second.host;
    await assert.rejects(second.table.run('secrets.get', read, asApp()), { code: 'SECRETS_LOCKED' });
    await disk.readOnly(false);
    // Nobody asks: the clock alone.
    await eventually(async () => {
      await clock.advance(5_000);
      return !existsSync(held);
    }, 'a list that is on the disk');
    await eventually(() => !readFileSync(second.vault, 'utf8').includes('token'), 'a vault without them');
    await assert.rejects(second.table.run('secrets.get', read, asApp()), { code: 'SECRET_NOT_FOUND' });
    // The vault comes first: a list that is empty too early would be forgotten.
    const list = () => JSON.parse(readFileSync(join(root, 'var/secrets/purges.json'), 'utf8')).scopes.length === 0;
    await eventually(list, 'a list that owes nothing');
    assert.deepEqual(await healthOf(second), []);
  });
});
