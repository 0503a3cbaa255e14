import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operations } from '@device-core/plugin-api/services/operations';
import { packPluginApi } from '../../plugin-api/build/pack.ts';
import { API_FOLDER, publicDoors, readPackageJson } from '../../plugin-api/build/package-json.ts';
import { startCore } from '../fixtures/core.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'dp-'));
after(() => rmSync(folder, { recursive: true }));

const PLUGIN = `
import { CoreError, definePlugin } from '@device-core/plugin-api';
import { type Operation } from '@device-core/plugin-api/services/operations';
import { operations } from '@device-core/plugin-api/services/operations';
import { greeting } from './greeting.ts';

const hello: Operation<{ name: string }, { text: string }> = {
  name: 'example.hello',
  summary: 'says hello',
  params: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
  result: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  rest: { method: 'GET', path: '/example/hello' },
  errors: ['UNAVAILABLE'],
  async run({ name }) {
    if (name === 'nobody') throw new CoreError('UNAVAILABLE', { what: name, reason: 'there is nobody' });
    return { text: greeting(name) };
  },
};

export const plugin = definePlugin({
  requires: { operations },
  setup: (host, { operations }) => {
    host.scope.use('example.hello', operations.add(hello));
  },
});
`;

const TEST = `
import assert from 'node:assert/strict';
import { operations } from '@device-core/plugin-api/services/operations';
import { checkManifest, createTestHost, given } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';

const added: string[] = [];
const fake = given(operations, { add: (one) => { added.push(one.name); return { [Symbol.dispose]: () => undefined }; } });
const manifest = new URL('plugin.yaml', import.meta.url).pathname;
assert.deepEqual(checkManifest(manifest, plugin), []);
await using host = await createTestHost(plugin, { manifest, services: [fake] });
assert.deepEqual(added, ['example.hello']);
await host.stop();
assert.deepEqual(host.leaks(), []);
console.log('tested');
`;

const REFUSED = 'ERR_PACKAGE_PATH_NOT_EXPORTED';
/** Files of the package and doors of the checkout that no author may come to rely on. */
const CLOSED = [
  ...readPackageJson(API_FOLDER).inside,
  './kernel/scope.js',
  './kernel/testing/host.js',
  './plugin-api/contract/errors.js',
  './services/none',
  './build/pack',
];

/** A program that says of each door whether Node opens it. */
function tries(doors: readonly string[]): string {
  return `
const outcomes: Record<string, string> = {};
for (const door of ${JSON.stringify(doors)}) {
  outcomes[door] = await import('@device-core/plugin-api' + door.slice(1)).then(() => 'open', ({ code }) => code);
}
console.log(JSON.stringify(outcomes));
`;
}

test('a plugin written outside the tree against the packed file type-checks, tests itself, loads and runs', async () => {
  const tarball = packPluginApi(folder);
  const modules = join(folder, 'node_modules');
  const api = join(modules, '@device-core/plugin-api');
  mkdirSync(api, { recursive: true });
  execFileSync('tar', ['xzf', tarball, '-C', api, '--strip-components=1']);
  const packed = JSON.parse(readFileSync(join(api, 'package.json'), 'utf8'));
  // Modules that the test kit runs; no door leads to them.
  const kit = [
    'consent',
    'contracts',
    'held-memory',
    'lazy-package',
    'manifest-check',
    'operations',
    'own-names',
    'own-range',
    'redact',
    'sandbox',
    'schema-reader',
    'schema-words',
    'serial',
    'services',
    'sku-family',
    'time-limit',
    'user-range',
    'versions',
    'yaml',
    'yaml-plain',
  ];
  const inside = readdirSync(join(api, 'plugin-api/inside')).map((name) => name.replace(/\.(js|d\.ts)$/, ''));
  assert.deepEqual([...new Set(inside)].sort(), kit);
  assert.equal(packed.devDependencies, undefined);
  const doors = [...publicDoors(readPackageJson(API_FOLDER)).keys(), './plugin.schema.json'];
  assert.deepEqual(Object.keys(packed.exports), doors);
  mkdirSync(join(modules, '@types'));
  for (const name of [
    ...Object.keys(packed.dependencies),
    '@types/node',
    'undici-types',
    'fast-deep-equal',
    'fast-uri',
  ]) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }

  const home = join(folder, 'example');
  mkdirSync(home);
  writeFileSync(join(home, 'index.ts'), PLUGIN);
  writeFileSync(
    join(home, 'greeting.ts'),
    "export const greeting = (name: string): string => ['hello', name].join(' ');\n",
  );
  writeFileSync(join(home, 'try.ts'), TEST);
  writeFileSync(
    join(home, 'doors.ts'),
    tries([...doors.filter((door) => !/plugin-check|schema/.test(door)), ...CLOSED]),
  );
  const manifest =
    'id: example\nversion: 1.0.0\nsummary: says hello\napi: ^1.0.0\nmain: index.ts\nrequires: { operations: ^1.0.0 }\n';
  writeFileSync(join(home, 'plugin.yaml'), manifest);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  const config = { compilerOptions: { ...compilerOptions, skipLibCheck: false }, include: ['example'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));

  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder], { stdio: 'inherit' });
  assert.equal(execFileSync(process.execPath, [join(home, 'try.ts')], { encoding: 'utf8' }), 'tested\n');

  const outcomes = JSON.parse(execFileSync(process.execPath, [join(home, 'doors.ts')], { encoding: 'utf8' }));
  const opened = doors.filter((door) => !/plugin-check|schema/.test(door)).map((door) => [door, 'open']);
  assert.deepEqual(outcomes, Object.fromEntries([...opened, ...CLOSED.map((door) => [door, REFUSED])]));

  const line = { version: '^1.0.0', path: home, isolation: 'inline' } as const;
  await using core = await startCore({ plugins: { operations: '^1.0.0', example: line } });
  const { plugins } = await core.kernel.status();
  assert.deepEqual(
    plugins.map(({ id, state, reason }) => [id, state, reason]),
    [
      ['example', 'active', undefined],
      ['operations', 'active', undefined],
    ],
  );
  const call = {
    caller: { kind: 'operator', id: 'operator' },
    signal: new AbortController().signal,
    deadline: Date.now() + 5_000,
  } as const;
  const table = core.service(operations);
  assert.deepEqual(await table.invoke('example.hello', { name: 'world' }, call), { text: 'hello world' });
  // The error is of the Core's own class: the gate knows its code.
  await assert.rejects(table.invoke('example.hello', { name: 'nobody' }, call), { code: 'UNAVAILABLE' });
});
