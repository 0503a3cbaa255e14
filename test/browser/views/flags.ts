/** Flags on the page: what is so, setting one, giving it back, and that a viewer changes nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../browser.ts';
import { type Device, picture } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('flags, on the page', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('are set by their own field, and given back', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('link', { name: 'Flags' }).click();
    const card = page.getByRole('region', { name: 'example' });
    await card.getByText('from the product').waitFor();
    await card.getByText('nothing reads it').waitFor();
    await card.getByRole('switch').click();
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('set here').waitFor();
    await picture(page, 'flags');
    assert.equal((await device.core.ask('/flags/example', { unix: true })).body.value, true);
    await card.getByRole('button', { name: 'Reset' }).click();
    await card.getByText('default', { exact: true }).waitFor();
    assert.equal((await device.core.ask('/flags/example', { unix: true })).body.value, false);
  });

  test('that another client sets are seen at once', async () => {
    await using opened = await device.open({ at: 'flags' });
    const card = opened.page.getByRole('region', { name: 'example' });
    await card.getByText('default', { exact: true }).waitFor();
    await device.core.ask('/flags/example', { unix: true, method: 'PUT', body: { value: true } });
    await card.getByText('set here').waitFor();
    await device.core.ask('/flags/example', { unix: true, method: 'DELETE' });
    await card.getByText('default', { exact: true }).waitFor();
  });

  test('and secrets are not in the menu of a device without the plugins', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.route('**/operations', async (route) => {
      const said = (await (await route.fetch()).json()) as {
        readonly operations: readonly { readonly path?: string }[];
      };
      const gone = /^\/(flags|secrets|telemetry|traces)(\/|$)/;
      const operations = said.operations.filter(({ path = '' }) => !gone.test(path));
      await route.fulfill({ json: { ...said, operations } });
    });
    await page.reload();
    // The menu is whole until the device has said what it offers.
    for (const name of ['Flags', 'Secrets', 'Telemetry', 'Traces'])
      await page.getByRole('link', { name }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Settings', exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('cannot be changed by a viewer', async () => {
    await using opened = await device.open({ at: 'flags', role: 'viewer' });
    const card = opened.page.getByRole('region', { name: 'example' });
    assert.equal(await card.getByRole('switch').isDisabled(), true);
  });
});
