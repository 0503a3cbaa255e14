import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { FakeCore } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';

let core: FakeCore;
before(async () => {
  core = await FakeCore.start({
    'GET /plugins': { ok: true, plugins: [{ id: 'http' }, { id: 'spi' }] },
    'GET /apps': { ok: true, apps: [{ id: 'com.example.agenda' }] },
    'GET /functions': { ok: true, functions: [{ name: 'agenda.next' }, { name: 'agenda.add' }] },
    'GET /functions/agenda.next': { ok: true, name: 'agenda.next', inputs: { day: 'string', limit: 'int?' } },
    'GET /spi/handles': { ok: true, handles: [{ name: 'flash' }] },
    'GET /config': { ok: true, entries: [{ key: 'device.name' }] },
  });
});
after(() => core[Symbol.asyncDispose]());

const run = (...words: string[]) => devicectl(['--run', core.root, '__complete', '--', ...words]);

describe('completion candidates', () => {
  const cases: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
    [['pl'], ['plugin']],
    [
      ['plugins', 're'],
      ['release', 'remove', 'restart'],
    ],
    [
      ['plugins', 'restart', ''],
      ['http', 'spi'],
    ],
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
  const probe = 'COMP_WORDS=(devicectl plugins restart s); COMP_CWORD=3; _devicectl; IFS=,; echo "$COMPREPLY"';
  const { stdout } = await promisify(execFile)('bash', ['-c', `${shim}\n${script}\n${probe}`]);
  assert.equal(stdout, 'spi\n');
});

test('every shell has a script, and another one is refused', async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    assert.match((await devicectl(['completion', shell])).stdout, /__complete/);
  assert.equal((await devicectl(['completion', 'cmd'])).code, 2);
});
