/** Updates on the page: what is so, why not now, and that a viewer changes nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../browser.ts';
import { confirm } from '../confirming.ts';
import type { Device } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('updates, on the page', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('say the state, the running version and the reason of a wait in one sentence each', async () => {
    await using opened = await device.open({ role: 'operator' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Updates' }).click();
    await page.getByText('Nothing is under way.').waitFor();
    await page.getByRole('region', { name: 'Running version' }).getByText('Channel').waitFor();
    await page.getByText('There was no update yet.').waitFor();
  });

  test('are held and let go on', async () => {
    await using opened = await device.open({ role: 'operator' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Updates' }).click();
    await page.getByRole('button', { name: 'Hold' }).click();
    assert.match(await confirm(device, page), /[Hh]old updates back/);
    await page.getByText('Held: by hand').waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('button', { name: 'Hold' }).waitFor();
  });

  test('cannot be changed by a viewer', async () => {
    await using opened = await device.open({ role: 'viewer' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Updates' }).click();
    assert.equal(await page.getByRole('button', { name: 'Hold' }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: 'Look for updates' }).isDisabled(), true);
  });
});
