import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { differing, pages, readInput } from '../../docs/reference/generate.ts';
import { eventually } from '../fixtures/eventually.ts';
import { agrees, docBlocks, type Expected } from './doc-blocks.ts';
import { DocCheckout } from './doc-checkout.ts';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const RUN = [
  'README.md',
  'docs/guides/app-developer.md',
  'docs/guides/test-an-app.md',
  'docs/guides/plugin-author.md',
  'docs/guides/i2c-sensor.md',
  'docs/guides/grants.md',
  'docs/guides/ship-an-app.md',
  'docs/guides/oem.md',
  'docs/guides/service.md',
  'docs/guides/buses.md',
  'docs/guides/voice.md',
  'docs/guides/look.md',
  'docs/guides/screen.md',
];

const PATIENCE_MS = 10_000;

const read = (file: string) => readFileSync(join(CHECKOUT, file), 'utf8');

describe('what the documents print works', () => {
  for (const file of RUN)
    test(file, { timeout: 300_000 }, async () => {
      await using checkout = await DocCheckout.create();
      const blocks = docBlocks(read(file));
      for (const block of blocks) {
        const place = `${file}:${block.line}`;
        if (block.kind === 'file') await checkout.write(block.path, block.text);
        else if (block.kind === 'shows')
          assert.ok(flat(await checkout.read(block.path)).includes(flat(block.text)), place);
        else if (block.kind === 'start') await checkout.start(block.command);
        else await comesTrue(() => run(checkout, block.command, block.expected, place));
      }
      await checkout.stop();
      await checkout.typeCheck(blocks.flatMap((block) => (block.kind === 'file' ? [block.path] : [])));
    });
});

/** Without indentation, which the formatter takes away from quoted lines. */
const flat = (text: string) => text.replace(/^[ \t]+/gm, '');

async function run(
  checkout: DocCheckout,
  command: string,
  expected: Expected | undefined,
  place: string,
): Promise<void> {
  const printed = await checkout.run(command).catch((error: Error) => {
    // It has just been saved, and starts again.
    if (error.message.includes('APP_NOT_RUNNING')) assert.fail(error.message);
    throw error;
  });
  if (expected) assert.ok(agrees(expected, printed), `${place} prints\n${printed}\nnot\n${expected.text}`);
}

/** An app needs a moment to start and a setting to arrive; a reader would not be faster. */
async function comesTrue(attempt: () => Promise<void>): Promise<void> {
  const done = async () => {
    await attempt();
    return true;
  };
  await eventually(done, 'what the page says', { ms: PATIENCE_MS, every: 500 });
}

test('the generated pages are up to date (npm run docs)', async () => {
  assert.deepEqual(differing(pages(await readInput())), []);
});
