/** `devicectl repo add-app`, `add-plugin`, `list`, and what `expire` and `sweep` do with packages. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { newKeyPair, PLUGIN_PACKAGE, readTree, signTree } from '@device-core/plugin-api/inside/packages';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { Packages } from '../../fixtures/packages.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import { devicectl } from '../cli/run-devicectl.ts';
import { Reader } from './reader.ts';

const ID = 'com.example.guest';
const DAY_S = 86_400;

suite('packages in a repository', () => {
  let first: UpdateRepository;
  const apps = new AppPackages();
  const plugins = new Packages();
  const author = newKeyPair();
  const stranger = newKeyPair();
  let pub = '';
  before(async () => {
    first = await UpdateRepository.create();
    await first.offer({ version: '1.0.0' });
    pub = apps.file(Buffer.from(author.publicKey), 'author.pub');
  });
  after(async () => {
    await first[Symbol.asyncDispose]();
    apps[Symbol.dispose]();
    plugins[Symbol.dispose]();
  });

  const app = (version: string, more: object = {}) => apps.pack({ id: ID, version, key: author.privateKey, ...more });
  const signedPlugin = async (options: Parameters<Packages['folder']>[0], key = author.privateKey) => {
    const folder = plugins.folder(options);
    const { hash } = await readTree(PLUGIN_PACKAGE, folder, readdirSync(folder).sort(), 1 << 20);
    const files = { 'plugin.sig': signTree(PLUGIN_PACKAGE, hash, key) };
    return plugins.tarball({ ...options, files: { ...options?.files, ...files } });
  };
  const call = (at: UpdateRepository, ...args: readonly string[]) => {
    const [command = '', ...rest] = args;
    const keys = command === 'list' || command === 'sweep' ? [] : ['--keys', at.keys];
    const signer = command.startsWith('add-') && !rest.includes('--signer') ? ['--signer', pub] : [];
    return devicectl(['repo', command, at.folder, ...rest, ...signer, ...keys]);
  };
  const run = async (at: UpdateRepository, ...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await call(at, ...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const stateOf = (at: UpdateRepository) =>
    readdirSync(join(at.folder, 'metadata'))
      .sort()
      .map((name) => [name, readFileSync(join(at.folder, 'metadata', name), 'hex')] as const);
  const refused = async (reason: RegExp, at: UpdateRepository, ...args: readonly string[]): Promise<void> => {
    const was = stateOf(at);
    const { code, stderr } = await call(at, ...args);
    assert.notEqual(code, 0, `${args.join(' ')} was done`);
    assert.match(stderr, reason);
    assert.deepEqual(stateOf(at), was, 'the metadata are what they were');
  };
  const packagesIn = (at: UpdateRepository, channel: string): readonly string[] => {
    const folder = join(at.folder, 'targets', channel);
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  };

  test('an app and a plugin are found by a client of TUF under their own roles, and listed', async () => {
    await using at = await first.copy();
    assert.match(
      await run(at, 'add-app', await app('1.0.0')),
      /^apps offers com\.example\.guest 1\.0\.0 for any platform\nsha256:[0-9a-f]{64}: \d+ bytes, signed by sha256:[0-9a-f]{64}\n$/,
    );
    const chime = await signedPlugin({ id: 'chime', version: '0.3.0' });
    assert.match(await run(at, 'add-plugin', chime), /^plugins offers chime 0\.3\.0 for any platform/);
    using reader = new Reader(at);
    await reader.refresh();
    assert.equal((await reader.target(`apps/${ID}/1.0.0/any.app`))?.id, ID);
    assert.equal((await reader.target('plugins/chime/0.3.0/any.tgz'))?.version, '0.3.0');
    const listed = await run(at, 'list');
    assert.match(listed, /stable +kiosk +1\.0\.0 +linux-x64-glibc/);
    assert.match(listed, /apps +com\.example\.guest +1\.0\.0 +any platform/);
    assert.match(listed, /plugins +chime +0\.3\.0/);
    const { offered } = JSON.parse(await run(at, 'list', '--channel', 'apps', '--json'));
    assert.deepEqual(
      offered.map(({ channel, what, version }: Record<string, string>) => [channel, what, version]),
      [['apps', ID, '1.0.0']],
    );
  });

  test('the same package again is no other one, and one for another platform stands beside it', async () => {
    await using at = await first.copy();
    const file = await app('1.0.0', { manifest: { platform: ['linux-arm64'] } });
    await run(at, 'add-app', file);
    const [name] = packagesIn(at, 'apps');
    await run(at, 'add-app', file);
    assert.deepEqual(packagesIn(at, 'apps'), [name]);
    await run(at, 'add-app', await app('1.0.0', { manifest: { platform: ['linux-x64'] } }));
    await refused(
      /apps has com\.example\.guest 1\.0\.0 for linux-arm64 already/,
      ...([at, 'add-app', await app('1.0.0')] as const),
    );
    assert.match(await run(at, 'list'), /for|linux-x64/);
  });

  test('a package that devices would refuse does not come in, and nothing changes', async () => {
    await using at = await first.copy();
    await run(at, 'add-app', await app('1.0.0'));
    const whole = readFileSync(await app('1.1.0'));
    const strangerPub = apps.file(Buffer.from(stranger.publicKey), 'stranger.pub');
    const quiet = { id: 'chime', version: '1.0.0' };
    const table: readonly (readonly [RegExp, readonly string[]])[] = [
      [/has another package com\.example\.guest 1\.0\.0/, ['add-app', await app('1.0.0', { code: '// other\n' })]],
      [/it is not signed: there is no app\.sig/, ['add-app', await apps.pack({ id: ID, version: '1.1.0' })]],
      [/which this device does not trust/, ['add-app', await app('1.1.0', { key: stranger.privateKey })]],
      [/which this device does not trust/, ['add-app', await app('1.1.0'), '--signer', strangerPub]],
      [/PACKAGE_INVALID/, ['add-app', apps.file(whole.subarray(0, whole.length >> 1))]],
      [/PACKAGE_INVALID/, ['add-app', apps.file(Buffer.from('no package'))]],
      [/PACKAGE_INVALID: .*it is no file/, ['add-app', apps.root]],
      [/PACKAGE_INVALID: .*cannot be read/, ['add-app', join(apps.root, 'none.app')]],
      [/MANIFEST_INVALID: .*app\.yaml:\d+/, ['add-app', await app('1.1.0', { manifest: { colour: 'red' } })]],
      [
        /CAPABILITY_UNKNOWN/,
        ['add-app', await app('1.1.0', { manifest: { capabilities: [{ id: 'world.peace', reason: 'why not' }] } })],
      ],
      [/there is no app\.yaml at its top/, ['add-app', await signedPlugin(quiet)]],
      [/there is no plugin\.yaml at its top/, ['add-plugin', await app('1.1.0')]],
      [/it is not signed: there is no plugin\.sig/, ['add-plugin', plugins.tarball(quiet)]],
      [/its signature is of other files/, ['add-plugin', await tampered()]],
      [/it has no other\.mjs/, ['add-plugin', await signedPlugin({ ...quiet, manifest: ['main: ./other.mjs'] })]],
      [/cannot accept signers/, ['add-app', await app('1.1.0'), '--signer', join(apps.root, 'none.pub')]],
      [/apps has no com\.example\.guest 9\.9\.9/, ['expire', '9.9.9', '--channel', 'apps', '--id', ID]],
      [/say with --id which app is meant/, ['expire', '1.0.0', '--channel', 'apps']],
      [/stable offers images/, ['expire', '1.0.0', '--id', ID]],
    ];
    for (const [reason, args] of table) await refused(reason, at, ...args);

    async function tampered(): Promise<string> {
      const folder = plugins.folder(quiet);
      const { hash } = await readTree(PLUGIN_PACKAGE, folder, readdirSync(folder).sort(), 1 << 20);
      const files = { 'plugin.sig': signTree(PLUGIN_PACKAGE, hash, author.privateKey), 'more.mjs': '// more\n' };
      return plugins.tarball({ ...quiet, files });
    }
  });

  test('a repository without the channel, or without its key, says so', async () => {
    await using at = await first.copy();
    const { rm } = await import('node:fs/promises');
    await rm(join(at.keys, 'apps.key'));
    await refused(/apps needs 1 more of these keys: apps/, at, 'add-app', await app('1.0.0'));
  });

  test('a version that was called back says why until it is offered again, one that was removed is swept', async () => {
    await using at = await first.copy();
    const file = await app('1.0.0');
    await run(at, 'add-app', file);
    await run(at, 'add-app', await app('1.1.0'));
    const about = ['--channel', 'apps', '--id', ID];
    await run(at, 'expire', '1.0.0', ...about, '--reason', 'it burns');
    assert.match(await run(at, 'list'), /1\.0\.0.*called back: it burns/);
    await run(at, 'add-app', file);
    assert.doesNotMatch(await run(at, 'list'), /called back/);
    await run(at, 'expire', '1.0.0', ...about);
    const old = packagesIn(at, 'apps').find((path) => path.includes('/1.0.0/'))!;
    const other = packagesIn(at, 'apps').find((path) => path.includes('/1.1.0/'))!;
    for (const path of [old, other]) utimesSync(path, Date.now() / 1000 - 90 * DAY_S, Date.now() / 1000 - 90 * DAY_S);
    await run(at, 'sweep');
    assert.ok(existsSync(old), 'a set of today named it');
    for (const name of readdirSync(join(at.folder, 'metadata'))) {
      const path = join(at.folder, 'metadata', name);
      utimesSync(path, Date.now() / 1000 - 60 * DAY_S, Date.now() / 1000 - 60 * DAY_S);
    }
    await run(at, 'sweep');
    assert.ok(!existsSync(old));
    assert.ok(existsSync(other));
    writeFileSync(other, '');
    const { rm } = await import('node:fs/promises');
    await rm(other);
    const { code, stderr } = await call(at, 'sweep');
    assert.notEqual(code, 0);
    assert.match(stderr, /STATE_CORRUPT: .*is damaged/);
  });

  test('so many versions that devices would not read them are refused, with what to do', async () => {
    await using at = await first.copy();
    const { path } = await at.offerPackage('app', await app('1.0.0'), pub);
    await at.forge((edition) =>
      edition.edit('apps', (role) => {
        const entry = role.targets[path]!;
        const more = Array.from({ length: 400 }, (_, nth) => [`apps/${ID}/0.0.${nth}/any.app`, entry] as const);
        return { ...role, targets: { ...role.targets, ...Object.fromEntries(more) } };
      }),
    );
    await refused(/has \d+ bytes; devices read 131072[\s\S]*repo expire/, at, 'add-app', await app('1.1.0'));
  });
});
