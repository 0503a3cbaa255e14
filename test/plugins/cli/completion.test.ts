/** Costs processes: the shells that complete are real. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { FakeCore, runningPlugins } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';
import { listOf, smallTable, TEXT } from './small-table.ts';

const NAMED = { params: { id: TEXT }, required: ['id'] };
const TABLE = smallTable({
  'apps.list': { rest: 'GET /apps', result: { apps: listOf('id') } },
  'apps.stop': { rest: 'POST /apps/:id/stop', ...NAMED },
  'config.get': { rest: 'GET /config/:key', params: { key: TEXT, app: TEXT }, required: ['key'] },
  'config.list': { rest: 'GET /config', params: { prefix: TEXT }, result: { entries: listOf('key') } },
  'plugins.release': { rest: 'POST /plugins/:id/release', ...NAMED },
  'plugins.restart': { rest: 'POST /plugins/:id/restart', ...NAMED },
  'plugins.list': { rest: 'GET /plugins', result: { plugins: listOf('id') } },
  'plugins.usage': { rest: 'GET /plugins/usage', result: { plugins: listOf('plugin') } },
  // A bus tells its handles without saying what they look like.
  'spi.handles': { rest: 'GET /spi/handles', result: { handles: { type: 'array', items: { type: 'object' } } } },
  'spi.transfer': {
    rest: 'POST /spi',
    params: { handle: TEXT, tx: { ...TEXT, contentEncoding: 'base64' }, mode: { enum: ['fast', 'slow'] } },
    required: ['handle'],
  },
  'gate.factories': { rest: 'GET /factories', result: { factories: listOf('name') } },
  'gate.open': {
    rest: 'POST /gate',
    params: { factory: TEXT, wide: { type: 'boolean' }, for: { type: 'boolean' } },
    required: ['factory', 'for'],
  },
});

let core: FakeCore;
before(async () => {
  core = await FakeCore.start({
    'GET /openrpc.json': TABLE,
    'GET /plugins': { ok: true, plugins: [{ id: 'http' }, { id: 'spi' }, ...(await runningPlugins())] },
    'GET /apps': { ok: true, apps: [{ id: 'com.example.agenda', name: 'agenda' }] },
    'GET /functions': { ok: true, functions: [{ name: 'agenda.next' }, { name: 'agenda.add' }] },
    'GET /functions/agenda.next': { ok: true, name: 'agenda.next', inputs: { day: 'string', limit: 'int?' } },
    'GET /spi/handles': { ok: true, handles: [{ name: 'flash' }] },
    'GET /config': { ok: true, entries: [{ key: 'device.name' }] },
    'GET /factories': { ok: true, factories: [{ name: 'north' }] },
  });
});
after(() => core[Symbol.asyncDispose]());

const run = (...words: string[]) => devicectl(['--run', core.root, '__complete', '--', ...words]);

describe('completion candidates', () => {
  const cases: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
    [['pl'], ['plugin']],
    [
      ['plugins', 're'],
      ['release', 'restart'],
    ],
    [['plugins', 'restart', 'ht'], ['http']],
    [
      ['plugin', 'in'],
      ['install', 'installed'],
    ],
    [['gate', 'open', ''], ['north']],
    [['gate', 'open', 'north', '--w'], ['--wide']],
    [
      ['spi', 'transfer', 'flash', '--mode', ''],
      ['fast', 'slow'],
    ],
    [['config', 'get', 'x', '--app', ''], ['com.example.agenda']],
    [['log', '--plugin', 'sp'], ['spi']],
    [['log', '--level', 'w'], ['warn']],
    [['help', 'sp'], ['spi']],
    [['--socket', ''], []],
    [['apps', 'stop', 'com.'], ['com.example.agenda']],
    [['spi', 'transfer', ''], ['flash']],
    [['config', 'get', 'd'], ['device.name']],
    [
      ['call', 'agenda.'],
      ['agenda.add', 'agenda.next'],
    ],
    [
      ['call', 'agenda.next', ''],
      ['day=', 'limit='],
    ],
    [['call', 'agenda.next', 'day=1', ''], ['limit=']],
    [['call', '--app', ''], ['com.example.agenda']],
    [
      ['spi', 'transfer', 'flash', '--t'],
      ['--token-file', '--tx'],
    ],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    [['plugins', 'restart', 'http', ''], []],
    [['nonsense', ''], []],
  ];
  for (const [words, expected] of cases)
    test(`after "${words.join(' ')}"`, async () => {
      const found = (await run(...words)).stdout.split('\n').filter((line) => line !== '');
      assert.deepEqual(found, expected);
    });

  test('the Core that the words name is asked', async () => {
    const { stdout } = await devicectl(['__complete', '--', '--run', core.root, 'spi', 'transfer', '']);
    assert.equal(stdout, 'flash\n');
  });

  test('without a Core there are commands but no names, and no error', async () => {
    const names = await devicectl(['--run', '/nonexistent', '__complete', '--', 'plugins', 'restart', '']);
    assert.deepEqual(names, { code: 0, stdout: '', stderr: '' });
  });
});

test('the bash script completes through __complete', async () => {
  const { stdout: script } = await devicectl(['completion', 'bash']);
  const shim = `devicectl() { ${process.execPath} plugins/interface/cli/program/devicectl.ts --run ${core.root} "$@"; }`;
  const probe = 'COMP_WORDS=(devicectl plugins restart sp); COMP_CWORD=3; _devicectl; IFS=,; echo "$COMPREPLY"';
  const { stdout } = await promisify(execFile)('bash', ['-c', `${shim}\n${script}\n${probe}`]);
  assert.equal(stdout, 'spi\n');
});

test('every shell has a script, and another one is refused', async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    assert.match((await devicectl(['completion', shell])).stdout, /__complete/);
  assert.equal((await devicectl(['completion', 'cmd'])).code, 2);
});
