/** Boot on the page: what started and why, what each button says before it acts, and that a viewer has none. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';
import { noBrowser } from '../browser.ts';
import { confirm } from '../confirming.ts';
import { barriers, Device, show, sideways } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

const REPORT: BootReport = {
  form: 1,
  loader: 1,
  slot: 'a',
  version: '1.4.0',
  image: 'sha256:00',
  sku: 'simulator',
  safe: true,
  rung: 'safe',
  cause: 'slot b crashed 5 times',
  why: 'slot b crashed 5 times',
  tries: 1,
  primary: 'b',
  boot: 'x',
  uptime: 5,
  slots: {
    a: { state: 'trial', version: '1.4.0', tries: 1 },
    b: { state: 'bad', version: '1.5.0', tries: 3, reason: 'it ended before it was ready' },
  },
  repaired: ['a/kernel/main.js'],
  problems: [],
  verify: 'full',
  waited: 0,
  ms: { node: 40, record: 1, verify: 151, write: 2 },
};

describe('boot, on the page of a device without a boot loader', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  test('says that there is none, offers what can be done, and says why not more', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('link', { name: 'Boot' }).click();
    await page.getByText('This device has no boot loader').waitFor();
    const again = page.getByRole('region', { name: 'Start again' });
    await again.getByText('the Core was started by hand').waitFor();
    assert.deepEqual(await again.getByRole('button').allTextContents(), ['Reset']);
  });

  test('says what powering off does, has it confirmed, and tells why it cannot be any more', async () => {
    await using opened = await device.open();
    const { page } = opened;
    // As the device was a moment ago, when root had a helper.
    await page.route('**/boot', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), acts: ['powerOff'] } });
    });
    await page.getByRole('link', { name: 'Boot' }).click();
    await page.getByRole('button', { name: 'Power off' }).click();
    const dialog = page.getByRole('dialog', { name: 'Power the device off?' });
    await dialog.getByText('A person on site must').waitFor();
    await dialog.getByRole('button', { name: 'Power off' }).click();
    assert.match(await confirm(device, page), /Switch the device off/);
    await page.getByText('cannot power off: no helper of root is here').waitFor();
  });

  test('resets nothing before a person agrees', async () => {
    await using opened = await device.open({ at: 'boot' });
    const { page } = opened;
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(new URL(request.url()).pathname);
    });
    await page.getByRole('button', { name: 'Reset' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reset the device?' });
    await dialog.getByText('Nothing brings it back.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(
      asked.filter((path) => path.startsWith('/system')),
      [],
    );
  });

  test('shows a viewer what started, and no button', async () => {
    await using opened = await device.open({ role: 'viewer', at: 'boot' });
    const { page } = opened;
    await page.getByText('This device has no boot loader').waitFor();
    assert.equal(await page.locator('main').getByRole('button').count(), 0);
  });
});

describe('boot, on the page of a device that fell into safe mode', { skip: noBrowser }, () => {
  let device: Device;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dc-boot-page-'));
    process.env.DEVICE_BOOT = join(folder, 'boot.json');
    writeFileSync(process.env.DEVICE_BOOT, JSON.stringify(REPORT));
    try {
      device = await Device.start();
    } finally {
      delete process.env.DEVICE_BOOT;
    }
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  test('says so with its cause, shows both slots, the steps and what was repaired', async () => {
    await using opened = await device.open({ at: 'boot', width: 360, height: 740 });
    const { page } = opened;
    await page.getByText('Slot A started version 1.4.0 in safe mode: slot b crashed 5 times.').waitFor();
    const [a, b] = [page.getByRole('region', { name: 'Slot A' }), page.getByRole('region', { name: 'Slot B' })];
    assert.match((await a.textContent()) ?? '', /on trial.*1\.4\.0.*runs now/);
    assert.match((await b.textContent()) ?? '', /bad.*1\.5\.0.*3.*it ended before it was ready.*starts first/);
    const steps = page.getByRole('region', { name: 'Steps of the last start' });
    assert.match((await steps.textContent()) ?? '', /Slot checked151\s?ms/);
    await page.getByText('a/kernel/main.js').waitFor();
    assert.deepEqual(await page.getByRole('region', { name: 'Start again' }).getByRole('button').allTextContents(), [
      'Restart',
      'Reset',
    ]);
    assert.deepEqual([await barriers(page), await sideways(page)], [[], 0]);
  });

  test('speaks German and French as well', async () => {
    for (const [locale, words] of [
      ['de-DE', 'Platz A hat Version 1.4.0 abgesichert gestartet: slot b crashed 5 times.'],
      ['fr-FR', 'L’emplacement A a démarré la version 1.4.0 en mode sans échec : slot b crashed 5 times.'],
    ] as const) {
      await using opened = await device.open({ locale });
      await show(opened.page, 'boot');
      await opened.page.getByText(words).waitFor();
    }
  });
});
