import type { Page } from 'playwright-core';
import type { Device } from './harness.ts';

/** What is sensitive is asked again: the owner makes a code on the device and types it. Resolves with what stood in the question. */
export async function confirm(device: Device, page: Page): Promise<string> {
  const dialog = page.getByRole('dialog', { name: 'Confirm' });
  const code = dialog.getByRole('textbox', { name: 'Code' });
  await code.waitFor();
  const asked = (await dialog.textContent()) ?? '';
  const { body } = await device.core.ask('/sessions/confirmation-codes', { unix: true, body: {} });
  await code.fill(body.code);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'detached' });
  return asked;
}
