/** The page of the panel: what is on the glass is on the page, and what is done on the page happens on the device. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../fixtures/eventually.ts';
import { decodePng } from '../fixtures/png.ts';
import { shows, speaksFor, TouchedApp } from '../fixtures/touched-app.ts';
import type { RawClient } from '../plugins/rpc/fixture.ts';
import { noBrowser } from './browser.ts';
import { Device, show } from './harness.ts';

const SCENE = {
  scene: 1,
  title: 'A page that is touched',
  background: '#203040',
  nodes: [
    { kind: 'rect', id: 'n', x: 260, y: 260, w: 200, h: 200, fill: '@accent', tap: 'hit', label: 'Hit me' },
    { kind: 'text', id: 't', x: 40, y: 40, w: 640, text: 'äöü 08:30', role: 'title' },
  ],
};
const PIXELS = `(async () => {
  const canvas = document.querySelector('main canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const hash = await crypto.subtle.digest('SHA-256', data);
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
})()`;

describe('the page of the panel', { skip: noBrowser }, () => {
  const app = new TouchedApp();
  let device: Device;
  let session: RawClient;
  before(async () => {
    device = await Device.start('--app', app.folder);
    session = await speaksFor(device.core);
    await shows(session, SCENE);
  });
  after(async () => {
    session?.socket.destroy();
    await device?.[Symbol.asyncDispose]();
    app[Symbol.dispose]();
  });
  const touched = async (phase: string) => {
    const { params } = await session.find(({ method, params }) => method === 'display.input' && params.phase === phase);
    return params;
  };
  const glass = async (): Promise<string> => {
    const { body } = await device.core.ask('/panel/picture', { unix: true });
    return createHash('sha256')
      .update(decodePng(Buffer.from(body.png, 'base64')).rgba)
      .digest('hex');
  };
  const equals = (page: Page) =>
    eventually(async () => (await page.evaluate(PIXELS)) === (await glass()), 'the picture of the glass', {
      ms: 20_000,
    });

  test('shows the glass, pixel by pixel, and follows it', async () => {
    await using opened = await device.open({ at: 'panel' });
    const { page } = opened;
    await equals(page);
    await shows(session, { ...SCENE, background: '#604020' });
    await equals(page);
    await page.getByText('A page that is touched').first().waitFor();
    await page.locator('.panel-front', { hasText: 'com.example.touched' }).waitFor();
    const [picture] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save picture' }).click(),
    ]);
    assert.match(picture.suggestedFilename(), /^panel-.*\.png$/);
  });

  test('hands touches, swipes and keys to the app, by mouse and by keyboard alone', async () => {
    await using opened = await device.open({ at: 'panel' });
    const { page } = opened;
    await equals(page);
    const box = await page.locator('main canvas').boundingBox();
    assert.ok(box);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    assert.equal((await touched('tap')).tap, 'hit');
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.8);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.8, { steps: 4 });
    await page.mouse.up();
    assert.equal((await touched('swipe')).direction, 'left');
    await page.getByRole('button', { name: 'Hit me' }).focus();
    await page.keyboard.press('Enter');
    assert.equal((await touched('tap')).tap, 'hit');
    await page.getByRole('button', { name: 'Swipe right' }).focus();
    await page.keyboard.press('Space');
    assert.equal((await touched('swipe')).direction, 'right');
    await page.getByRole('button', { name: 'OK', exact: true }).click();
    assert.equal((await touched('key')).key, 'ok');
  });

  test('lights the panel and puts it out', async () => {
    await using opened = await device.open({ at: 'panel' });
    const { page } = opened;
    const power = page.getByRole('group', { name: 'Power of the panel' });
    await power.getByRole('button', { name: 'Off' }).click();
    await page.getByText('The panel is off').waitFor();
    await power.getByRole('button', { name: 'On' }).click();
    await page.getByText('The panel is off').waitFor({ state: 'detached' });
    await equals(page);
    await page.getByRole('slider', { name: 'Brightness' }).fill('0.5');
    const level = async () => (await device.core.ask('/display', { unix: true })).body.brightness;
    await eventually(async () => Math.abs((await level()) - 0.5) < 0.02, 'the panel is half as bright');
  });

  test('lets a viewer look, and nothing else', async () => {
    await using opened = await device.open({ at: 'panel', role: 'viewer' });
    const { page } = opened;
    await equals(page);
    assert.equal(await page.getByRole('button', { name: 'Hit me' }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: 'Off', exact: true }).isDisabled(), true);
    assert.equal(await page.locator('.device.touchable').count(), 0);
  });

  test('asks for no frame once it is left', async () => {
    await using opened = await device.open();
    const { page } = opened;
    let frames = 0;
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (typeof payload !== 'string') frames += 1;
      }),
    );
    // The shell opens the socket at once.
    await page.reload();
    await show(page, 'panel');
    await eventually(() => frames > 0, 'a frame');
    await show(page, 'overview');
    await page.locator('main canvas').waitFor({ state: 'detached' });
    const before = frames;
    for (const background of ['#102030', '#301020', '#203010', '#102010']) {
      const former = await glass();
      await shows(session, { ...SCENE, background });
      await eventually(async () => (await glass()) !== former, 'another picture on the glass');
    }
    assert.ok(frames - before <= 1, 'what was on its way at most');
  });

  test('shows a code to pair another browser on the panel', async () => {
    await using opened = await device.open({ at: 'panel' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Pair a browser' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pair a browser' });
    await dialog.getByRole('button', { name: 'Show on the panel' }).click();
    const confirm = page.getByRole('dialog', { name: 'Confirm' });
    const field = confirm.getByRole('textbox', { name: 'Code' });
    await field.waitFor();
    const { body } = await device.core.ask('/sessions/confirmation-codes', { unix: true, body: {} });
    await field.fill(body.code);
    await confirm.getByRole('button', { name: 'Confirm' }).click();
    const code = (await dialog.locator('.panel-code').textContent())?.trim();
    const shown = async () => (await device.core.ask('/display/text?all=true', { unix: true })).body.text.join('\n');
    await eventually(async () => /code to scan/.test(await shown()), 'the code is on the panel');
    const signIn = await device.core.ask('/sessions', { body: { code, name: 'a phone' } });
    assert.equal(signIn.status, 201, signIn.text);
    assert.equal(signIn.body.session.role, 'viewer');
    await using other = await device.open({ at: 'panel', role: 'viewer' });
    await other.page.getByText('The panel shows a code to pair a browser').waitFor();
    const black = () =>
      other.page.evaluate<boolean>(
        "((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.every((byte, at) => byte === (at % 4 === 3 ? 255 : 0)))(document.querySelector('main canvas'))",
      );
    assert.equal(await black(), true, 'nothing of it is in the page of a viewer');
    await device.core.ask('/display/home', { unix: true, method: 'PUT', body: { screen: 'home' } });
    await other.page.getByText('The panel shows a code to pair a browser').waitFor({ state: 'detached' });
    await eventually(async () => !(await black()), 'the panel again');
  });
});
