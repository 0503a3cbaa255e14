/** Health and plugins in a real browser, and a page that a plugin brings as data. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../browser.ts';
import { barriers, type Device, settled, show, sideways } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('health and plugins', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('lists every plugin, and shows one with what it needs', async () => {
    await using opened = await device.open({ at: 'plugins' });
    const { page } = opened;
    await page.getByRole('searchbox', { name: 'Filter plugins' }).fill('bme');
    await page.getByRole('link', { name: 'bme280' }).click();
    await page.getByRole('heading', { level: 1, name: 'bme280' }).waitFor();
    const ties = page.getByRole('region', { name: 'Services' });
    await ties.getByRole('link', { name: 'sensors' }).click();
    await page.getByRole('heading', { level: 1, name: 'sensors' }).waitFor();
    await ties.getByRole('link', { name: 'presence' }).waitFor();
  });

  test('stops a plugin after it said what stops with it, and starts it again', async () => {
    await using opened = await device.open({ at: 'plugins/sensors' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop sensors?' });
    await dialog.getByText('2 plugins stop with it: bme280, presence.').waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Restart', exact: true }).waitFor();
    await page.getByRole('log').getByText('runs').first().waitFor();
  });

  test('lets a viewer look, and change nothing', async () => {
    await using opened = await device.open({ at: 'plugins/sensors', role: 'viewer' });
    const { page } = opened;
    for (const name of ['Restart', 'Stop', 'Disable'])
      assert.equal(await page.getByRole('button', { name, exact: true }).isDisabled(), true, name);
  });

  test('says what costs the CPU, and where the time goes', async () => {
    await using opened = await device.open({ at: 'plugins?view=cost' });
    const { page } = opened;
    await page.getByRole('table', { name: 'CPU load' }).getByText('The Core itself').waitFor();
    await page.getByRole('button', { name: /Look for/ }).click();
    await page
      .getByRole('table', { name: 'CPU time by function' })
      .or(page.getByText('Next to nothing ran.'))
      .waitFor();
  });

  test('draws who needs whom, and says it in words and as a table', async () => {
    await using opened = await device.open({ at: 'plugins?view=graph' });
    const { page } = opened;
    const count = await page.locator('.graph .node').count();
    assert.ok(count >= 55, `${count} plugins are drawn`);
    await page.getByLabel('Mark').selectOption('bme280');
    await page.getByText(/^bme280 requires: (i2c, sensors|sensors, i2c)\. It is required by: none\.$/).waitFor();
    assert.equal(await page.locator('.edge.marked').count(), 2);
    await page.getByRole('table', { name: 'The same as a table' }).waitFor();
  });

  test('shows what was installed and what was rolled back', async () => {
    await using opened = await device.open({ at: 'plugins?view=installed' });
    const { page } = opened;
    await page.getByText('Nothing had to be rolled back.').waitFor();
    await page.getByLabel('Folder or package on the device').fill('/no/such/place');
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.locator('.toast.error').waitFor();
  });

  test('shows rights of a plugin from outside in words, with use and refusals', async () => {
    const right = { kind: 'service', name: 'audio', granted: true, count: 76, last: Date.now() - 5_000 };
    const times = { first: Date.now() - 9_000, ts: Date.now() - 9_000 };
    const kettle = {
      ...{ id: 'kettle', version: '1.0.0', isolation: 'process', origin: 'installed', since: Date.now() - 60_000 },
      ...{ grantedAt: Date.now() - 60_000, grantedBy: 'operator' },
      rights: [
        { ...right, summary: 'hears the microphone and plays sound (service audio)' },
        { kind: 'reads', name: '<img src=x>', summary: 'reads <img src=x>', granted: true },
        { kind: 'service', name: 'panel', summary: 'draws over everything', granted: false, count: 0 },
      ],
      refused: [{ capability: 'operation.apps.list', hint: 'no line of a manifest', count: 3, ...times }],
    };
    await using opened = await device.open({ at: 'plugins?view=audit', width: 360, height: 740 });
    const { page } = opened;
    await page.getByText('No plugin from outside runs here.').waitFor();
    await page.route('**/plugins/audit', (route) => route.fulfill({ json: { ok: true, plugins: [kettle] } }));
    await page.reload();
    const card = page.getByRole('region', { name: 'kettle 1.0.0' });
    await card.getByText(/^in its own process; granted .* by operator; counting began /).waitFor();
    await card.getByRole('row', { name: /Hears the microphone and plays sound .* 76 / }).waitFor();
    await card.getByRole('row', { name: /Reads <img src=x> .*not seen/ }).waitFor();
    await card.getByRole('row', { name: /Draws over everything not granted .*0/ }).waitFor();
    await card.getByRole('row', { name: /operation\.apps\.list .*3 .*no line of a manifest/ }).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert.deepEqual(await barriers(page), []);
    assert.equal(await sideways(page), 0);
  });

  test('a page that a plugin brings shows its values over time, and says whose it is', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('link', { name: 'Climate' }).click();
    await page.getByRole('heading', { level: 1, name: 'Climate' }).waitFor();
    await page.getByText(/brought by the plugin sensors/).waitFor();
    await page.locator('.chart').getByText(/°C/).first().waitFor();
    await page.getByRole('cell', { name: 'BME280' }).waitFor();
  });

  test('a page of a plugin asks nothing that changes something, brings no script, and names whose buttons they are', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const say = { operation: 'voice.say', params: { text: 'pwned' } };
    const hostile = {
      plugin: 'evil',
      id: 'p',
      title: '<script>alert(1)</script>',
      lead: { en: '<img src=x onerror=alert(1)>' },
      panels: [
        { title: 'Reads', from: { ...say, everyMs: 1000 }, values: [{ at: '/constructor/name', label: 'a' }] },
        { title: 'Does', buttons: [{ label: 'Press', ...say }], text: 'javascript:alert(1)' },
      ],
    };
    await page.route('**/plugins/pages', (route) => route.fulfill({ json: { ok: true, pages: [hostile] } }));
    // The menu has asked for the pages of plugins before.
    await page.reload();
    await settled(page);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    await show(page, 'extra/evil/p');
    await settled(page);
    await page.getByRole('heading', { level: 1, name: '<script>alert(1)</script>' }).waitFor();
    await page.getByText(/wants to ask voice\.say by itself/).waitFor();
    await page.getByText(/fixed by the plugin evil/).waitFor();
    assert.equal(await page.locator('main img, main script, main a[href^="javascript:"]').count(), 0);
    assert.deepEqual(asked, []);
    await page.getByRole('button', { name: 'Press voice.say' }).waitFor();
  });
});
