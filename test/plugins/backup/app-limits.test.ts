/** An app that keeps too much is left out of the backup and named; the backup of everything else goes on. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { finishPending } from '@device-core/plugin-api/inside/pending-state';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Device, device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { makeBackup, plugin } from '../../../plugins/life/backup/index.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/backup.yaml');
const MIB = 1 << 20;
const TEA = 'com.example.tea';
const ZOO = 'com.example.zoo';

interface Answer {
  readonly backup: string;
  readonly files: number;
  readonly left: readonly { readonly path: string; readonly reason: string }[];
}

/** A thousandth of what a device has, so that the disk of the test is not written full. */
const SMALL = { bytes: 2 * MIB, files: 500, app: { bytes: MIB, entries: 100 } };

async function start(borrow?: Apps['borrow'], limits: typeof SMALL | undefined = SMALL) {
  const root = mkdtempSync(join(tmpdir(), 'bl-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  for (const path of Object.values(paths)) mkdirSync(path, { recursive: true });
  const info = {
    service: 'device',
    sku: { id: 'test', title: 'Test', simulated: true },
    core: { version: '1.0.0', api: '1.0.0' },
    auth: 'token' as const,
    paths,
    startedAt: 0,
    grants: {},
  };
  const table = new TestOperations();
  const host = await createTestHost(limits ? makeBackup(limits) : plugin, {
    manifest,
    // Limits of a test cannot be handed over a border.
    ...(limits && { isolation: 'inline' }),
    services: [
      [operations, table],
      [device, { info: async () => info } satisfies Device],
      ...(borrow ? [given(apps, { borrow })] : []),
    ],
  });
  const data = (app: string, ...more: string[]) => join(paths.var, 'apps', app, 'data', ...more);
  return {
    state: paths.var,
    table,
    host,
    data,
    lay(app: string, path: string, text = ''): void {
      mkdirSync(dirname(data(app, path)), { recursive: true });
      writeFileSync(data(app, path), text);
    },
    /** A file of this size without bytes on the disk. */
    large(app: string, path: string, bytes: number): void {
      this.lay(app, path);
      truncateSync(data(app, path), bytes);
    },
    make: (params: object = {}) => table.run<Answer>('system.backup', params),
    /** Files of the backup, as another device finds them. */
    async restored({ backup }: Answer): Promise<readonly string[]> {
      await using other = await start();
      const file = join(root, 'body');
      writeFileSync(file, '');
      for (let end = false, offset = 0; !end; ) {
        const part = await table.run<{ bytes: string; end: boolean }>('system.backupPart', { id: backup, offset });
        const bytes = Buffer.from(part.bytes, 'base64');
        writeFileSync(file, bytes, { flag: 'a' });
        offset += bytes.length;
        end = part.end;
      }
      const { upload } = await other.table.run<{ upload: string }>('system.restoreUpload', { file });
      await other.table.run('system.restore', { upload });
      finishPending(other.state);
      const found = readdirSync(other.state, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
      return found.map((one) => join(one.parentPath, one.name).slice(other.state.length + 1)).sort();
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

describe('an app that keeps too much', () => {
  type World = Awaited<ReturnType<typeof start>>;
  const OVER: readonly (readonly [title: string, make: (world: World) => void])[] = [
    [
      '101 empty files',
      (world) => {
        for (let nth = 0; nth <= 100; nth += 1) world.lay(TEA, `f${nth}`);
      },
    ],
    [
      '101 folders',
      (world) => {
        for (let nth = 0; nth <= 100; nth += 1) mkdirSync(world.data(TEA, `d${nth}`), { recursive: true });
      },
    ],
    ['one file of 2 MiB', (world) => world.large(TEA, 'large', 2 * MIB)],
    ['one file of a terabyte', (world) => world.large(TEA, 'large', 2 ** 40)],
    [
      'two files of 600 KiB',
      (world) => {
        for (const name of ['a', 'b']) world.large(TEA, name, 600 << 10);
      },
    ],
  ];
  for (const [title, make] of OVER)
    it(`${title}: it is left out and named, and the backup holds the rest`, async () => {
      let rests = 0;
      await using world = await start(async (_, work) => {
        rests += 1;
        await work().finally(() => {
          rests -= 1;
        });
      });
      make(world);
      world.lay(ZOO, 'beasts', 'lion');
      world.lay('com.example.ant', 'deep/ant', 'ant');
      writeFileSync(join(world.state, 'zebra.json'), '{}');
      const answer = await world.make();
      assert.deepEqual(
        answer.left.map(({ path }) => path),
        [`apps/${TEA}/data`],
      );
      assert.match(answer.left[0]!.reason, /^its data are more than 1 MiB or 100 files and folders, the most of/);
      assert.equal(rests, 0, 'the app is not kept');
      assert.deepEqual(await world.restored(answer), [
        'apps/com.example.ant/data/deep/ant',
        `apps/${ZOO}/data/beasts`,
        'zebra.json',
      ]);
    });

  it('several that fill a backup together: the small ones are in it, wherever their names stand', async () => {
    await using world = await start();
    const hungry = ['a', 'b', 'c'].map((name) => `com.example.${name}`);
    for (const app of hungry) world.large(app, 'large', 900 << 10);
    world.lay(ZOO, 'beasts', 'lion');
    const { left, ...answer } = await world.make();
    assert.deepEqual(
      left.map(({ path }) => path),
      ['apps/com.example.b/data'],
    );
    assert.match(left[0]!.reason, /more than 0 MiB or \d+ files and folders, which is all the room that is left/);
    assert.equal(answer.files, 3);
  });

  it('one of two large apps that both fit is looked at once more and is in it', async () => {
    const looks: string[] = [];
    await using world = await start(async (app, work) => {
      looks.push(app);
      await work();
    });
    for (let nth = 0; nth < 9; nth += 1) world.lay(`com.example.n${nth}`, 'x', 'x');
    world.large('com.example.a', 'large', 600 << 10);
    assert.deepEqual((await world.make()).left, []);
    assert.deepEqual([looks.length, looks.at(-1)], [11, 'com.example.a']);
  });

  it('many paths that are no files: some are named, the rest is a number, and an app that is left out comes first', async () => {
    await using world = await start(async (app, work) => {
      if (app === ZOO) throw new Error('it is busy');
      await work();
    });
    const { symlinkSync } = await import('node:fs');
    world.lay(ZOO, 'beasts', 'lion');
    for (let app = 0; app < 12; app += 1)
      for (let nth = 0; nth < 50; nth += 1) {
        world.lay(`com.example.n${app}`, 'own', 'x');
        symlinkSync('/etc', world.data(`com.example.n${app}`, `link${nth}`));
      }
    const { left } = await world.make();
    assert.equal(left.length, 100);
    assert.deepEqual(left[0], { path: `apps/${ZOO}/data`, reason: 'it is busy' });
    assert.deepEqual(left[1], { path: 'apps/com.example.n0', reason: '40 more of its paths' });
    assert.match(left.at(-1)!.reason, /^\d+ more paths$/);
  });
});

describe('the limits of a device', () => {
  it('leave out an app with 256 MiB in one file', async () => {
    await using world = await start(undefined, undefined);
    world.large(TEA, 'large', 256 * MIB);
    world.lay(ZOO, 'beasts', 'lion');
    const { left, files } = await world.make();
    assert.deepEqual(
      left.map(({ path }) => path),
      [`apps/${TEA}/data`],
    );
    assert.equal(files, 1);
  });
});

describe('a file that changes while it is copied', () => {
  it('and grows has the length that it had, and one that is cut is left out and named', async () => {
    await using world = await start(async (_, work) => {
      const timer = setInterval(() => {
        writeFileSync(world.data(TEA, 'grows'), 'x'.repeat(1_000), { flag: 'a' });
        truncateSync(world.data(TEA, 'shrinks'), 1);
      }, 0);
      await work().finally(() => clearInterval(timer));
    });
    for (let nth = 0; nth < 20; nth += 1) world.large(TEA, `before${nth}`, 20 << 10);
    world.lay(TEA, 'grows', 'begin');
    world.large(TEA, 'shrinks', 500 << 10);
    world.lay(TEA, 'then', 'then');
    const answer = await world.make();
    // A fast disk may copy it before it is cut.
    const cut = answer.left.map(({ path, reason }) => `${path}: ${reason}`);
    if (cut.length > 0) assert.deepEqual(cut, [`apps/${TEA}/data/shrinks: it was cut meanwhile`]);
    const files = await world.restored(answer);
    for (const name of ['grows', 'then']) assert.ok(files.includes(`apps/${TEA}/data/${name}`), name);
    assert.equal(files.includes(`apps/${TEA}/data/shrinks`), cut.length === 0);
  });
});
