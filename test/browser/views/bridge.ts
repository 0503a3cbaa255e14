/** The page of the bridge as its reader uses it: a pin is switched and the wire moves the other, a fault is named, the traffic is read. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../fixtures/eventually.ts';
import { SimControl } from '../../fixtures/sim-control.ts';
import { noBrowser } from '../browser.ts';
import { type Device, show } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('the page of the bridge', { skip: noBrowser }, () => {
  let device: Device;

  before(async () => {
    device = await lend();
    const up = async () => (await device.core.ask('/bridge', { unix: true })).body.link?.link === 'up';
    await eventually(up, 'the link to the bridge');
  });
  after(() => giveBack(device));

  test('an output that is switched moves the line that it is wired to, and the page shows both', async () => {
    await using opened = await device.open({ at: 'bridge' });
    const { page } = opened;
    const level = (name: string, word: string) =>
      page.getByRole('listitem').filter({ hasText: name }).getByRole('status').filter({ hasText: word }).waitFor();
    await level('wired to the button', 'low');
    await level('wired to the led', 'low');
    const led = page.getByRole('switch', { name: 'Switch led' });
    await led.focus();
    await page.keyboard.press('Space');
    await level('wired to the led', 'high');
    await level('wired to the button', 'high');
    assert.equal(await led.getAttribute('aria-checked'), 'true');
    // Somebody else moves it back: the edge tells the page.
    await device.core.ask('/GPIO_write', { unix: true, body: { handle: 'led', value: 0 } });
    await level('wired to the led', 'low');
  });

  test('the traffic is decoded while a page follows it', async () => {
    await using opened = await device.open({ at: 'bridge/traffic' });
    const { page } = opened;
    await page.getByText('The traffic is not traced').waitFor();
    await page.getByRole('combobox', { name: 'Endpoint' }).selectOption('gpio0');
    await page.getByRole('button', { name: 'Follow' }).click();
    const frames = page.getByRole('list', { name: 'Traffic' }).getByRole('listitem');
    await frames.filter({ hasText: 'REQ' }).filter({ hasText: 'READ' }).first().waitFor();
    await frames.filter({ hasText: 'RSP' }).filter({ hasText: 'OK' }).first().waitFor();
    assert.equal(await frames.filter({ hasText: 'i2c0' }).count(), 0);
    await page.getByRole('button', { name: 'Stop' }).click();
  });

  test('input of a serial line is read, sensors are live, each bus names its holders', async () => {
    await using opened = await device.open({ at: 'bridge/buses' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Listen to gps' }).click();
    await page.locator('pre').filter({ hasText: /\$G\w/ }).waitFor();
    await page.getByRole('table', { name: 'I²C' }).getByText('address 0x76').waitFor();
    await page.getByRole('link', { name: 'Sensors' }).click();
    await page.getByRole('region', { name: 'Temperature, pressure and humidity' }).getByText(/\d °C/).waitFor();
  });

  test('a reset of an endpoint is asked first', async () => {
    await using opened = await device.open({ at: 'bridge/endpoints' });
    const { page } = opened;
    const row = page.getByRole('row').filter({ hasText: 'spi1' });
    await row.getByRole('button', { name: 'Reset' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reset spi1?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await row.getByRole('button', { name: 'Reset' }).click();
    await dialog.getByRole('button', { name: 'Reset' }).click();
    await page.getByText('spi1 was reset').waitFor();
  });

  test('a bridge that falls silent is named with the reason, and the page comes back with it', async () => {
    await using opened = await device.open({ at: 'bridge' });
    const { page } = opened;
    using sim = await SimControl.open(device.core.run);
    await sim.ask({ silence: { ms: 4_000 } });
    // While it is silent the Core greets it now and then: one of the two is seen.
    const silent = page.getByRole('alert').filter({ hasText: /The bridge does not answer|Greeting the bridge/ });
    await silent.waitFor();
    await page
      .getByText(/no valid packet|does not answer PING|no HELLO_ACK/)
      .first()
      .waitFor();
    await silent.waitFor({ state: 'detached' });
    await show(page, 'bridge/endpoints');
    await page.getByRole('row').filter({ hasText: 'gpio0' }).waitFor();
  });

  test('a viewer sees the pins and switches nothing', async () => {
    await using opened = await device.open({ at: 'bridge', role: 'viewer' });
    const { page } = opened;
    assert.equal(await page.getByRole('switch', { name: 'Switch led' }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: 'Restart the bridge' }).isDisabled(), true);
  });
});
