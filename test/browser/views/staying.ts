/** A browser that stays signed in, and what it shows of a device that is gone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../../fixtures/eventually.ts';
import { noBrowser } from '../browser.ts';
import { barriers, type Device } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

/** What of the key can be read out of IndexedDB by a script of the page. */
const READ_OUT = `new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error('IndexedDB does not answer')), 5_000);
  const open = indexedDB.open('device');
  open.onsuccess = () => {
    const get = open.result.transaction('keys').objectStore('keys').get('browser');
    get.onsuccess = async () => {
      open.result.close();
      const key = get.result?.key;
      if (key === undefined) return resolve('no key');
      const formats = await Promise.all(['pkcs8', 'jwk'].map((as) => crypto.subtle.exportKey(as, key).then(() => 'read', () => 'kept')));
      resolve([key.type, key.extractable, ...formats].join(' '));
    };
  };
})`;

interface Listed {
  readonly kind: 'tab' | 'browser';
  readonly browser?: string;
}

describe('a browser', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('that is to stay signed in opens new tabs without a code, until it is ended from elsewhere', async () => {
    const context = await device.browser.newContext({ locale: 'en-GB', viewport: { width: 360, height: 740 } });
    context.setDefaultTimeout(15_000);
    const first = await context.newPage();
    await first.goto(`${device.origin}/ui/`);
    const box = first.getByRole('switch', { name: 'Stay signed in on this browser' });
    assert.equal(await box.getAttribute('aria-checked'), 'false');
    await first.getByLabel('Code').fill(await device.code());
    // By the keyboard alone.
    await first.keyboard.press('Tab');
    await first.keyboard.press('Space');
    assert.equal(await box.getAttribute('aria-checked'), 'true');
    assert.deepEqual(await barriers(first), []);
    await first.keyboard.press('Tab');
    await first.keyboard.press('Enter');
    await first.locator('main#main').waitFor();
    assert.equal(await first.evaluate(READ_OUT), 'private false kept kept');

    const second = await context.newPage();
    await second.goto(`${device.origin}/ui/#/sessions`);
    await second.getByText('this browser', { exact: true }).waitFor();
    assert.equal(await second.getByText('stays signed in', { exact: true }).count(), 1);
    assert.deepEqual(await barriers(second), []);
    assert.equal(await second.evaluate('document.cookie'), '');
    // What is open there is followed by a socket, which is cut.
    for (const page of [first, second]) {
      await page.evaluate("location.hash = '#/overview'");
      const live = "import('/ui/core/live.ts').then(({ liveState }) => liveState.value === 'on')";
      await eventually(() => page.evaluate(live), 'its socket');
    }

    await using other = await device.open({ at: 'sessions' });
    const row = other.page.getByRole('row').filter({ hasText: 'stays signed in' });
    await row.getByRole('button', { name: /^End/ }).click();
    const dialog = other.page.getByRole('dialog');
    await dialog.getByText('It no longer stays signed in').waitFor();
    await dialog.getByRole('button', { name: 'End', exact: true }).click();
    // Nobody touched them: they hear of it by their sockets, ask for a session, and are told.
    for (const page of [first, second]) await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const told = (page: Page) => page.getByText('does not know this browser any more').count();
    await eventually(async () => (await told(first)) + (await told(second)) > 0, 'a word on the key');
    assert.equal(await second.evaluate(READ_OUT), 'no key');
    await second.reload();
    await second.getByText('Type the code').waitFor();
    await context.close();
  });

  test('that is signed in stays so when the device confirms it, and signs out for good', async () => {
    await using opened = await device.open({ at: 'sessions' });
    const { page, context } = opened;
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm' });
    await dialog.getByText('Keep the browser Chromium on Linux signed in').waitFor();
    const { body } = await device.core.ask('/sessions/confirmation-codes', { unix: true, body: {} });
    await dialog.getByRole('textbox', { name: 'Code' }).fill(body.code);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('this browser', { exact: true }).waitFor();
    const tab = await context.newPage();
    await tab.goto(`${device.origin}/ui/`);
    await tab.locator('main#main').waitFor();
    assert.equal(
      await tab.evaluate("import('/ui/core/session.ts').then(({ session }) => session.value.role)"),
      'operator',
    );
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await tab.getByText('You have signed out').waitFor();
    assert.equal(await tab.evaluate(READ_OUT), 'no key');
    await eventually(async () => {
      const { body: list } = await device.core.ask('/sessions', { unix: true });
      return list.sessions.every(({ kind, browser }: Listed) => kind === 'tab' && browser === undefined);
    }, 'the end of the key on the device');
    // The page may have asked by itself meanwhile, and been told that its session is over.
    const refresh = page.getByRole('button', { name: 'Refresh' });
    const over = page.getByRole('heading', { name: 'Sign in' });
    await refresh.or(over).first().waitFor();
    if (await refresh.isVisible()) await refresh.click();
    await over.waitFor();
  });
});
