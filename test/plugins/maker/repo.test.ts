import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import { devicectl } from '../cli/run-devicectl.ts';
import { Reader } from './reader.ts';

suite('a repository of updates', () => {
  let first: UpdateRepository;
  before(async () => {
    first = await UpdateRepository.create();
    await first.offer({ version: '1.0.0' });
  });
  after(() => first[Symbol.asyncDispose]());

  const run = async (at: UpdateRepository, ...args: readonly string[]): Promise<string> => {
    const [command = '', ...rest] = args;
    const { code, stdout, stderr } = await devicectl(['repo', command, at.folder, ...rest, '--keys', at.keys]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const refused = async (reason: RegExp, at: UpdateRepository, ...args: readonly string[]): Promise<void> => {
    const before = await stateOf(at);
    const [command = '', ...rest] = args;
    const { code, stderr } = await devicectl(['repo', command, at.folder, ...rest, '--keys', at.keys]);
    assert.notEqual(code, 0, `${args.join(' ')} was done`);
    assert.match(stderr, reason);
    assert.deepEqual(await stateOf(at), before, 'the metadata are what they were');
  };
  const stateOf = async (at: UpdateRepository) =>
    Promise.all(
      (await readdir(join(at.folder, 'metadata')))
        .sort()
        .map((name) => [name, readFileSync(join(at.folder, 'metadata', name), 'hex')] as const),
    );

  test('an added image is found by a client of TUF that has the first root alone', async () => {
    await using at = await first.copy();
    const { folder } = await at.image({ version: '1.1.0' });
    assert.match(
      await run(at, 'add-image', folder),
      /^stable offers kiosk 1\.1\.0\nsha256:[0-9a-f]{64}: 2 blobs, \d+ bytes of them new/,
    );
    await run(at, 'add-image', folder, '--channel', 'beta', '--rollout', '10');
    using reader = new Reader(at);
    await reader.refresh();
    const place = 'kiosk/linux-x64-glibc/1.1.0';
    assert.equal((await reader.target(`stable/${place}/image.json.zst`))?.rollout, undefined);
    assert.equal((await reader.target(`beta/${place}/image.json.zst`))?.rollout, 10);
    assert.ok(await reader.target(`stable/kiosk/linux-x64-glibc/1.0.0/image.sig`));
    assert.equal(await reader.target(`beta/kiosk/linux-x64-glibc/1.0.0/image.sig`), undefined);
  });

  test('each command is a whole new set, and a reader between any two of its files sees the old set or the new one', async () => {
    await using at = await first.copy();
    const image = await at.image({ version: '1.1.0' });
    const commands: readonly (readonly string[])[] = [
      ['add-image', image.folder],
      ['publish'],
      ['publish', '--renew', 'targets', '--renew', 'stable', '--renew', 'root'],
      ...['targets', 'snapshot', 'timestamp', 'stable'].map((role) => ['rotate-key', role, role, `${role}-new`]),
      ['rotate-key', 'root', 'root-1', 'root-4'],
      ['add-channel', 'nightly'],
      ['expire', '1.0.0'],
    ];
    const { newKey } = await import('../../../plugins/life/maker/keys/key-files.ts');
    for (const name of ['targets-new', 'snapshot-new', 'timestamp-new', 'stable-new', 'root-4', 'nightly'])
      await newKey({ folder: at.keys, name });
    using follower = new Reader(at);
    for (const command of commands) {
      const before = new Map(await stateOf(at));
      await run(at, ...command);
      const after = new Map(await stateOf(at));
      const order = written(before, after);
      assert.ok(order.length > 1, command.join(' '));
      for (let cut = 0; cut <= order.length; cut += 1) {
        const seen = new Map(before);
        for (const name of order.slice(0, cut)) seen.set(name, after.get(name)!);
        // Somebody who comes for the first time, and somebody who was there before.
        using fresh = new Reader(at, seen);
        await fresh.refresh();
        using known = follower.copy(seen);
        await known.refresh();
        await known.target('stable/a/b/c/d');
      }
      await follower.refresh();
    }
    assert.equal(await follower.target('stable/kiosk/linux-x64-glibc/1.0.0/image.sig'), undefined);
    assert.ok(await follower.target('stable/kiosk/linux-x64-glibc/1.1.0/image.sig'));
  });

  test('a channel comes later, with its own key, and offers the images that are added to it', async () => {
    await using at = await first.copy();
    using follower = new Reader(at);
    await follower.refresh();
    await refused(/nightly/, at, 'add-channel', 'nightly');
    const { newKey } = await import('../../../plugins/life/maker/keys/key-files.ts');
    await newKey({ folder: at.keys, name: 'nightly' });
    assert.match(await run(at, 'add-channel', 'nightly'), /offers .*stable.*, nightly\n$/);
    for (const [name, reason] of [
      ['nightly', /has a channel nightly already/],
      ['stable', /has a channel stable already/],
      ['targets', /no name of a channel/],
      ['../x', /no name of a channel/],
      ['', /no name of a channel/],
    ] as const)
      await refused(reason, at, 'add-channel', name);
    const { folder } = await at.image({ version: '1.1.0' });
    await run(at, 'add-image', folder, '--channel', 'nightly');
    await follower.refresh();
    assert.ok(await follower.target('nightly/kiosk/linux-x64-glibc/1.1.0/image.sig'));
    assert.ok(await follower.target('stable/kiosk/linux-x64-glibc/1.0.0/image.sig'));
    assert.equal(await follower.target('stable/kiosk/linux-x64-glibc/1.1.0/image.sig'), undefined);
  });

  test('a version that was called back says why, one that was removed is gone', async () => {
    await using at = await first.copy();
    await run(at, 'expire', '1.0.0', '--reason', 'the clock stands still');
    using reader = new Reader(at);
    const path = 'stable/kiosk/linux-x64-glibc/1.0.0/image.json.zst';
    assert.equal((await reader.target(path))?.withdrawn, 'the clock stands still');
    await run(at, 'expire', '1.0.0');
    assert.equal(await new Reader(at).target(path), undefined);
  });

  test('a lost key of root, of targets and of a channel is replaced by those that are left', async () => {
    const { newKey } = await import('../../../plugins/life/maker/keys/key-files.ts');
    for (const [role, name] of [
      ['root', 'root-3'],
      ['targets', 'targets'],
      ['stable', 'stable'],
      ['timestamp', 'timestamp'],
    ] as const) {
      await using at = await first.copy();
      using follower = new Reader(at);
      await follower.refresh();
      await rm(join(at.keys, `${name}.key`));
      await newKey({ folder: at.keys, name: 'new' });
      // Of a role in the root a reader would be refused between two files: that is said first.
      if (role === 'targets' || role === 'timestamp')
        await refused(/REPOSITORY_UNTRUSTED[\s\S]*--lost/, at, 'rotate-key', role, name, 'new');
      await run(at, 'rotate-key', role, name, 'new', '--lost');
      await follower.refresh();
      assert.ok(await follower.target('stable/kiosk/linux-x64-glibc/1.0.0/image.sig'));
      await run(at, 'publish', '--renew', role);
    }
  });

  test('an order that cannot be carried out leaves the repository as it was', async () => {
    await using at = await first.copy();
    const { folder } = await at.image({ version: '1.1.0' });
    const other = await at.image({ version: '1.0.0', files: { 'kernel/start.js': 'another\n' } });
    const damaged = await at.image({ version: '1.3.0', files: { 'kernel/start.js': 'damaged\n' } });
    await writeFile(join(damaged.folder, 'blobs', `${damaged.image.files[0]!.sha256}.zst`), 'no zstd');
    const longer = await at.image({ version: '1.6.0', files: { 'kernel/start.js': 'longer\n' } });
    await appendFile(join(longer.folder, 'blobs', `${longer.image.files[0]!.sha256}.zst`), 'x');
    const unsigned = await at.image({ version: '1.4.0' });
    await rm(join(unsigned.folder, 'image.sig'));
    const cut = await at.image({ version: '1.5.0', files: { 'kernel/start.js': 'cut\n' } });
    await rm(join(cut.folder, 'blobs'), { recursive: true });
    const table: readonly (readonly [RegExp, readonly string[]])[] = [
      [/has another image kiosk 1\.0\.0/, ['add-image', other.folder]],
      [/the blob of kernel\/start\.js is not the file/, ['add-image', damaged.folder]],
      [/the blob of kernel\/start\.js is not the file/, ['add-image', longer.folder]],
      [/is not whole: .*image\.sig/, ['add-image', unsigned.folder]],
      [/is not whole: .*\.zst/, ['add-image', cut.folder]],
      [/has no channel nightly; it has stable, beta/, ['add-image', folder, '--channel', 'nightly']],
      [/has no image of version 9\.9\.9/, ['expire', '9.9.9']],
      [/has no channel nightly/, ['publish', '--renew', 'nightly']],
      [/has no role nightly/, ['rotate-key', 'nightly', 'stable', 'beta']],
      [/beta is no key of stable/, ['rotate-key', 'stable', 'beta', 'apps']],
      [/root-1 is a key of root already/, ['rotate-key', 'root', 'root-2', 'root-1']],
      [/there is a repository in .* already/, ['init']],
    ];
    for (const [reason, args] of table) await refused(reason, at, ...args);
    await rm(join(at.keys, 'stable.key'));
    await refused(/stable needs 1 more of these keys: stable/, at, 'add-image', folder);
    for (const name of ['root-1', 'root-2']) await rm(join(at.keys, `${name}.key`));
    await refused(/root needs 1 more of these keys: root-1, root-2/, at, 'publish', '--renew', 'root');
    await writeFile(join(at.folder, '.writing'), String(process.pid));
    await refused(/another command \(process \d+\) writes/, at, 'publish');
    await writeFile(join(at.folder, '.writing'), '2147483646');
    await run(at, 'publish');
    const stable = (await readdir(join(at.folder, 'metadata')))
      .filter((name) => /^\d+\.stable/.test(name))
      .sort()
      .at(-1)!;
    await writeFile(join(at.folder, 'metadata', stable), '{}');
    await refused(/STATE_CORRUPT: .*is damaged/, at, 'publish');
  });

  test('a copy for a web server is whole at each moment, and a second one copies new files alone', async () => {
    await using at = await first.copy();
    const web = join(at.place, 'web');
    assert.match(await run(at, 'publish', '--to', web), /version \d+ is good until[\s\S]*\d+ files went to/);
    assert.ok(!existsSync(join(web, '.writing')));
    const again = await run(at, 'publish', '--to', web, '--days', '30');
    assert.match(again, /(^|\n)2 files went to/, 'snapshot and timestamp');
    using reader = new Reader(at, undefined, web);
    assert.ok(await reader.target('stable/kiosk/linux-x64-glibc/1.0.0/image.sig'));
    await refused(/lies in the repository itself/, at, 'publish', '--to', join(at.folder, 'web')).catch(
      () => undefined,
    );
  });
});

/** Names of the files that were written, in the order that is promised. */
function written(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const rank = (name: string) => (name.endsWith('.root.json') ? 3 : name === 'timestamp.json' ? 2 : 1);
  return [...after.keys()].filter((name) => before.get(name) !== after.get(name)).sort((a, b) => rank(a) - rank(b));
}
