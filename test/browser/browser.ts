import { type Browser, chromium } from 'playwright-core';
import { foundOf, without } from '../fixtures/debian.ts';

const [PROGRAM] = foundOf('chromium');

/** `skip` of a test. */
export const noBrowser = without('chromium');

/** `more`: flags of chromium, `--use-file-for-fake-audio-capture=...`. */
export function openBrowser(...more: readonly string[]): Promise<Browser> {
  // Root has no sandbox of its own here; the page comes from the Core that the test started.
  return chromium.launch({
    executablePath: PROGRAM!,
    args: [
      ...['--no-sandbox', '--disable-gpu'],
      ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
      ...more,
    ],
  });
}
