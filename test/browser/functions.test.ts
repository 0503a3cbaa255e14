/** Functions in a real browser: a call by its form, its answer, and the same call as a line that works. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { leakCheck } from '@device-core/plugin-api/testing';
import type { Page } from 'playwright-core';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser } from './browser.ts';
import { barriers, Device, settled, show, sideways } from './harness.ts';

after(leakCheck());

const ADD = 'functions/fn/com.example.agenda/agenda.add/1.0.0';
const answer = (page: Page) => page.getByRole('region', { name: 'Answer' });
const lineOf = async (page: Page, what: string): Promise<string> =>
  (await page
    .locator('.line', { has: page.getByRole('heading', { name: what }) })
    .locator('code')
    .textContent()) ?? '';

describe('functions', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await Device.start('--app', 'docs/examples/agenda');
    await eventually(
      async () => (await device.core.ask('/functions/agenda.add', { unix: true })).status === 200,
      'the functions of the agenda',
    );
  });
  after(() => device[Symbol.asyncDispose]());

  /** What a shell makes of a line. */
  const shell = async (line: string): Promise<string> => {
    const script = `devicectl() { "$NODE" plugins/interface/cli/program/devicectl.ts "$@"; }\n${line}`;
    const { stdout } = await promisify(execFile)('sh', ['-c', script], {
      env: { ...process.env, NODE: process.execPath },
    });
    return stdout;
  };

  test('a function is found, called by its form, and its line does the same in a shell', async () => {
    await using opened = await device.open({ at: 'functions' });
    const { page } = opened;
    await page.getByLabel('Search functions and operations').fill('agenda add');
    await page.getByRole('link', { name: /agenda\.add/ }).click();
    await page.getByLabel('title').fill('Tea at Ada\'s; $(id) & "more"');
    await page.getByLabel('inSeconds').fill('3600');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText('It took').waitFor();
    await answer(page).getByText('at', { exact: true }).waitFor();
    await page.getByLabel('Folder of the sockets').fill(device.core.run);
    const line = await lineOf(page, 'devicectl');
    assert.match(
      line,
      /^devicectl --run=\S+ call agenda\.add 'title=Tea at Ada'\\''s; \$\(id\) & "more"' inSeconds:=3600$/,
    );
    assert.match(await shell(line), /^RESULT +VALUE/);
    if (existsSync('/usr/bin/curl')) assert.equal(JSON.parse(await shell(await lineOf(page, 'curl'))).ok, true);
    const rpc = JSON.parse(await lineOf(page, 'JSON-RPC'));
    assert.deepEqual([rpc.method, rpc.params.inputs.inSeconds], ['functions.call', 3600]);
    await show(page, 'functions/fn/com.example.agenda/agenda.day/1.0.0');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText(`“Tea at Ada's; $(id) & "more"”`).first().waitFor();
  });

  test('an operation is called, its answer is read as a tree or as JSON, and the line asks the same', async () => {
    await using opened = await device.open({ at: 'functions/op/config.set' });
    const { page } = opened;
    await page.getByText('changes the device').waitFor();
    await page.getByLabel('key').fill('kitchen.lamp');
    await page.getByLabel('value', { exact: true }).fill('{"on": true}');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText('It took').waitFor();
    await answer(page).getByLabel('Raw JSON').click();
    await answer(page).locator('pre').waitFor();
    await page.getByLabel('Folder of the sockets').fill(device.core.run);
    const line = await lineOf(page, 'devicectl');
    assert.match(line, / config set kitchen\.lamp '\{"on":true\}'$/);
    assert.match(await shell(line), /^kitchen\.lamp = \{"on":true\}/);
  });

  test('an error is said with its code, and at the field that it is about', async () => {
    await using opened = await device.open({ at: 'functions/op/functions.describe' });
    const { page } = opened;
    await page.getByLabel('name').fill('no.such');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText('FUNCTION_NOT_FOUND').waitFor();
    await show(page, ADD);
    await page.getByLabel('title').fill('x');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText('"inSeconds" is missing').waitFor();
    await answer(page).getByText('PARAMS_INVALID').waitFor();
  });

  test('a function that stops work asks first', async () => {
    await using opened = await device.open({ at: 'functions/op/plugins.restart' });
    const { page } = opened;
    await page.getByLabel('id').fill('notify');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await answer(page).count(), 0);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Call' }).click();
    await answer(page).getByText('It took').waitFor();
  });

  test('a stream is opened, shows what comes, and is stopped', async () => {
    await using opened = await device.open({ at: 'functions/op/logs.stream' });
    const { page } = opened;
    await page.getByLabel('tail').fill('5');
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await answer(page).getByRole('listitem').first().waitFor();
    await answer(page).getByRole('button', { name: 'Stop' }).click();
    await answer(page).waitFor({ state: 'detached' });
    assert.match(await lineOf(page, 'curl'), /^curl -sN .*tail=5/);
    await show(page, 'functions/stream/display.frames');
    await page.getByText('the device sends').waitFor();
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await answer(page)
      .getByText(/\d+ chunks?,/)
      .waitFor();
  });

  for (const [width, colours] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const)
    test(`every view of it is without barriers and fits, at ${width} px, ${colours}`, async () => {
      await using opened = await device.open({ at: ADD, width, height: 740, colours });
      const { page } = opened;
      await page.getByLabel('title').fill('Tea');
      await page.getByLabel('inSeconds').fill('60');
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await answer(page).getByText('It took').waitFor();
      assert.deepEqual([...(await barriers(page)), await sideways(page)], [0]);
      for (const at of [
        'functions/op/plugins.restart',
        'functions/op/apps.upload',
        'functions/stream/audio.playback',
      ]) {
        await show(page, at);
        assert.deepEqual([at, ...(await barriers(page)), await sideways(page)], [at, 0]);
      }
    });

  test('a viewer reads and changes nothing', async () => {
    await using opened = await device.open({ at: 'functions/op/plugins.list', role: 'viewer' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await answer(page).getByText('plugins', { exact: true }).first().waitFor();
    await show(page, 'functions/op/config.set');
    assert.ok(await page.getByRole('button', { name: 'Call', exact: true }).isDisabled());
  });

  test('a thousand functions with the worst of names are a list that one can use', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const nasty = ['<script>top.hit=1</script>', 'javascript:top.hit=1', '\u202egpj.exe', 'x'.repeat(10_000)];
    const functions = Array.from({ length: 1_000 }, (_, n) => ({
      name: `load.f${n}`,
      version: '1.0.0',
      app: `com.example.a${n % 10}`,
      id: `${n}`,
      available: true,
      description: nasty[n % 4],
      inputs: { [`${nasty[n % 3]}`]: 'string?' },
      utterances: [nasty[n % 4]],
    }));
    await page.route('**/functions', (route) => route.fulfill({ json: { ok: true, functions, leftOut: [] } }));
    await show(page, 'functions');
    await page.getByRole('button', { name: 'Functions', exact: true }).click();
    await page.getByText('1,000 found').waitFor();
    const rows = await page.getByRole('list', { name: 'Functions and operations' }).getByRole('listitem').count();
    assert.ok(rows < 60, `${rows} rows are drawn`);
    await page.getByLabel('Search functions and operations').fill('f997');
    await page.getByRole('link', { name: /load\.f997/ }).click();
    await settled(page);
    await page.getByLabel('javascript:top.hit=1').fill('1');
    await show(page, 'functions/fn/com.example.a8/load.f998/1.0.0');
    await page.getByText('\\u202egpj.exe').first().waitFor();
    assert.equal(await page.evaluate('top.hit'), undefined);
    assert.equal(await page.locator('a[href^="javascript"], main script').count(), 0);
  });
});
