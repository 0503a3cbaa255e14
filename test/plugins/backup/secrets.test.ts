/** Secrets on their way into a sealed backup and out of it on another device, and the program of Debian that opens one on any machine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { finishPending } from '@device-core/plugin-api/inside/pending-state';
import { type SecretTransfer, secretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { leakCheck } from '@device-core/plugin-api/testing';
import { without } from '../../fixtures/debian.ts';
import { start as startVault, TEXT } from '../../fixtures/secrets-device.ts';
import { opened, start } from './device.ts';
import { filesOf, lay, STATE } from './state.ts';

after(leakCheck());

const PHRASE = { passphrase: 'four words of mine' };
const TRANSFER = { plugin: 'backup' };

/** A device with a vault. `shut`: its key is refused. */
async function device(root = mkdtempSync(join(tmpdir(), 'bs-'))) {
  let vault = await startVault({}, { root });
  const transferOf = (): SecretTransfer => vault.host.serviceFor(secretTransfer, TRANSFER);
  const transfer: SecretTransfer = {
    takeOut: () => transferOf().takeOut(),
    sealed: (secrets) => transferOf().sealed(secrets),
  };
  const backup = await start('test', undefined, { transfer, root });
  return {
    ...backup,
    transfer,
    async set(name: string, text: string) {
      await vault.table.run('secrets.set', { name, secretText: text });
      await vault.viewOf('a').set('own', text);
    },
    /** What the next start has. */
    async restarted() {
      await vault.host.stop();
      finishPending(backup.state);
      vault = await startVault({ key: { secret: 'cloud.token' } }, { root });
      return vault;
    },
    async shut() {
      await vault.host.stop();
      chmodSync(join(root, 'etc/secrets/vault.key'), 0o644);
      vault = await startVault({}, { root });
    },
    logs: () => JSON.stringify([backup.host.logged, vault.host.logged, vault.host.published]),
    async [Symbol.asyncDispose]() {
      await vault.host.stop();
      await backup[Symbol.asyncDispose]();
    },
  };
}

const vaultsIn = (state: string): readonly string[] =>
  Object.keys(filesOf(state)).filter((path) => path.startsWith('secrets/'));

describe('secrets of a sealed backup', { timeout: 300_000 }, () => {
  it('are in the vault of another device, under its own key, with who set them and when', async () => {
    await using one = await device();
    await using other = await device();
    lay(one.state, STATE);
    await one.set('cloud.token', TEXT);
    await other.set('left.over', 'a text of before');
    const { archive, left } = await one.fetch(PHRASE);
    assert.deepEqual(left, []);
    assert.ok(!archive.includes(TEXT));
    const plain = await opened(archive, PHRASE.passphrase);
    assert.ok(plain.includes(TEXT) && !plain.includes('state/secrets'));
    const key = readFileSync(join(other.root, 'etc/secrets/vault.key'));
    assert.deepEqual(await other.restore(archive, PHRASE), { files: Object.keys(STATE).length, restarts: true });
    for (const [path, text] of Object.entries(filesOf(other.root)))
      assert.ok(path.includes('body') || !text.includes(TEXT), `${path} has the text of a secret`);
    const { table, viewOf } = await other.restarted();
    const { secrets } = await table.run<{ secrets: object[] }>('secrets.list', {});
    assert.deepEqual(
      secrets.map((each) => Object.entries(each).filter(([name]) => ['name', 'scope', 'setBy'].includes(name))),
      [
        [
          ['scope', 'plugin.a'],
          ['name', 'own'],
          ['setBy', 'plugin.a'],
        ],
        [
          ['scope', 'shared'],
          ['name', 'cloud.token'],
          ['setBy', 'operator'],
        ],
      ],
    );
    assert.equal(await (await viewOf('a').get('own')).reveal(), TEXT);
    assert.equal(await (await viewOf('a').get({ secret: 'cloud.token' })).reveal(), TEXT);
    await viewOf('a').set('own', 'a newer text');
    assert.deepEqual(readFileSync(join(other.root, 'etc/secrets/vault.key')), key);
    for (const logs of [one.logs(), other.logs()]) assert.ok(!logs.includes(TEXT) && !logs.includes('four words'));
  });

  it('come to a device that has no key yet', async () => {
    await using one = await device();
    await using other = await device();
    await one.set('cloud.token', TEXT);
    await other.restore((await one.fetch(PHRASE)).archive, PHRASE);
    const { viewOf } = await other.restarted();
    assert.equal(await (await viewOf('a').get('own')).reveal(), TEXT);
  });

  it('are nowhere without a passphrase', async () => {
    await using one = await device();
    await one.set('cloud.token', TEXT);
    const { archive, left } = await one.fetch({});
    assert.ok(!archive.includes(TEXT) && !archive.includes('"records"'));
    assert.ok(left.some(({ path }) => path === 'secrets/vault.json'));
  });

  it('stay sealed for their device where its vault is shut, and the backup and the restoration say so', async () => {
    await using one = await device();
    await using other = await device();
    await one.set('cloud.token', TEXT);
    await one.shut();
    const { archive, left } = await one.fetch(PHRASE);
    assert.deepEqual(
      left.map(({ path }) => path),
      ['secrets'],
    );
    assert.match(JSON.stringify(left), /only this device can open them again: .*chmod 600/);
    const answer = await other.restore(archive, PHRASE);
    assert.partialDeepStrictEqual(answer as object, {
      secretsLeft: 'only the device that made the backup can open them',
    });
    finishPending(other.state);
    assert.ok(vaultsIn(other.state).includes('secrets/vault.json'));
  });

  it('are left where the device has no place for them, and the rest is put back', async () => {
    await using one = await device();
    await using other = await start();
    lay(one.state, STATE);
    await one.set('cloud.token', TEXT);
    const answer = await other.restore((await one.fetch(PHRASE)).archive, PHRASE);
    assert.deepEqual(answer, {
      files: Object.keys(STATE).length,
      restarts: true,
      secretsLeft: 'no plugin of this device keeps secrets',
    });
    finishPending(other.state);
    assert.deepEqual(vaultsIn(other.state), []);
  });

  it('are for no plugin from outside of the tree', async () => {
    await using one = await startVaultAlone();
    const service = one.host.serviceFor(secretTransfer, { plugin: 'evil', outside: true });
    await assert.rejects(service.takeOut(), { code: 'SECRET_DENIED' });
    await assert.rejects(service.sealed([]), { code: 'SECRET_DENIED' });
  });

  it('with a name or a text that is none are refused', async () => {
    await using one = await startVaultAlone();
    const service = one.host.serviceFor(secretTransfer, TRANSFER);
    for (const wrong of [{ key: 'x' }, { key: 'shared/../x' }, { text: '' }, { text: 'x'.repeat(20_000) }]) {
      const moved = { key: 'shared/token', text: TEXT, at: 1, by: 'operator', ...wrong } as never;
      await assert.rejects(service.sealed([moved]), { code: 'PARAMS_INVALID' });
    }
  });
});

