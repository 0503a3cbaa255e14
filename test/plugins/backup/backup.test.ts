/** A backup and its way back. Costs a key from a passphrase for most cases, which is slow by design. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { finishPending, pendingAct } from '@device-core/plugin-api/pending-state';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Device, device } from '@device-core/plugin-api/services/device';
import { machine } from '@device-core/plugin-api/services/machine';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/backup/index.ts';
import { visitState } from '../../../plugins/life/backup/places.ts';
import { filesOf, lay, NO_STATE, SECRET, STATE } from './state.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/backup.yaml');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Called instead of the service `apps`, where there is one. */
type Borrow = Apps['borrow'];

async function start(sku = 'test', borrow?: Borrow) {
  const root = mkdtempSync(join(tmpdir(), 'bk-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  for (const path of Object.values(paths)) mkdirSync(path, { recursive: true });
  const info = {
    ...{
      service: 'device',
      sku: { id: sku, title: 'Test', simulated: true },
      core: { version: '1.0.0', api: '1.0.0' },
    },
    ...{ auth: 'token' as const, paths, startedAt: 0, grants: {} },
  };
  const acts: string[] = [];
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    manifest,
    services: [
      [operations, table],
      [device, { info: async () => info } satisfies Device],
      ...(borrow ? [given(apps, { borrow })] : []),
      [machine, { able: async () => ({ acts: ['restart'] }), act: async (act: string) => void acts.push(act) }],
    ],
  });
  return {
    ...{ host, table, acts, state: paths.var, root },
    async fetch(params: object) {
      const made = await table.run<{ backup: string; left: { path: string }[]; bytes: number }>(
        'system.backup',
        params,
      );
      const parts: Buffer[] = [];
      for (let end = false, offset = 0; !end; ) {
        const part = await table.run<{ bytes: string; end: boolean }>('system.backupPart', { id: made.backup, offset });
        parts.push(Buffer.from(part.bytes, 'base64'));
        offset += parts.at(-1)!.length;
        end = part.end;
      }
      const bytes = Buffer.concat(parts);
      assert.equal(bytes.length, made.bytes);
      return { ...made, archive: bytes };
    },
    async restore(archive: Uint8Array, params: object = {}) {
      const file = join(root, 'body');
      writeFileSync(file, archive);
      const { upload } = await table.run<{ upload: string }>('system.restoreUpload', { file });
      return table.run('system.restore', { upload, ...params });
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

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
      ...{ files: Object.keys(STATE).length, restarts: true },
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
    for (const app of ['tea', 'zoo']) assert.ok(archive.includes(`apps/com.example.${app}/data/last`));
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
    assert.ok(!archive.includes('cups.json') && archive.includes('com.example.zoo/data/a'));
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

  describe('refuses a file that is no whole backup of this device, and touches nothing', () => {
    const edit = (archive: Buffer, from: string | RegExp, to: string): Buffer =>
      Buffer.from(archive.toString('latin1').replace(from, to), 'latin1');
    const PLAIN = {};
    const PHRASE = { passphrase: 'secret words' };
    const PIECE = (256 << 10) + 28;
    /** Who has no passphrase makes a whole one by hand, with every hash right. */
    const forged = (salt: boolean): Buffer => {
      const head = { format: 1, sku: 'test', core: '1.0.0', made: 0, forms: {} };
      const line = { path: 'config.yaml', size: 7, mode: 0o600 };
      const list = { files: [{ ...line, sha256: hashOf('evil: 1') }] };
      const lines = [{ ...head, ...(salt && { salt: 'AAAA' }) }, line].map((each) => JSON.stringify(each));
      const text = `device-core backup\n${lines.join('\n')}\nevil: 1${JSON.stringify(list)}\n`;
      return Buffer.from(`${text}sha256:${hashOf(text)}\n`);
    };
    const wholes = new Map<object, Buffer>();
    /** Made once: each case changes another place of it. */
    const whole = async (made: object): Promise<Buffer> => {
      const known = wholes.get(made);
      if (known) return known;
      await using one = await start();
      lay(one.state, STATE);
      const { archive } = await one.fetch(made);
      wholes.set(made, archive);
      return archive;
    };
    /** Bytes of the first sealed piece of the big file, and the second: both are whole. */
    const swapped = (archive: Buffer): Buffer => {
      const at = archive.indexOf('\n', archive.indexOf('"path":"voice/big.bin"')) + 1;
      const [one, two] = [0, 1].map((nth) => archive.subarray(at + nth * PIECE, at + (nth + 1) * PIECE));
      return Buffer.concat([archive.subarray(0, at), two!, one!, archive.subarray(at + 2 * PIECE)]);
    };
    const bad: readonly (readonly [
      what: string,
      change: (archive: Buffer) => Buffer,
      reason: RegExp,
      params?: object,
      made?: object,
    ])[] = [
      ['nothing', () => Buffer.alloc(0), /ends in the middle/],
      ['another file', () => Buffer.from('PK\u0003\u0004 something else, and long enough'), /no backup/],
      ['half a file', (archive) => archive.subarray(0, archive.length >> 1), /ends in the middle/],
      ['all but the last byte', (archive) => archive.subarray(0, -1), /ends in the middle/],
      ['more behind its end', (archive) => Buffer.concat([archive, Buffer.from('x')]), /behind its end/],
      ['a changed byte', (archive) => edit(archive, '"cups": 3', '"cups": 4'), /other files/, PLAIN, PLAIN],
      ['a changed space', (archive) => edit(archive, '"mode":', '"mode":  '), /it was changed/, PLAIN, PLAIN],
      ['a space of a sealed one', (archive) => edit(archive, '"mode":', '"mode":  '), /it was changed/],
      ['a changed moment of a sealed one', (archive) => edit(archive, /"made":\d/, '"made":9'), /it was changed/],
      ['a changed mode of a sealed file', (archive) => edit(archive, /"mode":\d/, '"mode":1'), /or it was changed/],
      ['another name', (archive) => edit(archive, 'voice/big.bin', 'voice/bag.bin'), /other files/, PLAIN, PLAIN],
      ['another name of a sealed file', (archive) => edit(archive, 'big.bin', 'bag.bin'), /or it was changed/],
      ['two sealed pieces that changed places', swapped, /or it was changed/],
      ['a file that is not sealed among sealed ones', () => forged(true), /it is not sealed/],
      ['one without a seal, where a passphrase is given', () => forged(false), /was not sealed/],
      [
        'a seal where the head has none',
        (archive) => edit(archive, '"mode"', '"sealed":true,"mode"'),
        /sealed/,
        PLAIN,
        PLAIN,
      ],
      [
        'a path that leads elsewhere',
        (archive) => edit(archive, '"voice/big.bin"', '"../../etc/xyz"'),
        /leads elsewhere/,
      ],
      ['a path of what is no state', (archive) => edit(archive, '"voice/big.bin"', '"update/big.bi"'), /no state/],
      ['a newer form', (archive) => edit(archive, '"format":1', '"format":2'), /forms up to 1/],
      ['another SKU', (archive) => edit(archive, '"sku":"test"', '"sku":"toast"'), /of SKU "toast"/],
      ['a newer Core', (archive) => edit(archive, '"core":"1.0.0"', '"core":"1.1.0"'), /made by Core 1.1.0/],
      ['a store of a newer form', (archive) => edit(archive, '"writes":1', '"writes":9'), /has form 9, which is newer/],
      ['no passphrase', (archive) => archive, /needs its passphrase/, {}],
      ['another passphrase', (archive) => archive, /passphrase is another/, { passphrase: 'wrong' }],
    ];
    for (const [what, change, reason, params = PHRASE, made = PHRASE] of bad)
      it(what, async () => {
        await using one = await start();
        lay(one.state, STATE);
        const archive = await whole(made);
        const before = filesOf(one.state);
        await assert.rejects(one.restore(change(archive), params), (error: Error & { code: string }) => {
          assert.equal(error.code, 'BACKUP_INVALID');
          assert.match(error.message, reason);
          return true;
        });
        const now = Object.entries(filesOf(one.state)).filter(([path]) => !path.startsWith('backups/'));
        assert.deepEqual(
          Object.fromEntries(now),
          Object.fromEntries(Object.entries(before).filter(([path]) => !path.startsWith('backups/'))),
        );
        assert.equal(pendingAct(one.state), undefined);
        assert.deepEqual(one.acts, []);
      });
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
