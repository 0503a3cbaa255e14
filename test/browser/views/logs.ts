/** The log on the page: live, filtered, paused, in thousands of lines; text of apps stays text. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../browser.ts';
import type { Device } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';
import { HOSTILE } from '../talking-app.ts';

const line = (n: number, message: string, level = 'info', more: object = {}) =>
  `${JSON.stringify({ level, time: 1_700_000_000_000 + n, msg: message, ...more })}\n`;

describe('logs on the page', { skip: noBrowser }, () => {
  let device: Device;
  let file: string;
  before(async () => {
    device = await lend();
    file = join(dirname(device.core.run), 'var/log/apps/many.log');
    mkdirSync(dirname(file), { recursive: true });
  });
  after(() => giveBack(device));

  test('lines come by themselves, are filtered, paused, and say more when they are chosen', async () => {
    writeFileSync(
      file,
      line(1, HOSTILE.markup) + line(2, HOSTILE.terminal, 'warn', { fields: { oven: HOSTILE.link } }),
    );
    await using opened = await device.open({ at: 'logs?app=many' });
    const { page } = opened;
    const list = page.getByRole('list', { name: 'Lines of the log' });
    await list.getByText('<script>window.harmed=1</script>').waitFor();
    await list.getByRole('button', { name: /warn .*red and plain/ }).click();
    const details = page.getByRole('region', { name: /^Line of 2023-11-14/ });
    await details.getByText(HOSTILE.link).waitFor();
    appendFileSync(file, line(3, 'the oven is hot', 'error'));
    await list.getByText('the oven is hot').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    appendFileSync(file, line(4, 'the oven is cold'));
    await page.getByText('1 new line waits').waitFor();
    assert.equal(await list.getByText('the oven is cold').count(), 0);
    await page.getByRole('button', { name: 'Follow' }).click();
    await list.getByText('the oven is cold').waitFor();
    await page.getByRole('searchbox', { name: 'Contains' }).fill('oven');
    await page.getByText('3 lines', { exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Level' }).first().selectOption('error');
    await page.getByText('1 line', { exact: true }).waitFor();
    assert.equal(await page.evaluate('window.harmed'), undefined);
    assert.equal(await page.locator('main a[href^="javascript"]').count(), 0);
  });

  test('ten thousand lines are a few on the page, and older ones are let go with a word', async () => {
    writeFileSync(file, line(0, 'the first'));
    await using opened = await device.open({ at: 'logs?app=many' });
    const { page } = opened;
    const list = page.getByRole('list', { name: 'Lines of the log' });
    await list.getByText('the first').waitFor();
    appendFileSync(file, Array.from({ length: 10_050 }, (_, n) => line(n + 1, `line ${n + 1}`)).join(''));
    await page.getByText('10,000 lines', { exact: true }).waitFor();
    await list.getByText('line 10050', { exact: true }).waitFor();
    await page.getByText('Older lines than these 10,000 are not kept on this page.').waitFor();
    assert.ok((await list.getByRole('listitem').count()) < 80);
    await page.getByRole('searchbox', { name: 'Contains' }).fill('line 9999');
    await list.getByText('line 9999', { exact: true }).waitFor();
  });

  test('the log of the Core tells of its plugins, and how the start before this one went', async () => {
    await using opened = await device.open({ at: 'logs' });
    const { page } = opened;
    await page.getByRole('combobox', { name: 'Plugin' }).selectOption('web');
    const list = page.getByRole('list', { name: 'Lines of the log' });
    await list.getByText('plugin active').first().waitFor();
    assert.equal(await list.getByText('identity', { exact: true }).count(), 0);
  });
});
