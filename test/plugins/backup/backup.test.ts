/** A backup and its way back. Costs a key from a passphrase for most cases, which is slow by design. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { finishPending } from '@device-core/plugin-api/inside/pending-state';
import { leakCheck } from '@device-core/plugin-api/testing';
import { visitState } from '../../../plugins/life/backup/places.ts';
import { opened, start } from './device.ts';
import { filesOf, lay, NO_STATE, SECRET, STATE } from './state.ts';

after(leakCheck());

describe('backup', { timeout: 300_000 }, () => {
  it('puts back on another device what was on the first, secrets too where there is a passphrase', async () => {
    await using one = await start();
    await using other = await start();
    lay(one.state, { ...STATE, ...NO_STATE });
    chmodSync(join(one.state, 'audio/state.json'), 0o640);
    symlinkSync('/etc/shadow', join(one.state, 'apps/com.example.tea/data/link'));
    lay(other.state, { 'config.yaml': 'old: 1\n', 'left/over': 'x', 'update/history.jsonl': 'its own' });
    lay(other.state, { 'browsers/keys.json': 'its own' });
    const { archive, left } = await one.fetch({ passphrase: 'long enough\n' });
    assert.deepEqual(
      left.map(({ path }) => path),
      ['apps/com.example.tea/data/link'],
    );
    for (const [path, text] of Object.entries(STATE))
      if (text !== '') assert.ok(!archive.includes(text.slice(0, 60)), `${path} stands in it for everybody`);
    const before = filesOf(other.state);
    assert.deepEqual(await other.restore(archive, { passphrase: 'long enough' }), {
      files: Object.keys(STATE).length,
      restarts: true,
    });
    assert.deepEqual(other.acts, ['restart']);
    for (const [path, text] of Object.entries(before))
      assert.equal(filesOf(other.state)[path], text, 'not touched yet');
    assert.equal(finishPending(other.state), 'restore');
    const { 'update/history.jsonl': history, ...now } = filesOf(other.state);
    assert.deepEqual(now, STATE);
    assert.equal(history, 'its own');
    assert.equal(statSync(join(other.state, 'audio/state.json')).mode & 0o777, 0o640);
  });

  it('leaves secrets out without a passphrase, and says so', async () => {
    await using one = await start();
    await using other = await start();
    lay(one.state, STATE);
    const { archive, left } = await one.fetch({});
    const secrets = ['app-store/secrets/key', 'apps/com.example.tea/config.yaml', 'config.yaml'];
    assert.deepEqual(left.map(({ path }) => path).sort(), secrets);
    assert.ok(!archive.includes(SECRET));
    await other.restore(archive);
    finishPending(other.state);
    assert.deepEqual(
      Object.keys(filesOf(other.state)),
      Object.keys(STATE)
        .filter((path) => !secrets.includes(path))
        .sort(),
    );
  });

  it('leaves settings out without a passphrase, also where none is known as a secret', async () => {
    await using one = await start();
    const settings = [
      ...['apps/com.example.tea/config.journal', 'config.journal', 'config.meta.json', 'config.yaml'],
      ...[
        'config.yaml.last-good',
        'plugins/installed.yaml',
        'plugins/settings.json',
        'plugins/settings.json.last-good',
      ],
    ];
    lay(one.state, Object.fromEntries(settings.map((path) => [path, `volume: ${SECRET}\n`])));
    const { archive, left } = await one.fetch({});
    assert.deepEqual(left.map(({ path }) => path).sort(), settings);
    assert.ok(!archive.includes(SECRET));
  });

  it('follows no link, waits for no pipe, and takes no second name of a file out of the folder of an app', async () => {
    await using one = await start();
    lay(one.root, { 'etc/token': SECRET, 'etc/folder/token': SECRET });
    lay(one.state, { 'apps/com.example.tea/data/own': 'mine' });
    const data = join(one.state, 'apps/com.example.tea/data');
    symlinkSync(join(one.root, 'etc/token'), join(data, 'file-link'));
    symlinkSync(join(one.root, 'etc/folder'), join(data, 'folder-link'));
    linkSync(join(one.root, 'etc/token'), join(data, 'hard-link'));
    assert.equal(spawnSync('mkfifo', [join(data, 'pipe')]).status, 0);
    const { archive, left } = await one.fetch({});
    assert.ok(archive.includes('mine'));
    assert.ok(!archive.includes(SECRET), 'it holds what the app cannot read');
    assert.deepEqual(
      left.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)),
      ['file-link', 'folder-link', 'hard-link', 'pipe'],
    );
  });

  it('looks at the data of an app while it is borrowed, and at nothing else then', async () => {
    const told: string[] = [];
    await using one = await start('test', async (app, work) => {
      told.push(`${app} rests`);
      // Until now it wrote, and nobody else could read it.
      lay(one.state, { [`apps/${app}/data/last`]: app });
      await work();
      rmSync(join(one.state, 'apps', app, 'data/last'));
      told.push(`${app} is back`);
    });
    const other = { 'apps/com.example.zoo/data/deep/a': 'a', 'apps/com.example.none/app.yaml': 'no data' };
    lay(one.state, { ...STATE, ...other });
    const { archive, left } = await one.fetch({ passphrase: 'x' });
    const pairs = ['com.example.tea', 'com.example.zoo'].map((app) => [`${app} rests`, `${app} is back`]);
    assert.deepEqual(told, pairs.flat());
    assert.deepEqual(left, []);
    for (const app of ['tea', 'zoo'])
      assert.ok((await opened(archive, 'x')).includes(`apps/com.example.${app}/data/last`));
    await using second = await start();
    await second.restore(archive, { passphrase: 'x' });
    finishPending(second.state);
    const modes = ['apps/com.example.zoo', 'apps/com.example.zoo/data'].map(
      (it) => statSync(join(second.state, it)).mode & 0o777,
    );
    assert.deepEqual(modes, [0o711, 0o700], 'other users pass through to their own');
  });

  it('names the app whose data are not lent, and has the rest', async () => {
    const refuses = new CoreError('WARDEN_REFUSED', { what: 'release of com.example.tea', reason: 'it is a link' });
    await using one = await start('test', (app, work) => (app.endsWith('tea') ? Promise.reject(refuses) : work()));
    lay(one.state, { ...STATE, 'apps/com.example.zoo/data/a': 'beasts' });
    const { archive, left } = await one.fetch({ passphrase: 'x' });
    assert.deepEqual(left, [{ path: 'apps/com.example.tea/data', reason: refuses.message }]);
    const plain = await opened(archive, 'x');
    assert.ok(!plain.includes('cups.json') && plain.includes('com.example.zoo/data/a'));
  });

  describe('an app exchanges, between the look and the open,', () => {
    const SWAPS = [
      ['a file for a link', (data: string, root: string) => symlinkSync(join(root, 'etc/token'), join(data, 'b'))],
      ['a file for a pipe', (data: string) => spawnSync('mkfifo', [join(data, 'b')])],
      ['a file for a folder', (data: string) => mkdirSync(join(data, 'b'))],
      ['a folder for a link', (data: string, root: string) => symlinkSync(join(root, 'etc'), join(data, 'b')), true],
    ] as const;
    for (const [what, swap, folder] of SWAPS)
      it(`${what}: it is left out`, async () => {
        const root = mkdtempSync(join(tmpdir(), 'swap-'));
        const data = join(root, 'var/apps/a/data');
        lay(root, {
          'etc/token': SECRET,
          'var/apps/a/data/a': 'first',
          [`var/apps/a/data/b${folder ? '/token' : ''}`]: 'b',
        });
        const got: string[] = [];
        const left: string[] = [];
        await visitState(join(root, 'var'), {
          wants: () => true,
          // The folder was listed already: what comes next is opened by what the list said.
          async file(_, from) {
            got.push(await from.readFile('utf8'));
            if (got.length > 1) return;
            rmSync(join(data, 'b'), { recursive: true });
            swap(data, root);
          },
          left: (path) => void left.push(path),
          data: (_, look) => look(),
        });
        assert.deepEqual(got, ['first']);
        assert.deepEqual(left, ['apps/a/data/b']);
        rmSync(root, { recursive: true, force: true });
      });
  });

  it('health names what a reset could not remove', async () => {
    await using one = await start();
    lay(one.state, {
      'remains/of-x/apps/a/data': '',
      'remains/left.json': '[{"path":"remains/of-x/apps/a/data","reason":"EACCES"}]',
    });
    const told: unknown[] = [];
    const tell = (...of: unknown[]): void => void told.push(of);
    const report = { add: tell, warn: tell, bridge: tell };
    await one.host.hook('health.collect').promise(report);
    assert.match(JSON.stringify(told), /STATE_REMAINS.*remains\/of-x\/apps\/a\/data.*rm -rf .*remains/);
  });

  it('is asked for by who may, and a second order waits for the first', async () => {
    await using one = await start();
    const app = { caller: { kind: 'app', id: 'com.example.app' } } as const;
    for (const name of ['system.reset', 'system.backup'])
      await assert.rejects(one.table.run(name, {}, app), { code: 'CAPABILITY_DENIED' });
    lay(one.state, STATE);
    const { archive } = await one.fetch({ passphrase: 'x' });
    await one.table.run('system.reset', {});
    await assert.rejects(one.restore(archive, { passphrase: 'x' }), /ordered already/);
    assert.deepEqual(one.acts, ['restart']);
  });
});
