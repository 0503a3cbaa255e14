/** Apps whose data belong to users of their own: the Core is nobody here, and a supervisor gives it what it may have. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { remainsFolder, remainsOf } from '@device-core/plugin-api/inside/pending-state';
import { type AppSupervisor, appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { type StoreBench, startStore } from './start.ts';

const ID = 'com.example.guest';
const [CORE, APP] = [65_534, 40_000];
const WITHOUT_ROOT = process.getuid?.() === 0 ? false : 'files are given away by root alone';
const packages = new AppPackages();
const top = mkdtempSync(join(tmpdir(), 'fd-'));
after(() => rmSync(top, { recursive: true }));
after(() => packages[Symbol.dispose]());
after(leakCheck());

const form = (version: number) => ({ data: { version } });

function asRoot<T>(act: () => T): T {
  process.seteuid!(0);
  try {
    return act();
  } finally {
    process.seteuid!(CORE);
  }
}

interface World extends AsyncDisposable {
  readonly bench: StoreBench;
  readonly root: string;
  readonly data: string;
  /** What the supervisor was asked. */
  readonly asked: string[];
  /** It refuses from now on. */
  refuses: boolean;
  /** Somebody else than the Core looks. */
  read(path: string): string;
}

/** A store of a Core that is not root; `later`: nobody supervises yet. */
async function opened(root = mkdtempSync(join(top, 'root-')), later = false): Promise<World> {
  const data = join(root, 'var/apps', ID, 'data');
  mkdirSync(join(root, 'var'), { recursive: true });
  for (const path of [top, root, join(root, 'var'), packages.root]) chownSync(path, CORE, CORE);
  process.setegid!(CORE);
  process.seteuid!(CORE);
  const bench = await startStore({ root });
  const asked: string[] = [];
  const ask = (what: string) => {
    asked.push(what);
    if (world.refuses) throw new CoreError('WARDEN_REFUSED', { what, reason: 'it is a test' });
  };
  const supervisor: Partial<AppSupervisor> = {
    async release(app) {
      ask(`release ${app}`);
      asRoot(() => existsSync(data) && spawnSync('chown', ['-R', `${CORE}:${CORE}`, data]));
    },
    async sweep() {
      ask('sweep');
      asRoot(() => rmSync(remainsFolder(join(root, 'var')), { recursive: true, force: true }));
    },
    forget: async () => undefined,
  };
  const world: World = {
    bench,
    root,
    data,
    asked,
    refuses: false,
    read: (path) => asRoot(() => readFileSync(path, 'utf8')),
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      process.seteuid!(0);
      process.setegid!(0);
    },
  };
  // An app takes its data over when it starts, and writes which version it is.
  bench.apps.onStart = ({ version }) =>
    asRoot(() => {
      mkdirSync(data, { recursive: true, mode: 0o700 });
      for (const path of ['..', '../..']) chownSync(join(data, path), CORE, CORE);
      writeFileSync(join(data, 'version'), version, { mode: 0o600 });
      for (const path of [data, join(data, 'version')]) chownSync(path, APP, APP);
    });
  if (!later) await bench.host.appear(appSupervisor, supervisor as AppSupervisor);
  return world;
}

describe('data of a user of their own', { skip: WITHOUT_ROOT }, () => {
  test('are gone when their app was removed with them', async () => {
    await using world = await opened();
    const { bench, asked, data } = world;
    await bench.install(await packages.pack());
    assert.throws(() => readdirSync(data), { code: 'EACCES' });
    const { purged, remains } = await bench.call('apps.remove', { id: ID, purge: true });
    assert.deepEqual([purged, remains], [true, undefined]);
    assert.deepEqual(asked, ['sweep']);
    assert.deepEqual(readdirSync(join(bench.state, 'apps')), []);
    assert.equal(existsSync(remainsFolder(bench.state)), false);
  });

  test('leave their place also where the warden refuses: they are told, and the app begins anew', async () => {
    await using world = await opened();
    const { bench, data } = world;
    await bench.install(await packages.pack());
    world.refuses = true;
    const { purged, remains } = await bench.call('apps.remove', { id: ID, purge: true });
    assert.equal(purged, false);
    assert.equal(world.read(join(String(remains), 'data/version')), '1.0.0');
    const [told] = remainsOf(bench.state);
    assert.deepEqual([join(bench.state, told?.path ?? ''), told?.reason], [remains, 'EACCES']);
    assert.deepEqual((await bench.call('apps.installed')).retained, []);
    assert.equal(existsSync(data), false);
    await bench.install(await packages.pack());
    assert.ok(existsSync(data));
  });

  test("are the Core's while they are kept, and ownerless where the warden refuses: the app is removed all the same", async () => {
    for (const refuses of [false, true]) {
      await using world = await opened();
      const { bench, asked, data } = world;
      await bench.install(await packages.pack());
      world.refuses = refuses;
      await bench.call('apps.remove', { id: ID });
      assert.deepEqual(asked, [`release ${ID}`]);
      const [kept] = (await bench.call('apps.installed')).retained as { id: string; bytes: number }[];
      assert.deepEqual([kept?.id, (kept?.bytes ?? 0) > 0], [ID, !refuses]);
      assert.equal(world.read(join(data, 'version')), '1.0.0');
      world.refuses = false;
      await bench.call('apps.remove', { id: ID, purge: true });
      assert.equal(existsSync(data), false);
    }
  });

  test('are copied before a version with another form of them, and put back with the one before', async () => {
    await using world = await opened();
    const { bench, data } = world;
    await bench.install(await packages.pack({ manifest: form(1) }));
    await bench.install(await packages.pack({ version: '2.0.0', manifest: form(2) }));
    assert.equal(statSync(data).uid, APP);
    assert.equal(world.read(join(data, '../before/1.0.0/version')), '1.0.0');
    bench.apps.onStart = () => undefined;
    await bench.call('apps.rollback', { id: ID });
    assert.equal(world.read(join(data, 'version')), '1.0.0');
    world.refuses = true;
    const refused = bench.install(await packages.pack({ version: '3.0.0', manifest: form(3) }));
    await assert.rejects(refused, { code: 'WARDEN_REFUSED' });
    assert.deepEqual(
      (await bench.store.list()).apps.map(({ version }) => version),
      ['1.0.0'],
    );
    assert.equal(bench.apps.running.get(ID)?.state, 'running');
  });

  test('make room for their copy at a start before anybody supervises apps', async () => {
    const root = mkdtempSync(join(top, 'root-'));
    {
      await using first = await opened(root);
      const { bench } = first;
      await bench.install(await packages.pack({ manifest: form(1) }));
      await bench.install(await packages.pack({ version: '2.0.0', manifest: form(2) }));
      // What a rollback that is cut off behind its commit leaves.
      const file = join(bench.place, 'installed.yaml');
      const list = readFileSync(file, 'utf8').replace('    version: 2.0.0', '    restore: 1.0.0\n    version: 2.0.0');
      assert.match(list, /restore/);
      writeFileSync(file, list);
    }
    {
      await using second = await opened(root, true);
      const { bench, data } = second;
      assert.equal(second.read(join(data, 'version')), '1.0.0');
      const [former, ...more] = readdirSync(join(data, '..')).filter((name) => name.startsWith('.former-'));
      assert.deepEqual(more, []);
      assert.equal(second.read(join(data, '..', former ?? '', 'version')), '2.0.0');
      assert.equal(JSON.stringify(await bench.store.list()).includes('restore'), false);
    }
  });
});
