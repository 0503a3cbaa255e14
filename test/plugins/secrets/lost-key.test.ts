/** The master key of an open vault goes: it is told, and nothing is set that the next start could not read. */
import assert from 'node:assert/strict';
import { chmodSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { filled, TEXT, TOKEN, told } from '../../fixtures/vault-place.ts';

after(leakCheck());

describe('a key that goes while the vault is open', () => {
  const GONE: readonly (readonly [title: string, change: (key: string) => void, code: string, reason: RegExp])[] = [
    ['is away', (key) => renameSync(key, `${key}.away`), 'VAULT_KEY_MISSING', /there is no master key; put the key/],
    ['is another one', (key) => writeFileSync(key, 'k'.repeat(32)), 'VAULT_KEY_WRONG', /another one.*secret rotate/],
    ['is cut', (key) => truncateSync(key, 3), 'VAULT_KEY_REFUSED', /has 3 bytes/],
    ['is open to others', (key) => chmodSync(key, 0o644), 'VAULT_KEY_REFUSED', /others may read .*chmod 600/],
  ];
  for (const [title, change, code, reason] of GONE)
    it(`${title}: it is reported, no secret is set that would be lost, and known ones are read`, async () => {
      using place = await filled();
      const vault = await place.open();
      change(place.key);
      assert.match(await told(vault), new RegExp(`^${code} `));
      assert.match(await told(vault), reason);
      assert.match(await told(vault), new RegExp(`secrets-file\\.key blocked ${code}`));
      await assert.rejects(vault.write('plugin.a/new', 'x', 'operator'), { code: 'SECRETS_LOCKED', message: reason });
      assert.equal(await vault.read(TOKEN), TEXT);
      assert.equal(vault.records.size, 2);
    });

  it('and comes back: secrets are set as before', async () => {
    using place = await filled();
    const vault = await place.open();
    renameSync(place.key, `${place.key}.away`);
    await assert.rejects(vault.write(TOKEN, 'x', 'operator'), { code: 'SECRETS_LOCKED' });
    renameSync(`${place.key}.away`, place.key);
    await vault.write(TOKEN, 'x', 'operator');
    assert.match(await told(vault), /^VAULT_KEY_FILE /);
    assert.equal(await (await place.open()).read(TOKEN), 'x');
  });
});
