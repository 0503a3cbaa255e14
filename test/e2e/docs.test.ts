import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
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
  'docs/guides/prove-a-product.md',
  'docs/guides/service.md',
  'docs/guides/ship.md',
  'docs/guides/buses.md',
  'docs/guides/voice.md',
  'docs/guides/look.md',
  'docs/guides/screen.md',
  'docs/guides/simulator.md',
  'docs/guides/web.md',
  'docs/guides/logs.md',
  'docs/guides/secrets.md',
  'docs/guides/update-repository.md',
  'docs/guides/strangers-plugin.md',
];

const PATIENCE_MS = 10_000;

const read = (file: string) => readFileSync(join(CHECKOUT, file), 'utf8');

describe('commands of the documents work', () => {
  for (const file of RUN)
    test(file, { timeout: 900_000 }, async () => {
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
    // An app that has just been saved starts again, and its new claims are read in a moment.
    if (/APP_NOT_RUNNING|APP_CONFLICT/.test(error.message)) assert.fail(error.message);
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

const YAML_BLOCK = /```yaml[^\n]*\n([\s\S]*?)```/g;

/** Lines of plugins that stand in a block: `id: { version, config }`, also below `plugins`. */
function pluginLines(block: string): readonly (readonly [id: string, config: object])[] {
  const said = parse(block) as { readonly plugins?: object } | null;
  return Object.entries(said?.plugins ?? said ?? {}).flatMap(([id, line]) =>
    typeof line?.version === 'string' && typeof line.config === 'object' ? [[id, line.config] as const] : [],
  );
}

test('the lines of plugins that guides print fit the schemas of the plugins', () => {
  const manifests = new Map(
    globSync('manifests/plugins/*/*.yaml', { cwd: CHECKOUT })
      .map((file) => parse(read(file)) as { readonly id: string; readonly config?: JsonSchema })
      .map(({ id, config }) => [id, config]),
  );
  const ajv = new Ajv({ strict: false, useDefaults: true }); // manifests have keywords of the Core's own
  let checked = 0;
  for (const file of globSync('docs/guides/*.md', { cwd: CHECKOUT }))
    for (const [, block] of read(file).matchAll(YAML_BLOCK))
      for (const [id, config] of pluginLines(block!)) {
        const schema = manifests.get(id);
        // Of an example, or with something left out.
        if (!schema || /\.\.\.|<.+>/.test(JSON.stringify(config))) continue;
        const fits = ajv.validate(schema, structuredClone(config));
        assert.ok(fits, `${file}, ${id}: ${ajv.errorsText()}`);
        checked += 1;
      }
  assert.ok(checked > 10, `${checked} lines`);
});

test('the generated pages are up to date (npm run docs)', async () => {
  assert.deepEqual(differing(pages(await readInput())), []);
});
