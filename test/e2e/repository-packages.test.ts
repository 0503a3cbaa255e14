/** From the desk of the OEM to a device: packages are offered, a plain web server serves the folder, and a Core installs them by their ids. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newKeyPair, PLUGIN_PACKAGE, readTree, signTree } from '@device-core/plugin-api/inside/packages';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { apps } from '@device-core/plugin-api/services/apps';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../fixtures/app-packages.ts';
import { type Core, startCore } from '../fixtures/core.ts';
import { Packages } from '../fixtures/packages.ts';
import { UpdateRepository } from '../fixtures/update-repository.ts';
import { changed, status, UpdateServer } from '../fixtures/update-server.ts';
import { devicectl } from '../plugins/cli/run-devicectl.ts';

const PLUGINS = [
  ...[
    'operations',
    'identity',
    'system',
    'http',
    'rpc',
    'events',
    'functions',
    'changes',
    'supervisor-process',
    'apps',
  ],
  ...['app-store', 'plugin-store', 'prompts', 'cli', 'slots-none', 'updater'],
];
const ID = 'com.example.guest';
const leaks = leakCheck();
const author = newKeyPair();
const packages = new AppPackages();
const plugins = new Packages();
let repository: UpdateRepository;
let server: UpdateServer;

/** Answers with its version. */
const answering = (version: string): string => `
const core = require('node:net').connect(process.env.DEVICE_RPC_SOCKET).on('error', () => process.exit(9));
const send = (message) => core.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
let text = '';
core.on('data', (part) => {
  text += part;
  for (let at = text.indexOf('\\n'); at >= 0; at = text.indexOf('\\n')) {
    const { id, method } = JSON.parse(text.slice(0, at));
    text = text.slice(at + 1);
    if (method === 'guest.who') send({ id, result: { version: '${version}' } });
    else if (method === 'stop') process.exit(0);
    else if (method !== undefined && id !== undefined) send({ id, error: { code: -32601, message: 'no' } });
  }
});
`;

async function offerApp(version: string): Promise<void> {
  const functions = [
    { name: 'guest.who', version: '1.0.0', description: 'Who is there.', inputs: {}, returns: { version: 'string' } },
  ];
  const manifest = { functions };
  const file = await packages.pack({ id: ID, version, manifest, code: answering(version), key: author.privateKey });
  await desk('add-app', file);
}

async function offerPlugin(version: string): Promise<void> {
  const options = { id: 'chime', version };
  const folder = plugins.folder(options);
  const { hash } = await readTree(PLUGIN_PACKAGE, folder, readdirSync(folder).sort(), 1 << 20);
  const files = { 'plugin.sig': signTree(PLUGIN_PACKAGE, hash, author.privateKey) };
  await desk('add-plugin', plugins.tarball({ ...options, files }));
}

async function desk(command: string, file: string): Promise<void> {
  const pub = join(packages.root, 'author.pub');
  const { folder, keys } = repository;
  const { code, stderr } = await devicectl(['repo', command, folder, file, '--signer', pub, '--keys', keys]);
  assert.equal(code, 0, stderr);
}

before(async () => {
  writeFileSync(join(packages.root, 'author.pub'), author.publicKey);
  repository = await UpdateRepository.create();
  server = await UpdateServer.open(repository.folder);
  await offerApp('1.0.0');
  await offerPlugin('0.3.0');
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await repository[Symbol.asyncDispose]();
  packages[Symbol.dispose]();
  plugins[Symbol.dispose]();
  await leaks();
});

/** Takes what its author signed, and nothing else. */
function start(): Promise<Core> {
  server.answer();
  const trust = [{ name: 'author', key: author.publicKey, ids: ['com.example.*'], highest: 'normal' }];
  return startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: {
      'app-store': { probationMs: 50, signatures: 'require', trust },
      'plugin-store': { signatures: 'require', trustedKeys: [author.publicKey] },
      updater: { url: server.url, root: repository.root, automatic: 'off' },
    },
  });
}

const run = (core: Core, ...args: readonly string[]) => devicectl(['--root', core.root, ...args]);

