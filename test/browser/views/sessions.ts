/** Who is signed in, and what a page has to have confirmed. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../fixtures/eventually.ts';
import { noBrowser } from '../browser.ts';
import { barriers, type Device } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

describe('a sensitive act', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));
  const ask =
    "void import('/ui/core/api.ts').then(({ api }) => api.post('/sessions/codes', { role: 'viewer' })).then((answer) => { window.answer = answer; }, (error) => { window.answer = error.code; });";

  test('is confirmed with a code', async () => {
    await using opened = await device.open();
    const { page } = opened;
    await page.evaluate(ask);
    const dialog = page.getByRole('dialog', { name: 'Confirm' });
    await dialog.getByText('Let another browser in as viewer').waitFor();
    assert.deepEqual(await barriers(page), []);
    const field = dialog.getByRole('textbox', { name: 'Code' });
    await field.fill('AAAA-AAAA');
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.getByRole('alert').waitFor();
    const { body } = await device.core.ask('/sessions/confirmation-codes', { unix: true, body: {} });
    assert.deepEqual(
      body.waiting.map(({ what }: { what: string }) => what),
      ['let another browser in as viewer'],
    );
    await field.fill(body.code);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(() => page.evaluate("typeof window.answer?.code === 'string'"), 'the answer');
  });

  test('is confirmed or refused on the panel of the device', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const answer = async (allow: readonly string[], question = ask) => {
      await page.evaluate(question);
      await page.getByRole('dialog', { name: 'Confirm' }).getByText('on the panel of the device').waitFor();
      const { body } = await device.core.ask('/prompts', { unix: true });
      assert.match(body.prompts[0].title, /Chromium/);
      await device.core.ask(`/prompts/${body.prompts[0].id}`, { unix: true, body: { allow } });
    };
    await answer([]);
    await page.getByText('It was refused on the device').waitFor();
    await page.getByRole('button', { name: 'Understood' }).click();
    await eventually(() => page.evaluate("window.answer === 'CONFIRMATION_REQUIRED'"), 'the refusal');
    // Who was refused does not ask the person the same at once.
    await page.evaluate(ask);
    await eventually(() => page.evaluate("window.answer === 'CALLER_DENIED'"), 'no second question');
    await answer(['yes'], ask.replace('viewer', 'operator'));
    await eventually(() => page.evaluate("typeof window.answer?.code === 'string'"), 'the answer');
  });

  test('lets a viewer in by the page, who may look and change nothing; the operator names and ends that session', async () => {
    await using opened = await device.open({ at: 'sessions' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Make a code' }).click();
    await page.getByRole('dialog', { name: 'Confirm' }).waitFor();
    const { body } = await device.core.ask('/sessions/confirmation-codes', { unix: true, body: {} });
    await page.getByRole('textbox', { name: 'Code' }).fill(body.code);
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
    const address = (await page.locator('.sign-in-address code').textContent()) ?? '';
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/ui\/#code=[A-Z0-9]{4}-[A-Z0-9]{4}$/);

    const context = await device.browser.newContext({ locale: 'en-GB' });
    const viewer = await context.newPage();
    await viewer.goto(address);
    await viewer.locator('main#main').waitFor();
    await viewer.evaluate("location.hash = '#/sessions'");
    await viewer.getByRole('table', { name: 'Browsers' }).waitFor();
    assert.equal(await viewer.getByRole('button', { name: 'Make a code' }).count(), 0);
    assert.equal(await viewer.evaluate('document.cookie'), '');
    await eventually(
      () =>
        viewer.evaluate(
          "import('/ui/core/api.ts').then(({ api }) => api.post('/plugins/presence/disable')).then(() => false, (error) => error.code === 'CALLER_DENIED')",
        ),
      'the refusal of a write',
    );

    // It follows events there: what it has open is cut with its session.
    await viewer.evaluate("location.hash = '#/overview'");
    await eventually(
      () => viewer.evaluate("import('/ui/core/live.ts').then(({ liveState }) => liveState.value === 'on')"),
      'the socket of the viewer',
    );
    await page.getByRole('button', { name: 'Refresh' }).click();
    const row = page.getByRole('row').filter({ has: page.getByRole('cell', { name: 'Viewer', exact: true }) });
    await row.getByRole('button', { name: /^Rename/ }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('The tablet <b>in</b> the kitchen');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'The tablet <b>in</b> the kitchen', exact: true }).waitFor();
    await page.getByRole('button', { name: 'End the session of The tablet' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
    await page.getByText('has ended.').waitFor();
    await viewer.getByText('Your session has ended').waitFor();
    await context.close();
  });
});
