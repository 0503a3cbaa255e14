/** Debian's chromium for tests of the page, or a reason why there is none. Nothing is ever fetched for it. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PROGRAM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((one) =>
  existsSync(one),
);

/** `skip` of a test. */
export const noBrowser = PROGRAM === undefined ? 'chromium is not installed (apt install chromium)' : false;

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
