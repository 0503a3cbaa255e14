/** The search in a real browser: by keys alone, in three languages, with what a thousand functions are called. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../browser.ts';
import { barriers, type Device, sideways } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('the search', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  const field = (page: Page) => page.getByRole('dialog').getByRole('combobox');
  const options = (page: Page) => page.getByRole('listbox').getByRole('option');

  test('is opened, used and left by keys, and asks nothing before', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.keyboard.press('Control+k');
    await field(page).waitFor();
    assert.ok(asked.includes('/ui/shell/palette.ts'));
    await page.keyboard.type('bme');
    await options(page).filter({ hasText: 'bme280' }).first().waitFor();
    const active = await field(page).getAttribute('aria-activedescendant');
    assert.equal(await page.locator('[role=option][aria-selected=true]').getAttribute('id'), active);
    assert.deepEqual(await barriers(page), []);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'bme280' }).waitFor();
    await page.keyboard.press('/');
    await field(page).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  for (const [locale, query, hash] of [
    ['en-GB', 'what costs the cpu', /view=cost/],
    ['en-GB', 'why was this refused', /denials/],
    ['en-GB', 'undo this setting', /settings/],
    ['de-DE', 'was kostet die cpu', /view=cost/],
    ['de-DE', 'warum abgelehnt', /denials/],
    ['de-DE', 'einstelung rückgängig', /settings/],
    ['fr-FR', 'coute processeur', /view=cost/],
    ['fr-FR', 'pourquoi refusé', /denials/],
    ['fr-FR', 'annuler ce réglage', /settings/],
  ] as const)
    test(`answers "${query}"`, async (t) => {
      await using opened = await device.open({ locale, width: 360 });
      const { page } = opened;
      const pages = await page.locator('nav.side a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      const wanted = hash.source.includes('cost') ? '#/plugins' : `#/${hash.source}`;
      if (!pages.includes(wanted)) return t.skip(`this device has no page ${wanted}`);
      await page.keyboard.press('Control+k');
      await field(page).fill(query);
      await options(page).first().waitFor();
      assert.equal(await sideways(page), 0);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.match(await page.evaluate<string>('location.hash'), hash);
    });

  test('keeps hostile text as text, and finds one of a thousand in time', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const plugins = Array.from({ length: 1000 }, (_, n) => ({ id: `plugin-${n}`, summary: `<b onclick=x>${n}</b>` }));
    await page.route('**/plugins', (route) => route.fulfill({ json: { ok: true, plugins } }));
    await page.keyboard.press('Control+k');
    await field(page).fill('plugin-777');
    await options(page).filter({ hasText: 'plugin-777' }).first().waitFor();
    await options(page).filter({ hasText: '<b onclick=x>777</b>' }).first().waitFor();
    assert.equal(await page.getByRole('dialog').locator('b').count(), 0);
  });
});
