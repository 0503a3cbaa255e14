/** Images of this checkout, as `devicectl image build` makes them. Slow: a whole Core is put together, and started. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, suite, test } from 'node:test';
import { differenceOf, parseImage } from '../../../plugin-api/inside/image.ts';
import { treeAliases } from '../../../plugin-api/inside/tree.ts';
import { Checkout } from '../../../plugins/life/maker/image/build/checkout.ts';
import { buildImage } from '../../../plugins/life/maker/image/build/index.ts';
import { tryStart } from '../../../plugins/life/maker/image/build/trial.ts';
import { unpack } from '../../../plugins/life/maker/image/write.ts';
import { eventually } from '../../fixtures/eventually.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const DEVICECTL = join(ROOT, 'plugins/interface/cli/program/devicectl.ts');
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-build-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const checkout = new Checkout(ROOT);
const build = (sku: string) =>
  buildImage(checkout, { sku: join(ROOT, `manifests/skus/${sku}.yaml`), version: '1.2.3', severity: 'normal' });

suite('image build', () => {
  const built = build('headless-io');
  const { image, contents } = built;
  const text = (path: string) => Buffer.from(contents.get(path)!.bytes()).toString('utf8');

  test('the same checkout twice is the same image, to the hash', () => {
    assert.equal(build('headless-io').hash, built.hash);
  });

  test('holds the plugins of the SKU and of safe mode, what their wings share, and no other', () => {
    const folders = new Set(image.files.flatMap(({ path }) => /^plugins\/[^/]+\/([^/]+)\//.exec(path)?.[1] ?? []));
    assert.ok(contents.has('plugins/apps/shared/package-store/list-file.js'), 'plugin-store imports it');
    folders.delete('shared');
    const manifests = image.files.flatMap(({ path }) => /^manifests\/plugins\/.*\/(.*)\.yaml$/.exec(path)?.[1] ?? []);
    const safe = ['plugin-store', 'changes', 'logs', 'cli', 'display', 'render-soft', 'system-view', 'boot', 'systemd'];
    const aliases = treeAliases(ROOT);
    const listed = Object.keys(image.plugins).map((id) => aliases.get(id)?.plugin ?? id);
    assert.deepEqual([...folders].sort(), [...new Set([...listed, ...safe])].sort());
    assert.deepEqual(manifests.sort(), [...folders].sort());
  });

  test('holds the names that no installed plugin may take, and the other names of its plugins', () => {
    for (const name of ['reserved', 'aliases'])
      assert.equal(text(`manifests/${name}.json`), readFileSync(join(ROOT, `manifests/${name}.json`), 'utf8'));
  });

  test('has no types, no links, no tools of developers, no loader, no cache, and no place of this machine', () => {
    const wrong = image.files.filter(({ path }) =>
      /(?<!^plugins\/interface\/cli\/(app-)?templates\/.*)\.ts$|\.map$|\.md$|^kernel\/(init|testing)|\/typescript\/|\/fast-check\/|@biomejs|\.cache/.test(
        path,
      ),
    );
    assert.deepEqual(wrong, []);
    for (const { path } of image.files)
      if (/\.(js|json|txt|yaml)$/.test(path)) assert.ok(!text(path).includes(ROOT), path);
  });

  test('facts that the Core finds out of its manifests are found out already: it loads no parser to resolve its SKU', () => {
    const slot = join(FOLDER, 'remembers');
    unpack(contents, slot);
    const script = `
      import { createRequire } from 'node:module';
      const { useKnownGood } = await import('${slot}/kernel/boot/manifests.js');
      const { resolveSku } = await import('${slot}/kernel/boot/check.js');
      useKnownGood('${slot}/manifests', false);
      const sku = '${slot}/manifests/skus/headless-io.yaml';
      const found = [resolveSku(sku), resolveSku('${slot}/manifests/skus/safe-mode.yaml', [], undefined, undefined, sku)];
      const loaded = Object.keys(createRequire('${slot}/kernel/main.js').cache);
      console.log(found.map(({ plugins, problems }) => plugins.length - problems.length), loaded.length);`;
    const run = () => spawnSync(join(slot, 'bin/node'), ['--input-type=module', '-e', script], { encoding: 'utf8' });
    const both = `[ ${Object.keys(image.plugins).length}, `;
    assert.match(run().stdout, /^\[ \d+, \d+ \] 0\n$/);
    assert.ok(run().stdout.startsWith(both), 'the plugins of the SKU, without a problem');
    rmSync(join(slot, 'manifests/known-good'));
    assert.doesNotMatch(run().stdout, / 0\n$/, 'else it parses them');
  });

  test('the page is served from an image: its modules without types, its libraries from their packages', async () => {
    const sku = join(FOLDER, 'paged.yaml');
    const text = readFileSync(join(ROOT, 'manifests/skus/headless-io.yaml'), 'utf8');
    writeFileSync(sku, text.replace('id: headless-io', 'id: paged').replace(/^plugins:$/m, 'plugins:\n  web: ^1.0.0'));
    const slot = join(FOLDER, 'paged');
    unpack(buildImage(checkout, { sku, severity: 'normal' }).contents, slot);
    const { PageFiles } = await import(join(slot, 'plugins/interface/web/files.js'));
    const page = new PageFiles('/ui/');
    const asked = (path: string) => page.answer({ path });
    const shared = 'lib/inside/schema-reader.js';
    for (const path of ['', 'core/route.ts', 'shell/search.ts', shared, 'lib/htm/preact.js', 'theme.css'])
      assert.equal((await asked(path)).status, 200, path);
    const { body, type } = await asked('core/route.ts');
    assert.match(type, /javascript/);
    assert.doesNotMatch(Buffer.from(body).toString('utf8'), /^(import type|interface|export interface) /m);
  });

  test('holds the packages that its modules import and what these need', () => {
    for (const name of ['fastify', 'ws', 'yaml', 'ajv', 'pino', 'semver', 'tapable', 'fast-json-stringify'])
      assert.ok(contents.has(`node_modules/${name}/package.json`), name);
    for (const name of ['soundswallower', 'playwright-core', '@napi-rs/canvas', '@fontsource/inter', 'tuf-js'])
      assert.ok(!contents.has(`node_modules/${name}/package.json`), name);
  });

  test('says what it holds and under which licences', () => {
    const bom = JSON.parse(text('sbom.json')) as { components: { name: string; licenses?: unknown[] }[] };
    const names = bom.components.map(({ name }) => name);
    for (const name of ['node', 'device-core', '@device-core/plugin-http', 'fastify']) assert.ok(names.includes(name));
    for (const name of ['typescript', '@biomejs/cli-linux-x64', 'soundswallower']) assert.ok(!names.includes(name));
    assert.deepEqual(
      bom.components.filter(({ licenses = [] }) => licenses.length === 0),
      [],
    );
    assert.match(text('licences.txt'), /^fastify \d.*: MIT$/m);
  });

  test('starts from a folder without write access, to READY and in safe mode, and leaves no cache of code', async () => {
    const slot = join(FOLDER, 'slot');
    unpack(contents, slot);
    assert.equal(differenceOf(slot, image), undefined);
    const { signal } = new AbortController();
    for (const mode of ['normal', 'safe mode'] as const) {
      const root = join(FOLDER, mode);
      const { state, missing } = await tryStart({ slot, sku: 'manifests/skus/headless-io.yaml', root }, mode, signal);
      assert.equal(state, 'ok');
      assert.deepEqual(missing, {});
      assert.ok(!existsSync(join(root, 'var/cache/compile')));
    }
    assert.equal(differenceOf(slot, image), undefined);
  });

  test('an image that does not start is refused with the reason', async () => {
    const slot = join(FOLDER, 'broken');
    unpack(contents, slot);
    rmSync(join(slot, 'node_modules/tapable/lib/AsyncSeriesHook.js'));
    await assert.rejects(
      tryStart(
        { slot, sku: 'manifests/skus/headless-io.yaml', root: join(FOLDER, 'b') },
        'normal',
        new AbortController().signal,
      ),
      {
        code: 'SYSTEM_IMAGE_INVALID',
        message: /does not start \(normal\).*Cannot find module/s,
      },
    );
  });

  test('a trial that its user ends says that, and nothing of the image', async () => {
    const slot = join(FOLDER, 'hangs');
    mkdirSync(join(slot, 'bin'), { recursive: true });
    writeFileSync(join(slot, 'bin/node'), '#!/bin/sh\necho $$ >../hangs.pid\nexec sleep 60\n', { mode: 0o755 });
    const stop = new AbortController();
    const trial = tryStart({ slot, sku: 'sku.yaml', root: join(FOLDER, 'h') }, 'normal', stop.signal);
    const ended = assert.rejects(trial, /enough/);
    const pid = join(FOLDER, 'hangs.pid');
    await eventually(() => existsSync(pid) && readFileSync(pid, 'utf8').endsWith('\n'), 'its start');
    stop.abort(new Error('enough'));
    await ended;
    assert.ok(!existsSync(`/proc/${readFileSync(pid, 'utf8').trim()}`));
  });

  test('a SKU that is wrong is refused with its line', () => {
    const sku = join(FOLDER, 'bad.yaml');
    writeFileSync(sku, 'skuVersion: 1\nid: bad\ntitle: Bad\nplugins: { htp: ^1.0.0 }\n');
    assert.throws(() => buildImage(checkout, { sku, severity: 'normal' }), {
      code: 'SKU_INVALID',
      message: /there is no plugin htp; did you mean http/,
    });
  });

  test('devicectl writes the folder, and nothing beside files of others', () => {
    const out = join(FOLDER, 'image');
    const run = (...words: readonly string[]) =>
      spawnSync(process.execPath, [DEVICECTL, 'image', 'build', ...words], { encoding: 'utf8', cwd: FOLDER });
    const sku = join(ROOT, 'manifests/skus/headless-io.yaml');
    const { status, stderr, stdout } = run('--sku', sku, '-o', out, '--version', '1.2.3', '--level', '1', '--json');
    assert.equal(status, 0, stderr);
    assert.equal(JSON.parse(stdout).image, built.hash);
    assert.deepEqual(parseImage(readFileSync(join(out, 'image.json'))), image);
    const away = join(FOLDER, 'never');
    const unversioned = run('--sku', sku, '-o', away, '--version', 'banana');
    assert.deepEqual(
      [unversioned.status, unversioned.stderr.split('\n')[0]],
      [2, 'devicectl: USAGE: --version must be like 1.2.3, not "banana"'],
    );
    const wordy = run('--sku', sku, '-o', away, '--notes', 'x'.repeat(20_000));
    assert.equal(wordy.status, 1);
    assert.match(
      wordy.stderr,
      /^devicectl: SYSTEM_IMAGE_INVALID: .*headless-io\.yaml: member notes is missing or wrong\n$/,
    );
    assert.ok(!existsSync(away));
    const other = run('--sku', sku, '-o', ROOT);
    assert.equal(other.status, 2);
    assert.match(other.stderr, /is there, and is no image/);
  });
});
