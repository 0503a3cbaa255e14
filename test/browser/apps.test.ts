/** The page of apps, as the owner of a device uses it: answer, grant, take back, install; and what a viewer cannot do. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../fixtures/app-packages.ts';
import { noBrowser } from './browser.ts';
import { confirm } from './confirming.ts';
import { Device, show } from './harness.ts';
import { HOSTILE, talkingApp } from './talking-app.ts';

after(leakCheck());

const EAR = 'com.example.ear';
const CHIME = 'com.example.chime';

describe('apps on the page', { skip: noBrowser }, () => {
  const packages = new AppPackages();
  let device: Device;
  before(async () => {
    const capabilities = [
      { id: 'audio.capture', reason: HOSTILE.markup },
      { id: 'network.outbound:api.example.com', reason: HOSTILE.turned, optional: true },
      { id: 'display.notify', reason: HOSTILE.link },
    ];
    const ear = talkingApp({
      id: EAR,
      title: HOSTILE.markup,
      description: HOSTILE.link,
      capabilities,
      said: [HOSTILE.markup, HOSTILE.terminal],
    });
    device = await Device.start('--app', packages.folder(ear));
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    packages[Symbol.dispose]();
  });

  test('an open question is answered, a capability taken back and given again, and the words of the app are quoted as text', async () => {
    await using opened = await device.open({ at: 'apps' });
    const { page } = opened;
    const question = page.getByRole('region', { name: `${EAR} asks for something` });
    const required = question.getByRole('checkbox', { name: 'audio.capture' });
    assert.deepEqual([await required.isChecked(), await required.isDisabled()], [true, true]);
    assert.equal(await question.getByRole('checkbox', { name: 'api.example.com' }).isChecked(), false);
    assert.match((await question.textContent()) ?? '', /Connect to api\.example\.com, port 443, and to no other host/);
    assert.match((await question.textContent()) ?? '', /Not signed\./);
    assert.match((await question.textContent()) ?? '', /<script>window\.harmed=1<\/script>/);
    assert.match((await question.textContent()) ?? '', /safe\\u202e, allow it/);
    await question.getByRole('button', { name: 'Allow the ticked rights' }).click();
    assert.match(await confirm(device, page), /Allow what is asked.*com\.example\.ear.*Hear the microphone/s);
    await question.waitFor({ state: 'detached' });

    await page.getByRole('link', { name: EAR }).click();
    await page.getByRole('link', { name: 'Grants' }).click();
    const microphone = page.getByRole('listitem').filter({ hasText: 'hear the microphone' });
    await microphone.getByText('granted', { exact: true }).waitFor();
    await microphone.getByText(/operator allowed audio\.capture to version 1\.0\.0/).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'api.example.com' })
      .getByText('denied', { exact: true })
      .waitFor();
    await microphone.getByRole('button', { name: 'Take back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
    await microphone.getByText('denied', { exact: true }).waitFor();
    await microphone.getByRole('button', { name: 'Grant', exact: true }).click();
    assert.match(await confirm(device, page), /audio\.capture/);
    await microphone.getByText('granted', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page
      .getByRole('button', { name: /red and plain/ })
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Sandbox' }).click();
    await page.getByText('No way out: it talks to the Core alone.').waitFor();
    assert.equal(await page.evaluate('window.harmed'), undefined);
    assert.equal(await page.locator('main a[href^="javascript"]').count(), 0);
  });

  test('a package is shown with what it asks for before it is installed, and its steps while it is', async () => {
    const file = await packages.pack(
      talkingApp({
        id: CHIME,
        title: 'Chime',
        capabilities: [
          { id: 'audio.playback', reason: 'It rings.' },
          { id: 'audio.capture', reason: 'It hears you.' },
        ],
      }),
    );
    await using opened = await device.open({ at: 'apps/install' });
    const { page } = opened;
    const choose = page.getByLabel('Package of an app (.app)');
    await choose.setInputFiles({
      name: 'broken.app',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from('no package'),
    });
    await page.getByText('The file is no package of an app').waitFor();
    await choose.setInputFiles(file);
    const install = page.getByRole('button', { name: 'Install 1.0.0' });
    await page.getByText('It hears you.').waitFor();
    const box = page.getByRole('checkbox', { name: 'audio.capture' });
    assert.deepEqual([await box.isChecked(), await box.isDisabled()], [true, true], 'what is required is on');
    const { body: before } = await device.core.ask('/apps', { unix: true });
    assert.equal(
      before.apps.some(({ id }: { id: string }) => id === CHIME),
      false,
    );
    await install.click();
    const told = await confirm(device, page);
    for (const part of [
      /Chime/,
      /version 1\.0\.0/,
      /Not signed/,
      /com\.example\.chime/,
      /Play sound/,
      /Hear the microphone/,
    ])
      assert.match(told, part, 'who confirms it is told which app, who signed it, and each right');
    await page
      .getByRole('listitem')
      .filter({ hasText: 'on probation' })
      .and(page.locator('[aria-current=step]'))
      .waitFor();
    await show(page, 'apps');
    await page.getByRole('row', { name: /Chime/ }).getByText('running').waitFor();
    await show(page, 'changes');
    await page.getByRole('link', { name: /install com\.example\.chime 1\.0\.0/ }).click();
    await page.getByText('putting its files in place').waitFor();
  });

  test('an app is stopped and started', async () => {
    await using opened = await device.open({ at: `apps/${EAR}` });
    const { page } = opened;
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
  });

  test('a viewer sees all of it and changes none of it', async () => {
    await using opened = await device.open({ at: `apps/${EAR}?tab=grants`, role: 'viewer' });
    const { page } = opened;
    await page.getByRole('listitem').filter({ hasText: 'hear the microphone' }).waitFor();
    for (const name of ['Take back', 'Restart', 'Stop', 'Switch off'])
      assert.equal(await page.getByRole('button', { name, exact: true }).first().isDisabled(), true, name);
    await show(page, 'apps/install');
    await page.getByText('You are signed in as a viewer').waitFor();
    assert.equal(await page.locator('input[type=file]').count(), 0);
  });

  test('500 apps stay usable: those in trouble first, a name finds one', async () => {
    const state = (n: number) => (n === 321 ? 'quarantined' : n % 2 === 0 ? 'running' : 'stopped');
    const apps = Array.from({ length: 500 }, (_, n) => ({
      id: `com.example.many-${n}`,
      name: `many-${n}`,
      version: '1.0.0',
      title: `Many ${n}`,
      state: state(n),
      since: 1,
      restarts: 0,
      capabilities: [],
      denied: [],
      leftOut: [],
    }));
    await using opened = await device.open();
    const { page } = opened;
    await page.route('**/apps', (route) => route.fulfill({ json: { ok: true, apps } }));
    await page.reload(); // the list that was asked for before is younger than a second
    await show(page, 'apps');
    const rows = page.getByRole('table', { name: 'Apps' }).getByRole('row');
    assert.match((await rows.nth(1).textContent()) ?? '', /Many 321/);
    assert.equal(await rows.count(), 101);
    await page.getByRole('searchbox', { name: 'Filter by name' }).fill('many-42');
    await page.getByRole('link', { name: /Many 42\b/ }).waitFor();
    assert.equal(await rows.count(), 12);
  });
});
