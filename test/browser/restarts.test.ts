/** A Core that ends and comes back under an open page: what the page shows meanwhile, and that all of it is there again without a reload. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser, openBrowser } from './browser.ts';
import { show } from './harness.ts';

const SKU = ['--sku', new URL('../../manifests/skus/simulator.yaml', import.meta.url).pathname];
const OFFLINE = 'Can’t reach the device. Retrying…';

describe('a page under which the Core restarts', { skip: noBrowser }, () => {
  const root = new TemporaryRoot();
  let core: CoreProcess;
  let browser: Browser;
  let origin: string;

  const start = async (port = 0) => {
    core = await CoreProcess.start(root.path, ...SKU, '--port', String(port));
    origin = /http:\/\/127\.0\.0\.1:\d+/.exec(core.out)![0];
  };
  const again = () => start(Number(new URL(origin).port));
  const signedIn = async (at: string, width = 1280): Promise<Page> => {
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width, height: 800 } });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const { body } = await core.post('/sessions/codes', { role: 'operator' });
    await page.goto(`${origin}/ui/#code=${body.code}`);
    await page.locator('main#main').waitFor();
    await show(page, at);
    return page;
  };
  const menu = (page: Page) => page.locator('nav.side .section a').allTextContents();
  const gone = (page: Page) => page.locator('p.banner.offline', { hasText: OFFLINE });
  before(async () => {
    await start();
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await core[Symbol.asyncDispose]();
    root[Symbol.dispose]();
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    test(`has the whole menu again after ${signal}, pages of plugins with it`, async () => {
      const page = await signedIn('panel');
      await page.locator('nav.side').getByRole('link', { name: 'Climate' }).waitFor();
      const before = await menu(page);
      assert.ok(before.length > 20, before.join());
      await core.stop(signal);
      await gone(page).waitFor();
      await again();
      await gone(page).waitFor({ state: 'detached' });
      // What is missing while plugins start comes by itself; what is there stays.
      await eventually(async () => (await menu(page)).join() === before.join(), 'the menu as it was');
      await page.waitForTimeout(6_000);
      assert.deepEqual(await menu(page), before);
      await page.context().close();
    });

  for (const width of [1280, 360])
    test(`shows a page that is opened meanwhile as soon as the device is back, at ${width} px`, async () => {
      const page = await signedIn('overview', width);
      await core.stop('SIGKILL');
      await gone(page).waitFor();
      await page.getByText('Last known state').waitFor();
      await page.evaluate("location.hash = '#/logs'");
      await page.getByRole('heading', { level: 1, name: 'Logs' }).waitFor();
      await page.getByText('This page opens as soon as the device is back.').waitFor();
      // Neither another page nor none takes the banner away, and no error of the browser is shown.
      await page.evaluate("location.hash = '#/nowhere'");
      await page.getByText('There is no page “nowhere”.').waitFor();
      await page.evaluate("location.hash = '#/logs'");
      await page.keyboard.press('Control+k');
      await page.getByText('the device does not answer').first().waitFor();
      const all = await page.locator('body').textContent();
      assert.doesNotMatch(String(all), /TypeError|Failed to fetch|Error:/);
      assert.equal(await gone(page).count(), 1);
      await again();
      await page.getByRole('log').or(page.locator('main .card')).first().waitFor();
      await gone(page).waitFor({ state: 'detached' });
      // The style sheet that could not be had came, too.
      const links = '[...document.querySelectorAll(\'link[href$="logs.css"]\')].filter(({ sheet }) => sheet).length';
      assert.equal(await page.evaluate(links), 1);
      await page.context().close();
    });

  test('says that the device starts, and not that half of it is broken', async () => {
    const page = await signedIn('overview');
    await page.evaluate(`window.seen = new Set(); new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('.well h2, .troubles strong')) window.seen.add(textContent);
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    await core.stop('SIGTERM');
    await gone(page).waitFor();
    await again();
    await gone(page).waitFor({ state: 'detached' });
    const states = async () => (await core.get('/plugins')).body.plugins.map(({ state }: { state: string }) => state);
    await eventually(async () => (await states()).every((state: string) => state === 'active'), 'a device that is up');
    await page.waitForTimeout(1_500);
    await page.locator('.well h2', { hasText: 'All is well' }).waitFor();
    const seen = await page.evaluate<string[]>('[...window.seen]');
    for (const one of seen) assert.doesNotMatch(one, /waits for something|has failed|^[0-9]{2,} things/, seen.join());
    await page.context().close();
  });

  test('dims the last picture of the panel, so that what stands over it can be read', async () => {
    const page = await signedIn('panel');
    await page.locator('.device:not(.empty)').waitFor();
    await core.stop('SIGKILL');
    const says = page.locator('.device-says');
    await says.waitFor();
    const background = await says.evaluate('(of) => getComputedStyle(of).backgroundColor');
    const alpha = Number(/rgba\(.*, ([0-9.]+)\)/.exec(String(background))?.[1] ?? 1);
    assert.ok(alpha >= 0.8, String(background));
    await again();
    await says.waitFor({ state: 'detached' });
    await page.context().close();
  });
});
