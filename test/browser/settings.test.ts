/** The page of the settings as its reader uses it: find, change, undo, give back, and what happens when somebody else was quicker. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import type { Page } from 'playwright-core';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser } from './browser.ts';
import { barriers, Device, sideways } from './harness.ts';

after(leakCheck());

const HOSTILE = 'com.example.hostile';
const SCRIPT = '<script>window.hit=1</script><img src=x onerror="window.hit=1">';

/** A schema that nobody would draw: markup in its words, twenty levels, a key with dots, a secret. */
function hostileApp(): string {
  let deep: object = { type: 'string' };
  for (let turn = 0; turn < 20; turn++) deep = { type: 'object', properties: { x: deep }, additionalProperties: false };
  const properties = {
    plain: { type: 'string', title: SCRIPT, description: SCRIPT, maxLength: 8 },
    'dotted.name': { type: 'integer', minimum: 0, maximum: 9 },
    deep,
    token: { type: 'string', secret: true },
    list: { type: 'array', items: { type: 'string' } },
  };
  const defaults = { plain: 'fine', 'dotted.name': 3, list: ['a'] };
  return JSON.stringify({
    manifestVersion: 1,
    id: HOSTILE,
    name: 'hostile',
    version: '1.0.0',
    title: SCRIPT,
    minCore: '0.1.0',

    exec: { command: 'node', args: ['main.ts'] },
    capabilities: [],
    config: { schema: { type: 'object', properties }, defaults },
    lifecycle: { autostart: false },
  });
}

describe('the page of the settings', { skip: noBrowser }, () => {
  let folder: string;
  let device: Device;
  const put = (key: string, body: object) => device.core.ask(`/config/${key}`, { method: 'PUT', unix: true, body });
  const held = async (key: string, app = '') =>
    (await device.core.ask(`/config/${key}${app && `?app=${app}`}`, { unix: true })).body;
  const row = (page: Page, name: string) => page.getByRole('group', { name, exact: true });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'settings-'));
    await writeFile(join(folder, 'app.yaml'), hostileApp());
    await writeFile(join(folder, 'main.ts'), '');
    device = await Device.start('--app', folder);
    const { status } = await put('token', { value: 'very-secret', app: HOSTILE });
    assert.equal(status, 200);
  });
  after(async () => {
    await device?.[Symbol.asyncDispose]();
    if (folder) await rm(folder, { recursive: true });
  });

  test('a setting of a plugin is changed, runs, says who set it, and is undone with one click', async () => {
    await using opened = await device.open({ at: 'settings/plugin/notify' });
    const { page } = opened;
    const [name = ''] = await page
      .locator('.setting')
      .evaluateAll((rows) => rows.map((one) => one.getAttribute('aria-label') ?? ''));
    assert.notEqual(name, '');
    const { body } = await device.core.ask('/config-descriptions?plugin=notify', { unix: true });
    const setting = body.keys.find((one: { schema: { type: string } }) => one.schema.type === 'integer');
    const mine = row(page, setting.schema.title ?? setting.name);
    const field = mine.getByRole('textbox');
    const before = await field.inputValue();
    const other = String(Math.min(setting.schema.maximum, Number(before) + 1));
    await field.fill(other);
    await mine.getByRole('button', { name: /^Save/ }).click();
    await mine.getByText('Saved.').waitFor();
    assert.equal((await held(setting.key)).value, Number(other));
    await mine.getByText(/operator \(Chromium on Linux\)/).waitFor();
    const running = async () => (await device.core.ask('/config-descriptions?plugin=notify', { unix: true })).body.keys;
    await eventually(
      async () => !('running' in (await running()).find((one: { key: string }) => one.key === setting.key)),
      'the plugin to run with it',
    );
    await mine.getByRole('button', { name: /^Undo/ }).click();
    await mine.getByText('Undone.').waitFor();
    assert.equal((await held(setting.key)).code, 'CONFIG_KEY_NOT_FOUND');
  });

  test('changed settings stand first: one is reset with the second click from the start page, and the search finds it', async () => {
    await put('display.theme', { value: 'night' });
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: /^Reset to default: display\.theme/ }).click();
    await page.getByText('Reset to default.', { exact: true }).waitFor();
    assert.equal((await held('display.theme')).code, 'CONFIG_KEY_NOT_FOUND');
    await page.getByRole('button', { name: /^Undo the change of display\.theme/ }).click();
    await page.getByText('Undone.').waitFor();
    assert.equal((await held('display.theme')).value, 'night');
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('dimmed');
    await row(page, 'dimMs').waitFor();
    await put('display.theme', { value: null });
  });

  test('the slower of two writers sees both values and chooses', async () => {
    await put('kitchen.lamp', { value: 'red' });
    await using opened = await device.open({ at: 'settings/device/device' });
    const { page } = opened;
    const mine = row(page, 'kitchen.lamp');
    await mine.getByRole('textbox').fill('blue');
    await put('kitchen.lamp', { value: 'green' });
    await mine.getByRole('button', { name: /^Save/ }).click();
    const conflict = mine.getByRole('alert');
    await conflict.getByText('green').waitFor();
    await conflict.getByText('blue').waitFor();
    assert.equal((await held('kitchen.lamp')).value, 'green');
    await conflict.getByRole('button', { name: 'Use mine' }).click();
    await mine.getByText('Saved.').waitFor();
    assert.equal((await held('kitchen.lamp')).value, 'blue');
    await put('kitchen.lamp', { value: null });
  });

  test('a refusal of the Core is said at the field, and nothing is written', async () => {
    await using opened = await device.open({ at: 'settings/plugin/display' });
    const mine = row(opened.page, 'dimMs');
    await mine.getByRole('textbox').fill('5');
    await mine.getByRole('button', { name: /^Save/ }).click();
    await mine.getByRole('alert').getByText('must be >= 1000').waitFor();
    assert.equal((await held('plugins.display.dimMs')).code, 'CONFIG_KEY_NOT_FOUND');
    await mine.getByRole('textbox').fill('five');
    await mine.getByText('This is not a whole number.').waitFor();
    assert.ok(await mine.getByRole('button', { name: /^Save/ }).isDisabled());
  });

  test('words of an app are text, its secret is never on the page, and a narrow screen holds them', async () => {
    await using opened = await device.open({ at: `settings/app/${HOSTILE}`, width: 360 });
    const { page } = opened;
    await row(page, 'dotted.name').getByRole('textbox').fill('4');
    await row(page, 'dotted.name').getByRole('button', { name: /^Save/ }).click();
    await row(page, 'dotted.name').getByText('Saved.').waitFor();
    assert.equal((await held('dotted.name', HOSTILE)).value, 4);
    await page.getByText('set, not shown').waitFor();
    assert.equal(await page.evaluate('window.hit'), undefined);
    assert.ok(!(await page.content()).includes('very-secret'));
    assert.deepEqual(await barriers(page), []);
    assert.equal(await sideways(page), 0);
  });

  test('a viewer reads all of it and can change nothing', async () => {
    await put('kitchen.lamp', { value: 'red' });
    await using opened = await device.open({ at: 'settings', role: 'viewer' });
    const { page } = opened;
    const mine = row(page, 'kitchen.lamp');
    assert.ok(await mine.getByRole('textbox').isDisabled());
    assert.ok(await mine.getByRole('button', { name: /^Reset/ }).isDisabled());
  });
});
