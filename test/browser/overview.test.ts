/** The start page in a real browser: what is wrong, what the device does, and three questions at most two clicks away. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { noBrowser } from './browser.ts';
import { Device, show } from './harness.ts';

after(leakCheck());

describe('the start page', { skip: noBrowser }, () => {
  let device: Device;
  const ask = (path: string, body: object) => device.core.ask(path, { unix: true, body });
  before(async () => {
    device = await Device.start('--app', 'docs/examples/agenda');
  });
  after(() => device[Symbol.asyncDispose]());

  test('says what device it is, how it is, and what it does now', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('heading', { level: 1, name: 'Simulated device' }).waitFor();
    await page.getByText(/SKU simulator · Core 0\.1\.0 · running for/).waitFor();
    const now = page.getByRole('region', { name: 'Right now' });
    for (const name of ['In front', 'Screen', 'Microphone', 'Volume', 'Bridge'])
      await now.getByText(name, { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Apps' }).getByRole('link', { name: 'Agenda' }).waitFor();
    const users = page.getByRole('region', { name: 'CPU load' }).getByRole('listitem');
    await users.nth(2).waitFor();
    assert.equal(await users.count(), 3);
  });

  test('tells at once what went wrong, why, and what to do, and is calm again', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('heading', { name: 'Right now' }).waitFor();
    assert.equal((await ask('/plugins/sensors/disable', {})).status, 200);
    await page.getByText('bme280 waits for a missing service.').waitFor();
    await page.getByText('Start the plugin that provides it.').first().waitFor();
    // The page of the plugins counts the same.
    const count = await page.locator('.well h2').textContent();
    await show(page, 'plugins');
    await page.getByRole('heading', { level: 2, name: String(count), exact: true }).waitFor();
    await show(page, 'overview');
    await page.getByRole('link', { name: 'Open bme280' }).click();
    await page.getByRole('heading', { level: 1, name: 'bme280' }).waitFor();
    assert.equal((await ask('/plugins/sensors/enable', {})).status, 200);
    await show(page, 'overview');
    await page.getByText('bme280 waits for a missing service.').waitFor({ state: 'detached' });
  });

  test('counts and names what an app overrides, beside what the device does', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const figure = page.getByRole('link', { name: /Changed settings/ });
    const card = page.getByRole('region', { name: 'Changed settings' });
    await card.getByText('All settings are at their defaults.').waitFor();
    const key = (name: string) => `/config/${encodeURIComponent(name)}`;
    const app = 'com.example.agenda';
    const set = async (name: string, body: object) =>
      assert.equal((await device.core.ask(key(name), { unix: true, method: 'PUT', body })).status, 200);
    await set('leadSeconds', { app, value: 120 });
    await figure.getByText('1', { exact: true }).waitFor();
    await card.getByRole('link', { name: `${app} leadSeconds` }).waitFor();
    await set('plugins.display.textScale', { value: 1.25 });
    await figure.getByText('2', { exact: true }).waitFor();
    await card.getByRole('link', { name: 'plugins.display.textScale' }).waitFor();
    // All of the figure leads to where it is undone.
    await figure.click();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.getByText('leadSeconds').first().waitFor();
    await page.goBack();
    for (const [name, query] of [
      ['leadSeconds', `?app=${app}&layer=app`],
      ['plugins.display.textScale', '?layer=device'],
    ] as const)
      assert.equal((await device.core.ask(`${key(name)}${query}`, { unix: true, method: 'DELETE' })).status, 200);
    await figure.getByText('0', { exact: true }).waitFor();
    await card.getByText('All settings are at their defaults.').waitFor();
  });

  test('shows what an app calls itself as text', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.route('**/apps', (route) =>
      route.fulfill({
        json: { ok: true, apps: [{ id: 'x', name: 'x', title: '<img src=x onerror=alert(1)>', state: 'running' }] },
      }),
    );
    await page.reload();
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
  });

  for (const [question, clicks, heading] of [
    ['what costs the CPU', ['See all'], 'CPU time by function'],
    ['why was this refused', ['Why was this refused?'], undefined],
    ['undo this setting', ['Reset to default'], undefined],
  ] as const)
    test(`answers "${question}" one click away`, async () => {
      await using opened = await device.open();
      const { page } = opened;
      for (const name of clicks) await page.locator('main').getByRole('link', { name }).first().click();
      if (heading !== undefined) await page.getByRole('heading', { name: heading }).waitFor();
      const hash = await page.evaluate<string>('location.hash');
      assert.match(hash, /^#\/(plugins\?view=cost|denials|settings\?changed=1)$/);
    });
});
