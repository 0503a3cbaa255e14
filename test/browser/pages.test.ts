/** Every page in a real browser: narrow and wide, dark and light, without barriers, errors, foreign requests or sideways scrolling. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { noBrowser } from './browser.ts';
import { barriers, Device, settled, show, sideways } from './harness.ts';

after(leakCheck());

/** Looked at by people, and by CI's: the folder is named when the suite ends. `DEVICE_PICTURES=write` puts them where the guides show them. */
const WRITE = process.env.DEVICE_PICTURES === 'write';
const PICTURES = WRITE ? join(import.meta.dirname, '../../docs/pictures/page') : join(tmpdir(), 'device-pages');

/** Page, width, colours: what README and guides show. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['overview 1280 dark', 'simulator 1280 dark', 'apps 1280 light', 'settings 1280 light'],
  ...['overview 360 light', 'voice 1280 dark'],
]);

const LOOKS = [
  { width: 1280, height: 900, colours: 'dark' },
  { width: 1280, height: 900, colours: 'light' },
  { width: 360, height: 740, colours: 'dark' },
  { width: 360, height: 740, colours: 'light' },
] as const;

describe('every page', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    mkdirSync(PICTURES, { recursive: true });
    device = await Device.start('--app', 'docs/examples/agenda');
  });
  after(async () => {
    console.log(`pictures of the pages: ${PICTURES}`);
    await device[Symbol.asyncDispose]();
  });
  for (const look of LOOKS)
    test(`at ${look.width} px, ${look.colours}, has no barrier, no error, and fits`, async () => {
      await using opened = await device.open(look);
      const { page } = opened;
      const hrefs = await page
        .locator('nav.side .section a')
        .evaluateAll((links) => links.map((one) => one.getAttribute('href') ?? ''));
      assert.ok(hrefs.length > 0);
      const wrong: string[] = [];
      for (const at of hrefs.map((href) => href.slice(2))) {
        await show(page, at);
        await settled(page);
        wrong.push(...(await barriers(page)).map((one) => `${at}: ${one}`));
        const over = await sideways(page);
        if (over > 0) wrong.push(`${at}: ${over} px wider than the window`);
        if (WRITE && !SHOWN.has(`${at} ${look.width} ${look.colours}`)) continue;
        const path = join(PICTURES, `${at}-${look.width}-${look.colours}.png`);
        await page.screenshot({ path });
      }
      assert.deepEqual(wrong, []);
    });
  test('the keyboard alone leads past the menu, through it, into a dialog and back', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const focused = () => page.evaluate<string>('document.activeElement?.textContent?.trim() ?? ""');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate<string>('document.activeElement.id'), 'main');
    await page.getByRole('link', { name: 'Sessions' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    // Who follows a link begins to read at the head of the page.
    assert.equal(await page.evaluate<string>('document.activeElement.tagName'), 'H1');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('settings');
    await page.keyboard.press('ArrowDown');
    // The first empties the field, as browsers do.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate<string>('document.activeElement.tagName'), 'H1');
  });
  test('at 200 % zoom, which is half a window, nothing is cut off', async () => {
    await using opened = await device.open({ width: 640, height: 400 });
    for (const at of ['overview', 'settings', 'events', 'simulator', 'voice']) {
      await show(opened.page, at);
      assert.equal(await sideways(opened.page), 0, at);
    }
  });
  test('signing in has no barrier either', async () => {
    const context = await device.browser.newContext({ viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    await page.goto(`${device.origin}/ui/`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByLabel('Code').fill(await device.code());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('main h1').waitFor();
    await context.close();
  });
  test('the files of the first page are at most 250 KB, and nothing comes from elsewhere', async () => {
    const context = await device.browser.newContext();
    const page = await context.newPage();
    const files: Promise<number>[] = [];
    const hosts = new Set<string>();
    const asked: string[] = [];
    const data: Promise<number>[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    page.on('requestfinished', (request) => {
      if (!new URL(request.url()).pathname.startsWith('/ui/'))
        data.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    page.on('response', (response) => {
      const { host, pathname } = new URL(response.url());
      hosts.add(host);
      if (pathname.startsWith('/ui/')) files.push(response.body().then(({ length }) => length));
    });
    await page.goto(`${device.origin}/ui/#code=${await device.code()}`);
    await settled(page);
    await page.waitForLoadState('networkidle');
    assert.deepEqual([...hosts], [`127.0.0.1:${device.core.port}`]);
    const bytes = (await Promise.all(files)).reduce((sum, one) => sum + one, 0);
    console.log(`bytes of the page until it can be used: ${bytes}`);
    assert.ok(bytes <= 250_000, `${bytes}`);
    // What parts of the page ask together is asked once, and comes packed.
    for (const path of ['/plugins', '/health', '/apps', '/version'])
      assert.equal(asked.filter((one) => one === path).length, 1, path);
    const transferred = (await Promise.all(data)).reduce((sum, one) => sum + one, 0);
    console.log(`bytes of data until it can be used: ${transferred}`);
    assert.ok(transferred <= 80_000, `${transferred}`);
    await context.close();
  });
});
