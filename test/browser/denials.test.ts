/** Why was this refused? At most two clicks from the start, with what would grant it, and a button that does. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../fixtures/app-packages.ts';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser } from './browser.ts';
import { confirm } from './confirming.ts';
import { Device } from './harness.ts';
import { talkingApp } from './talking-app.ts';

after(leakCheck());

const LOUD = 'com.example.loud';

describe('refusals on the page', { skip: noBrowser }, () => {
  const packages = new AppPackages();
  let device: Device;
  before(async () => {
    const app = talkingApp({
      id: LOUD,
      calls: ['audio.setVolume', 'logs.read', 'audio.play'],
      capabilities: [
        { id: 'audio', reason: 'It sets the volume.', optional: true },
        { id: 'system.logs', reason: 'It reads.', optional: true },
      ],
    });
    device = await Device.start('--app', packages.folder(app));
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    packages[Symbol.dispose]();
  });
  const named = (capability: string) => ({ name: `${LOUD}: ${capability}`, exact: true });

  test('each refusal says who, what, how often and why; a viewer can grant nothing', async () => {
    await using opened = await device.open({ role: 'viewer' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Denied' }).click();
    const volume = page.getByRole('region', named('audio'));
    await volume.getByText(/is not allowed yet/).waitFor();
    await volume.getByText(/\d+ times/).waitFor();
    assert.equal(await volume.getByRole('button', { name: 'Grant audio' }).isDisabled(), true);
    const logs = page.getByRole('region', named('system.logs'));
    await logs.getByText(/only the maker of the device can grant it/).waitFor();
    await logs.getByText(`grants: { ${LOUD}: ["system.logs"] }`).waitFor();
    assert.equal(await logs.getByRole('button', { name: /^Grant/ }).count(), 0);
  });

  test('a new refusal appears by itself, and a grant here takes effect', async () => {
    await using opened = await device.open({ at: 'denials' });
    const { page } = opened;
    const volume = page.getByRole('region', named('audio'));
    const times = async () => Number(/(\d+) times/.exec((await volume.textContent()) ?? '')?.[1] ?? 0);
    const before = await times();
    await eventually(async () => (await times()) > before, 'more refusals on the page');
    await volume.getByRole('button', { name: 'Grant audio' }).click();
    await confirm(device, page);
    await volume.getByText('Granted since').waitFor();
    const { body } = await device.core.ask(`/apps/${LOUD}`, { unix: true });
    assert.ok(body.app.capabilities.includes('audio'));
  });
});