async function done(core: Core, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(core, ...args);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function refused(reason: RegExp, core: Core, ...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(core, ...args);
  assert.notEqual(code, 0, stdout);
  assert.match(stderr, reason);
}

describe('a repository of a web server', () => {
  it('brings an app by its id, which answers, then its next version, and never an older one', async () => {
    await using core = await start();
    assert.match(await done(core, 'app', 'available'), /com\.example\.guest +1\.0\.0 +guest/);
    const installed = await done(core, 'app', 'install', ID);
    assert.match(installed, /^com\.example\.guest 1\.0\.0 is installed\n[\s\S]*signed by author$/m);
    assert.match(await done(core, 'call', 'guest.who'), /1\.0\.0/);
    await offerApp('1.1.0');
    assert.match(await done(core, 'app', 'install', `${ID}@1.1.0`), /1\.1\.0 is installed instead of 1\.0\.0/);
    assert.match(await done(core, 'call', 'guest.who'), /1\.1\.0/);
    await refused(/APP_CONFLICT.*1\.1\.0 is there, which is newer/, core, 'app', 'install', `${ID}@1.0.0`);
    assert.match(await done(core, 'app', 'update', 'guest', `${ID}@1.0.0`, '--downgrade'), /1\.0\.0 is installed/);
    assert.match(await done(core, 'call', 'guest.who'), /1\.0\.0/);
  });

  it('brings a plugin by its id, which runs', async () => {
    await using core = await start();
    assert.match(await done(core, 'plugin', 'available'), /chime +0\.3\.0/);
    const command = ['plugin', 'install', 'chime', '--isolation', 'worker', '--yes'];
    assert.match(await done(core, ...command), /^chime 0\.3\.0 is active, on probation[\s\S]*signed by sha256:/);
    const found = (await core.service(pluginManager).list()).find(({ id }) => id === 'chime');
    assert.equal(found?.state, 'active');
  });

  it('that lies, is silent, or has no such app leaves the device as it was, and the fault is told', async () => {
    await using core = await start();
    await refused(
      /PACKAGE_NOT_FOUND.*has no app com\.example\.gest; did you mean com\.example\.guest\?/,
      core,
      'app',
      'install',
      'com.example.gest',
    );
    await refused(/PACKAGE_NOT_FOUND.*9\.9\.9; it has/, core, 'app', 'install', `${ID}@9.9.9`);
    server.answer([/\.app$/, changed]);
    await refused(/REPOSITORY_UNTRUSTED.*another content than its role says/, core, 'app', 'install', ID);
    server.answer([/\.app$/, status(404)]);
    await refused(/REPOSITORY_FAILED.*\(404\)/, core, 'app', 'install', ID);
    server.answer([/./, status(500)]);
    await refused(/REPOSITORY_FAILED.*answers 500/, core, 'app', 'install', ID);
    await refused(/REPOSITORY_FAILED/, core, 'plugin', 'install', 'chime');
    server.answer();
    await refused(/is no file/, core, 'app', 'install', './com.example.guest');
    assert.deepEqual(await core.service(apps).list(), []);
    assert.deepEqual(JSON.parse(await done(core, 'app', 'installed', '--json')).apps, []);
  });

  it('with a channel that names another package than it holds is not believed by the store either', async () => {
    await using core = await start();
    // Both are signed by the author: a thief of the key of the channel gives the old one the name of a new one.
    await repository.forge(async (edition, folder) => {
      const path = `apps/${ID}/7.0.0/any.app`;
      const [old, { custom, hashes }] = Object.entries(edition.role('apps').targets)[0]!;
      assert.match(old, /\/1\.0\.0\//);
      const bytes = readFileSync(join(folder.path, 'targets', old.replace('any.app', `${hashes.sha256}.any.app`)));
      const entry = await folder.addTarget(path, bytes, { ...custom, version: '7.0.0' });
      edition.edit('apps', (role) => ({ ...role, targets: { ...role.targets, [path]: entry } }));
    });
    await refused(/APP_CONFLICT.*it is version 1\.0\.0, not 7\.0\.0/, core, 'app', 'install', ID);
    assert.deepEqual(await core.service(apps).list(), []);
  });
});
