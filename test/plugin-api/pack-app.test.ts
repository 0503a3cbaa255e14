import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { apps } from '@device-core/plugin-api/services/apps';
import { functions } from '@device-core/plugin-api/services/functions';
import { packAppLibrary } from '../../plugin-api/build/pack-app.ts';
import { startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'pa-'));
after(() => rmSync(folder, { recursive: true }));

const MANIFEST = `
manifestVersion: 1
id: com.example.packed
name: packed
version: 1.0.0
title: Packed
exec: { command: node, args: [main.js] }
capabilities: []
functions: [{ name: packed.greet, version: 1.0.0, inputs: { name: string }, returns: { text: string } }]
`;

const PROGRAM = `
import { type App, connectApp, RpcError } from '@device-core/app';

const app: App = await connectApp();
await app.provide<{ name: string }, { text: string }>('packed.greet', ({ name }) => {
  if (name === '') throw new RpcError('PARAMS_INVALID', -32602, 'nobody');
  return { text: ['Hello', name].join(', ') };
});
const reason: string = await app.stopped;
console.log(reason);
`;

test('an app outside of the checkout compiles and runs with the packed library, which needs no other package', async () => {
  const tarball = await packAppLibrary(folder);
  const first = readFileSync(tarball);
  rmSync(tarball);
  assert.ok(readFileSync(await packAppLibrary(folder)).equals(first), 'the same sources give the same bytes');

  const home = join(folder, 'packed');
  const library = join(home, 'node_modules/@device-core/app');
  mkdirSync(library, { recursive: true });
  execFileSync('tar', ['xzf', tarball, '-C', library, '--strip-components=1']);
  const { dependencies, exports } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8'));
  assert.equal(dependencies, undefined);
  assert.deepEqual(Object.keys(exports), ['.', './device_app.py']);
  assert.equal(
    readFileSync(join(library, 'device_app.py'), 'utf8'),
    readFileSync(join(ROOT, 'plugin-api/app/device_app.py'), 'utf8'),
  );

  writeFileSync(join(home, 'app.yaml'), MANIFEST);
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(home, 'main.ts'), PROGRAM);
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', home], { stdio: 'inherit' });

  const needed = ['operations', 'identity', 'functions', 'rpc', 'supervisor-process', 'apps'];
  await using core = await startCore({
    plugins: Object.fromEntries(needed.map((id) => [id, '^1.0.0'])),
    config: { apps: { folders: [home], watch: false } },
  });
  const state = async () => (await core.service(apps).status('com.example.packed')).state;
  await eventually(async () => (await state()) === 'running', 'the app runs');
  const greet = () =>
    core.service(functions).call({
      name: 'packed.greet',
      inputs: { name: 'Ada' },
      caller: { kind: 'operator', id: 'operator' },
    } as never);
  await eventually(async () => greet().catch(() => false), 'the app has registered its function');
  assert.deepEqual(await greet(), { text: 'Hello, Ada' });
});
