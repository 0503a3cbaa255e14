/** What a start found right is not read again by the next: told by the packages that a process has loaded, each start being a process of its own. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { resolveSku } from '../../kernel/boot/check.ts';

const folder = mkdtempSync(join(tmpdir(), 'dg-'));
after(() => rmSync(folder, { recursive: true }));
const SKU = join(folder, 'sku.yaml');
const KEPT = join(folder, 'cache/known-good');
const TEXT = readFileSync(new URL('../../manifests/skus/simulator.yaml', import.meta.url), 'utf8');
const START = `
  import { createRequire } from 'node:module';
  import { resolveSku } from '${new URL('../../kernel/boot/check.ts', import.meta.url)}';
  import { useKnownGood } from '${new URL('../../kernel/boot/manifests.ts', import.meta.url)}';
  const known = useKnownGood('${join(folder, 'cache')}');
  const { plugins, problems } = resolveSku('${SKU}');
  await known.keep();
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  const packages = ['ajv', 'yaml'].filter((name) => loaded.some((file) => file.includes('/node_modules/' + name + '/')));
  console.log(JSON.stringify({ plugins, problems, packages }));`;

interface Started {
  readonly plugins: unknown;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
  readonly packages: readonly string[];
}

/** A start of a device with this SKU, in a process of its own. */
function start(text: string): Started {
  writeFileSync(SKU, text);
  const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', START];
  return JSON.parse(execFileSync(process.execPath, node, { encoding: 'utf8', maxBuffer: 1 << 24 }));
}

/** As a process that knows nothing sees it. */
function truth(text: string): unknown {
  writeFileSync(SKU, text);
  return JSON.parse(JSON.stringify(resolveSku(SKU).plugins));
}

test('a second start loads neither the YAML parser nor Ajv, and finds the same set', () => {
  const first = start(TEXT);
  assert.deepEqual(first.packages, ['ajv', 'yaml']);
  const kept = readFileSync(KEPT);
  const second = start(TEXT);
  assert.deepEqual(second, { ...first, packages: [] });
  assert.deepEqual(second.plugins, truth(TEXT));
  assert.ok(readFileSync(KEPT).equals(kept), 'what nothing was added to is not written again');
});

test('an edit is read, and only valid manifests are kept', () => {
  const edited = TEXT.replace('order: { vad: [fvad]', 'order: { vad: [energy]');
  assert.deepEqual(start(edited).plugins, truth(edited));
  assert.deepEqual(start(edited).packages, []);
  const wrong = TEXT.replace('generous: true', 'generous: 7');
  for (const again of [1, 2]) {
    const [problem, ...others] = start(wrong).problems;
    assert.match(problem?.message ?? '', /configuration limits\.generous must be boolean/, `start ${again}`);
    assert.equal(problem?.line, TEXT.split('\n').findIndex((line) => line.includes('generous: true')) + 1);
    assert.deepEqual(others, []);
  }
  const broken = TEXT.replace('id: simulator', 'id: [');
  for (const again of [1, 2]) assert.notDeepEqual(start(broken).problems, [], `start ${again}`);
});

test('one that is damaged, cut off or gone is made anew', () => {
  start(TEXT);
  const whole = readFileSync(KEPT);
  const flipped = Buffer.from(whole);
  flipped[whole.length >> 1]! ^= 1;
  for (const bytes of [flipped, whole.subarray(0, -1), Buffer.alloc(0), Buffer.from('known')]) {
    writeFileSync(KEPT, bytes);
    assert.deepEqual(start(TEXT).packages, ['ajv', 'yaml']);
    assert.deepEqual(start(TEXT).packages, []);
  }
  rmSync(KEPT);
  start(TEXT);
  assert.ok(existsSync(KEPT));
});

test('a SKU with a password in an address is kept nowhere: it is read anew each time', () => {
  const told = TEXT.replace('order: { vad: [fvad]', 'order: { vad: ["x://user:hunter2@host"]');
  for (const again of [1, 2]) assert.deepEqual(start(told).packages, ['ajv', 'yaml'], `start ${again}`);
  assert.ok(!readFileSync(KEPT).includes('hunter2'));
});
