/** Apps of the store beside those of folders: which one runs, what it has to hold, and what stays when the store goes away. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { APP_PACKAGE, filesOf, readTree } from '@device-core/plugin-api/inside/packages';
import { type AppStore, appStore, type StoredApp } from '@device-core/plugin-api/inside/services/app-store';
import { leakCheck } from '@device-core/plugin-api/testing';
import { userOf } from '../../../plugins/apps/apps/guest-spec.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { WITHOUT_BWRAP } from '../../fixtures/walls.ts';
import { type Bench, CONNECT, KEEPS, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.agenda';
const root = mkdtempSync(join(tmpdir(), 'st-'));
after(() => rmSync(root, { recursive: true }));
after(leakCheck());

class FakeStore implements AppStore {
  apps: readonly StoredApp[] = [];
  off: readonly string[] = [];
  readonly #listeners = new Set<() => void>();

  async list() {
    return { apps: this.apps, off: this.off };
  }

  async signerOf() {
    return undefined;
  }

  async uploaded(): Promise<string> {
    throw new Error('nothing was handed over');
  }

  async uidOf(): Promise<number> {
    return 40_000;
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A package as it lies in the store. */
async function stored(version: string, more: Partial<StoredApp> = {}): Promise<StoredApp> {
  const folder = await putApp(mkdtempSync(join(root, 'v')), manifestOf(ID, { version }), CONNECT);
  const { hash, list } = await readTree(APP_PACKAGE, folder, await filesOf(folder, 100), 1 << 20);
  writeFileSync(`${folder}.sha256`, list);
  return { id: ID, version, folder, hash, ...more };
}

async function withStore(apps: readonly StoredApp[], folders: readonly string[] = []): Promise<[Bench, FakeStore]> {
  const store = new FakeStore();
  store.apps = apps;
  const bench = await startBench({ config: { folders, watch: false } });
  await bench.host.appear(appStore, store);
  await bench.host.hook('kernel.ready').promise();
  return [bench, store];
}

async function versionThatRuns(bench: Bench): Promise<string> {
  return (await bench.reach(ID, 'running')).version;
}

test('an installed app runs from the folder of the store, and a newer version takes its place', async () => {
  const [bench, store] = await withStore([await stored('1.0.0')]);
  await using _ = bench;
  assert.equal(await versionThatRuns(bench), '1.0.0');
  store.apps = [await stored('1.1.0')];
  store.changed();
  await eventually(async () => (await versionThatRuns(bench)) === '1.1.0', 'version 1.1.0');
});

test('a folder that was named stands before the store, unless the store has a newer version', async () => {
  for (const [folder, version, runs] of [
    ['1.0.0', '1.0.0', 'folder'],
    ['2.0.0', '1.9.0', 'folder'],
    ['1.0.0', '1.0.1', 'store'],
  ] as const) {
    const named = await putApp(
      mkdtempSync(join(root, 'n')),
      manifestOf(ID, { version: folder, title: 'of the image' }),
    );
    const [bench, store] = await withStore([await stored(version)], [named]);
    await using _ = bench;
    await bench.reach(ID, 'running');
    await eventually(
      async () => (await bench.status(ID)).title === (runs === 'folder' ? 'of the image' : 'agenda'),
      `${version} over ${folder}`,
    );
    assert.equal((await bench.status(ID)).title === 'of the image', runs === 'folder');
    store.apps = [];
    store.changed();
    await eventually(async () => (await bench.reach(ID, 'running')).title === 'of the image', 'the floor');
  }
});

test('files that were changed keep an app from its start, and the first one is named', async () => {
  const app = await stored('1.0.0');
  chmodSync(join(app.folder, 'main.cjs'), 0o644);
  writeFileSync(join(app.folder, 'main.cjs'), '// something else');
  const [bench] = await withStore([app]);
  await using _ = bench;
  const { reason } = await bench.reach(ID, 'failed');
  assert.match(reason ?? '', /^APP_CHANGED: .*main\.cjs has another content/);
});

test('an app that is switched off does not start, by any way', async () => {
  const [bench, store] = await withStore([]);
  await using _ = bench;
  store.apps = [await stored('1.0.0')];
  store.off = [ID];
  await bench.apps.refresh();
  assert.equal((await bench.status(ID)).state, 'stopped');
  await assert.rejects(bench.apps.start(ID), { code: 'APP_CONFLICT', message: /devicectl app enable/ });
  await assert.rejects(bench.apps.restart(ID), { code: 'APP_CONFLICT' });
  store.off = [];
  await bench.apps.refresh();
  assert.equal((await bench.apps.start(ID)).state, 'running');
});

test('a run with data of an older form is told so', async () => {
  const folder = await putApp(
    mkdtempSync(join(root, 'v')),
    manifestOf(ID, { capabilities: [KEEPS] }),
    `require('node:fs').writeFileSync(process.env.DEVICE_DATA_DIR + '/seen', String(process.env.DEVICE_DATA_FROM)); ${CONNECT}`,
  );
  const { hash } = await readTree(APP_PACKAGE, folder, await filesOf(folder, 100), 1 << 20);
  const [bench] = await withStore([{ id: ID, version: '1.0.0', folder, hash, dataFrom: 2 }]);
  await using _ = bench;
  await bench.reach(ID, 'running');
  assert.equal(readFileSync(join(bench.paths.var, 'apps', ID, 'data/seen'), 'utf8'), '2');
});

test('an app runs as the user that the store keeps for it, and its files are its own', {
  skip: process.getuid?.() === 0 ? WITHOUT_BWRAP : 'only root gives users',
}, async () => {
  const folder = await putApp(
    mkdtempSync(join(root, 'v')),
    manifestOf(ID, { capabilities: [KEEPS] }),
    `require('node:fs').writeFileSync(process.env.DEVICE_DATA_DIR + '/user', String(process.getuid())); ${CONNECT}`,
  );
  const { hash, list } = await readTree(APP_PACKAGE, folder, await filesOf(folder, 100), 1 << 20);
  writeFileSync(`${folder}.sha256`, list);
  const [bench] = await withStore([{ id: ID, version: '1.0.0', folder, hash }]);
  await using _ = bench;
  await bench.reach(ID, 'running');
  const file = join(bench.paths.var, 'apps', ID, 'data/user');
  assert.equal(readFileSync(file, 'utf8'), '40000');
  assert.deepEqual(
    [file, join(file, '..')].map((path) => statSync(path).uid),
    [40_000, 40_000],
  );
});

test('the user of an app comes from the number of the store, and from the range of a Core that is not root', async () => {
  const enforced = { user: 'kernel', files: 'kernel', devices: 'kernel', network: 'kernel' } as const;
  const more = { syscalls: 'kernel', memory: 'watched', tasks: 'watched', mac: 'none' } as const;
  const app = { manifest: manifestOf(ID, {}), folder: '/apps/agenda' };
  const users = { first: 100_000, count: 65_536 };
  for (const [by, has, range, uid] of [
    ['process', true, undefined, 40_000],
    ['process', true, users, 140_000],
    ['process', true, { ...users, count: 40_000 }, undefined],
    ['process', false, users, undefined],
    ['systemd', false, undefined, 40_000],
  ] as const) {
    const report = { by, enforced: { ...enforced, ...more }, reasons: {}, ...(range ? { users: range } : {}) };
    const store = { has: () => has, uidOf: async () => 40_000 };
    const found = await userOf(app, { appSupervisor: { enforcement: async () => report }, stored: store });
    assert.equal(found, uid, JSON.stringify({ by, has, range }));
  }
});
