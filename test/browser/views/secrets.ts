/** Secrets on the page: one is set, never shown, and deleted; a viewer changes nothing. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../fixtures/eventually.ts';
import { filled, TOKEN } from '../../fixtures/vault-place.ts';
import { noBrowser } from '../browser.ts';
import { confirm } from '../confirming.ts';
import { barriers, Device, picture } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

const SECRET = 'CNRY-horse-battery-9174';

describe('secrets, on the page', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('are set in a password field, listed without their text, and deleted after a question', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const answers: string[] = [];
    page.on('response', async (answer) => {
      if (answer.url().includes('/secrets')) answers.push(await answer.text().catch(() => ''));
    });
    await page.getByRole('link', { name: 'Secrets' }).click();
    await page.getByText('No secret is set.').waitFor();
    await page.getByRole('button', { name: 'Set a secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a secret' });
    assert.equal(await dialog.getByRole('button', { name: 'Set', exact: true }).isDisabled(), true);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('weather.key');
    const field = dialog.getByLabel('Secret', { exact: true });
    assert.equal(await field.getAttribute('type'), 'password');
    await field.fill(SECRET);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    assert.match(await confirm(device, page), /Set the secret weather\.key/);
    const row = page.getByRole('row', { name: 'weather.key' });
    await row.getByText('not since the start').waitFor();
    await picture(page, 'secrets');
    assert.equal((await page.content()).includes(SECRET), false);
    await row.getByRole('button', { name: 'Delete weather.key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await confirm(device, page);
    await page.getByText('No secret is set.').waitFor();
    assert.ok(answers.length > 2);
    assert.equal(answers.filter((answer) => answer.includes(SECRET)).length, 0);
  });

  test('that configurations name without a value are told, and set from there', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.route('**/secrets/missing', (route) =>
      route.fulfill({ json: { ok: true, missing: [{ plugin: 'stt-cloud', name: 'cloud.token', command: '' }] } }),
    );
    await page.getByRole('link', { name: 'Secrets' }).click();
    await page.getByRole('region', { name: 'Missing' }).getByRole('button', { name: 'Set cloud.token' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set cloud.token' });
    assert.equal(await dialog.getByRole('textbox', { name: 'Scope' }).inputValue(), 'shared');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  test('cannot be changed by a viewer', async () => {
    await using opened = await device.open({ role: 'viewer' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Secrets' }).click();
    assert.equal(await page.getByRole('button', { name: 'Set a secret' }).isDisabled(), true);
  });

  test('of a vault that is shut are no empty list: it says which state it is, and what to do', async () => {
    // A device of its own: a vault that is open stays so.
    await using other = await Device.start();
    using place = await filled();
    const root = dirname(other.core.run);
    const [folder, key] = [join(root, 'var/secrets'), join(root, 'etc/secrets/vault.key')];
    for (const one of [folder, dirname(key)]) mkdirSync(one, { recursive: true });
    copyFileSync(place.file, join(folder, 'vault.json'));
    await using opened = await other.open({ at: 'secrets' });
    const { page } = opened;
    const shut = page.getByRole('region', { name: 'Secrets cannot be used' });
    const kept = page.getByRole('region', { name: 'Kept' });
    const set = async () => {
      const body = { secretText: SECRET };
      const answer = await other.core.ask('/secrets/shared/new.one', { unix: true, method: 'PUT', body });
      assert.equal(answer.body.code, 'SECRETS_LOCKED');
    };
    await page.getByText('No secret is set.').waitFor();
    await set();
    await shut.getByText('locked', { exact: true }).waitFor();
    assert.match(String(await shut.getByRole('alert').textContent()), /no master key; put the key .*chmod 600/);
    await kept.getByRole('row', { name: TOKEN.split('/')[1]! }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, 'secrets-locked');
    copyFileSync(place.key, key);
    truncateSync(join(folder, 'vault.json'), 40);
    // The vault is looked at once a second at most, and a click takes back the question of the one before.
    const often = { ms: 20_000, every: 1_500 };
    const again = shut.getByRole('button', { name: 'Try again' });
    await eventually(
      async () => {
        await again.click();
        return (await shut.getByText('failed', { exact: true }).count()) === 1;
      },
      'a vault that failed',
      often,
    );
    copyFileSync(place.file, join(folder, 'vault.json'));
    await eventually(
      async () => {
        if ((await again.count()) > 0) await again.click({ timeout: 1_000 }).catch(() => undefined); // it may go meanwhile
        return (await shut.count()) === 0;
      },
      'a vault that is open',
      often,
    );
    await kept.getByRole('row', { name: TOKEN.split('/')[1]! }).waitFor();
  });

  test('of a vault that does not even tell names are no list at all', async () => {
    await using other = await Device.start();
    const key = join(dirname(other.core.run), 'etc/secrets/vault.key');
    mkdirSync(dirname(key), { recursive: true });
    writeFileSync(key, 'k'.repeat(32), { mode: 0o644 });
    await using opened = await other.open({ at: 'secrets' });
    const { page } = opened;
    await page.getByText('No secret is set.').waitFor();
    const body = { secretText: SECRET };
    const answer = await other.core.ask('/secrets/shared/new.one', { unix: true, method: 'PUT', body });
    assert.equal(answer.body.code, 'SECRETS_LOCKED');
    const shut = page.getByRole('region', { name: 'Secrets cannot be used' });
    assert.match(String(await shut.getByRole('alert').textContent()), /others may read .*: chmod 600 /);
    assert.equal(await page.getByText('No secret is set.').count(), 0);
    assert.equal(await page.getByRole('region', { name: 'Kept' }).count(), 0);
  });
});
