import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { packApp } from '@device-core/plugin-api/inside/packages';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import { eventually } from '../../fixtures/eventually.ts';
import { type Bench, CONNECT, callAs, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const operator: Caller = { kind: 'operator', id: 'operator' };
const folder = mkdtempSync(join(tmpdir(), 'tr-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const saying = (word: string) => `console.log(${JSON.stringify(word)});${CONNECT}`;
let count = 0;

/** The package of an app that says one word. */
async function packageOf(word: string, more: Partial<AppManifest> = {}): Promise<Buffer> {
  const place = join(folder, String(count++));
  await mkdir(place);
  await writeFile(join(place, 'main.cjs'), saying(word));
  await writeFile(join(place, 'app.yaml'), JSON.stringify(manifestOf(ID, more)));
  return (await packApp(place, { top: 'demo', limits: { files: 100, bytes: 1 << 20 } })).bytes;
}

const ask = (bench: Bench, name: string, params: object, caller: Caller = operator) =>
  bench.operation(name).run(params, callAs(caller)) as Promise<Record<string, unknown>>;
const attempt = (bench: Bench, bytes: Uint8Array, grants?: readonly string[]) =>
  ask(bench, 'apps.try', { package: Buffer.from(bytes).toString('base64'), ...(grants ? { grants } : {}) });
const allowed = { config: { developer: 'operator' } } as const;
const home = (bench: Bench) => join(bench.paths.var, 'apps', ID);
const codes = (bench: Bench) => (existsSync(join(home(bench), 'tried')) ? readdirSync(join(home(bench), 'tried')) : []);

async function says(bench: Bench, word: string): Promise<void> {
  const log = join(bench.paths.var, 'log/apps/demo.log');
  const told = () => existsSync(log) && readFileSync(log, 'utf8').trim().split('\n').at(-1)?.includes(`"${word}"`);
  await eventually(() => told() === true, `the app says ${word}`);
}

test('only the operator tries apps, and only where the SKU says so', async () => {
  const bytes = await packageOf('hello');
  {
    await using bench = await startBench();
    await assert.rejects(attempt(bench, bytes), { code: 'CALLER_DENIED', message: /apps\.developer: off/ });
    await assert.rejects(ask(bench, 'apps.forget', { id: ID }), { code: 'CALLER_DENIED' });
  }
  await using bench = await startBench(allowed);
  for (const caller of [
    { kind: 'app', id: 'com.example.manager' },
    { kind: 'plugin', id: 'store' },
  ] as const)
    await assert.rejects(ask(bench, 'apps.try', { package: bytes.toString('base64') }, caller), {
      code: 'CALLER_DENIED',
      message: /is not the operator/,
    });
  assert.deepEqual(codes(bench), []);
});

test('each save is tried as a whole, over the installed version, until the trial ends', async () => {
  await using bench = await startBench({
    ...allowed,
    prepare: (installed) => putApp(installed, manifestOf(ID), saying('installed')),
  });
  await bench.apps.start(ID);
  await says(bench, 'installed');

  const first = await packageOf('first');
  const tried = await attempt(bench, first);
  assert.deepEqual([tried.id, tried.same, tried.state], [ID, false, 'running']);
  await says(bench, 'first');
  const { pid } = await bench.status(ID);

  const again = await attempt(bench, first);
  assert.deepEqual([again.same, again.hash], [true, tried.hash]);
  assert.equal((await bench.status(ID)).pid, pid, 'what runs already goes on');

  const second = await attempt(bench, await packageOf('second'));
  assert.equal(second.state, 'running');
  await says(bench, 'second');
  assert.deepEqual(codes(bench), [second.hash], 'of the first nothing is left');

  assert.deepEqual(await ask(bench, 'apps.forget', { id: 'demo' }), { id: ID });
  await says(bench, 'installed');
  assert.deepEqual(codes(bench), []);
  await assert.rejects(ask(bench, 'apps.forget', { id: ID }), { code: 'APP_NOT_FOUND' });
});

test('rights that are granted with a trial end with it', async () => {
  const capabilities = [{ id: 'audio.capture', reason: 'it listens' }] as const;
  await using bench = await startBench({
    ...allowed,
    prepare: (installed) => putApp(installed, manifestOf(ID, { capabilities })),
  });
  const bytes = await packageOf('hello', { capabilities });
  const held = async () => (await bench.status(ID)).capabilities;
  await attempt(bench, bytes);
  assert.deepEqual(await held(), []);
  assert.equal((await attempt(bench, bytes, ['audio.capture'])).same, false, 'other grants are another trial');
  assert.deepEqual(await held(), ['audio.capture']);
  await ask(bench, 'apps.forget', { id: ID });
  assert.deepEqual(await held(), []);
});

test('a trial outlasts a restart of the plugin, and not the next start of the Core', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  const options = { ...allowed, root, startedAt: 1_000 } as const;
  {
    await using bench = await startBench(options);
    await attempt(bench, await packageOf('tried'));
  }
  {
    await using bench = await startBench(options);
    await bench.apps.start(ID);
    await says(bench, 'tried');
  }
  const record = join(root, 'var/apps', ID, 'tried.json');
  const whole = readFileSync(record, 'utf8');
  const others: readonly (readonly [text: string, startedAt: number])[] = [
    [whole, 2_000],
    [whole.replace(/"boot":"[^"]*"/, '"boot":"another"'), 1_000],
    [whole.replace(/,"run":\d+/, ''), 1_000],
    ['{"boot":', 1_000],
  ];
  for (const [text, startedAt] of others) {
    writeFileSync(record, text);
    await using bench = await startBench({ ...options, startedAt });
    await assert.rejects(bench.status(ID), { code: 'APP_NOT_FOUND' });
    assert.deepEqual([codes(bench), existsSync(record)], [[], false], text);
  }
});

describe('a file that is no package leaves the trial as it was', () => {
  const cases: Readonly<Record<string, readonly [() => Promise<Uint8Array>, string]>> = {
    'no archive': [async () => Buffer.from('no archive'), 'PACKAGE_INVALID'],
    'one that was cut off': [async () => (await packageOf('cut')).subarray(0, 200), 'PACKAGE_INVALID'],
    'nothing at all': [async () => Buffer.alloc(0), 'PACKAGE_INVALID'],
    'a manifest that does not fit': [() => packageOf('x', { version: 'one' }), 'MANIFEST_INVALID'],
    'a capability that there is not': [
      () => packageOf('x', { capabilities: [{ id: 'no.such' as never, reason: 'x' }] }),
      'CAPABILITY_UNKNOWN',
    ],
  };
  for (const [title, [bytes, code]] of Object.entries(cases))
    test(title, async () => {
      await using bench = await startBench(allowed);
      const good = await attempt(bench, await packageOf('good'));
      const before = await bench.status(ID);
      await assert.rejects(attempt(bench, await bytes()), { code });
      assert.deepEqual(codes(bench), [good.hash]);
      assert.equal((await bench.status(ID)).pid, before.pid);
      assert.deepEqual(
        readdirSync(bench.paths.var).filter((name) => name.startsWith('app-trial-')),
        [],
      );
    });

  test('bytes that are no base64', async () => {
    await using bench = await startBench(allowed);
    await assert.rejects(ask(bench, 'apps.try', { package: '%' }), { code: 'PARAMS_INVALID' });
  });
});