async function startVaultAlone() {
  const { host } = await startVault();
  return { host, [Symbol.asyncDispose]: () => host.stop() };
}

describe('the program age of Debian', { skip: without('age') }, () => {
  it('opens a sealed backup with its passphrase, and tar unpacks it', async () => {
    await using one = await device();
    const folder = mkdtempSync(join(tmpdir(), 'ba-'));
    const long = `apps/com.example.tea/data/${'ü'.repeat(60)}/${'x'.repeat(90)}`;
    lay(one.state, { ...STATE, [long]: 'a long path' });
    await one.set('cloud.token', TEXT);
    const { archive } = await one.fetch(PHRASE);
    assert.match(archive.toString('latin1', 0, 80), /^age-encryption\.org\/v1\n-> scrypt \S{22} 15\n/);
    writeFileSync(join(folder, 'x.backup'), archive);
    // It asks a terminal, which script(1) is.
    const opens = (passphrase: string) =>
      spawnSync('script', ['-qec', 'age --decrypt --output x.tar x.backup', '/dev/null'], {
        cwd: folder,
        input: `${passphrase}\n`,
        encoding: 'utf8',
        timeout: 60_000,
      });
    assert.notEqual(opens('another').status, 0);
    const { status, stdout } = opens(PHRASE.passphrase);
    assert.equal(status, 0, stdout);
    const unpacked = spawnSync('tar', ['--extract', '--file', 'x.tar'], { cwd: folder, encoding: 'utf8' });
    assert.deepEqual([unpacked.status, unpacked.stderr], [0, '']);
    assert.deepEqual(readdirSync(folder).sort(), [
      'backup.json',
      'secrets.json',
      'sha256',
      'state',
      'x.backup',
      'x.tar',
    ]);
    const files = Object.fromEntries(
      Object.entries(filesOf(join(folder, 'state'))).map(([path, text]) => [path, text]),
    );
    assert.deepEqual(files, { ...STATE, [long]: 'a long path' });
    const { secrets } = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8'));
    assert.deepEqual(
      secrets.map(({ key, text }: { key: string; text: string }) => [key, text]),
      [
        ['shared/cloud.token', TEXT],
        ['plugin.a/own', TEXT],
      ],
    );
    rmSync(folder, { recursive: true });
  });
});
