/** Costs processes: devicectl is started as its users start it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { type Core, startCore } from '../../fixtures/core.ts';
import { devicectl } from './run-devicectl.ts';

const run = promisify(execFile);
const LINES = {
  operations: '^1.0.0',
  identity: '^1.0.0',
  system: '^1.0.0',
  http: '^1.0.0',
  config: '^1.0.0',
  events: '^1.0.0',
  cli: '^1.0.0',
};

/** A plugin from outside, in a process of its own: an operation, and a program beside it. */
const GUEST = {
  'plugin.yaml': [
    ...['id: guest', 'version: 1.0.0', 'summary: for a test', 'api: ^1.0.0', 'main: ./index.mjs'],
    'requires: { operations: ^1.0.0 }',
    'programs: [{ command: guest twice, summary: asks twice, main: ./twice.mjs }]',
  ].join('\n'),
  'index.mjs': `import { definePlugin } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
    export const plugin = definePlugin({
      requires: { operations },
      async setup(host, services) {
        host.scope.use('echo', services.operations.add({
          name: 'guests.echoBack',
          summary: 'says it again',
          params: { type: 'object', required: ['text'], properties: { text: { type: 'string' }, loudTimes: { type: 'integer' } } },
          result: { type: 'object', properties: { text: { type: 'string' } } },
          rest: { method: 'GET', path: '/guests/echo' },
          cli: { done: 'it said {text}' },
          errors: [],
          run: async ({ text, loudTimes = 0 }) => ({ text: text + '!'.repeat(loudTimes) }),
        }));
      },
    });`,
  'twice.mjs': `import { defineProgram } from '@device-core/plugin-api/program';
    export const program = defineProgram({
      async run({ client, out }) {
        for (const text of ['a', 'b']) await out.line((await client.get('/guests/echo', { query: { text } })).text);
      },
    });`,
};

describe('devicectl against a real Core', () => {
  let core: Core;
  let launcher: string;
  let guest: string;
  before(async () => {
    guest = await mkdtemp(join(tmpdir(), 'dc-guest-'));
    for (const [name, text] of Object.entries(GUEST)) await writeFile(join(guest, name), text, { mode: 0o644 });
    const plugins = { ...LINES, guest: { version: '^1.0.0', path: guest } };
    core = await startCore({ plugins, config: { http: { port: 0 } } });
    launcher = join(core.paths.run, 'devicectl');
  });
  after(async () => {
    await core[Symbol.asyncDispose]();
    await rm(guest, { recursive: true });
  });
  const at = (...args: string[]) => devicectl([...args, '--root', core.root]);

  test('status says that all is well', async () => {
    const ended = await at('status');
    assert.match(ended.stdout, /^health {3}ok$/m);
    assert.match(ended.stdout, /^plugins {2}8 of 8 active$/m);
    assert.equal(ended.code, 0);
  });

  test('an operation of a plugin from outside is a command, with its view, its flags and its completion', async () => {
    assert.equal((await at('guest', 'echo-back', 'hi', '--loud-times', '2')).stdout, 'it said hi!!\n');
    assert.match((await at('guest', 'echo-back')).stderr, /USAGE: <text> is missing/);
    assert.match((await at('--help')).stdout, /^ {2}guest +echo-back, twice$/m);
    assert.equal((await at('guest', 'twice')).stdout, '{"ok":true,"text":"a"}\n{"ok":true,"text":"b"}\n');
    const { stdout } = await devicectl(['--root', core.root, '__complete', '--', 'guests', 'echo-back', '--l']);
    assert.equal(stdout, '--loud-times\n');
  });

  test('the launcher is aimed at its Core', async () => {
    const { stdout } = await run(launcher, ['plugins', '--json']);
    const ids = JSON.parse(stdout).plugins.map((plugin: { id: string }) => plugin.id);
    assert.deepEqual(ids.sort(), [...Object.keys(LINES), 'guest'].sort());
  });

  test('a setting is set, read, listed and removed', async () => {
    assert.equal((await at('config', 'set', 'device.volume', '7')).stdout, 'device.volume = 7 (device, revision 1)\n');
    assert.equal((await at('config', 'get', 'device.volume')).stdout, '7\n');
    assert.match((await at('config', 'list', 'device')).stdout, /^device\.volume {2}7 {6}device {9}1 {2}operator$/m);
    const conflict = await at('config', 'set', 'device.volume', '8', '--if-revision', '99');
    assert.match(conflict.stderr, /^devicectl: CONFIG_CONFLICT: /);
    assert.equal(conflict.code, 1);
    assert.equal((await at('config', 'unset', 'device.volume')).code, 0);
    assert.match(
      (await at('config', 'get', 'device.volume')).stderr,
      /^devicectl: CONFIG_KEY_NOT_FOUND: .*\n {2}see: devicectl config list\n$/,
    );
  });

  test('plugins are disabled, enabled and restarted; a front end restarts after its answer', async () => {
    assert.match((await at('plugins', 'disable', 'config')).stdout, /^config is stopped/);
    // What does not run has no commands.
    assert.match(
      (await at('config')).stderr,
      /^devicectl: USAGE: there is no command config\n {2}plugin config brings its commands while it runs; .*plugin list/,
    );
    assert.match(
      (await at('trace', 'last')).stderr,
      /there is no command trace\n {2}plugin traces brings its commands/,
    );
    assert.match((await at('plugins', 'enable', 'config')).stdout, /^config is active$/m);
    assert.match((await at('plugins', 'restart', 'config')).stdout, /^config is active$/m);
    assert.match((await at('plugins', 'disable', 'http')).stderr, /^devicectl: CALLER_DENIED: /);
    assert.match(
      (await at('plugins', 'restart', 'nope')).stderr,
      /^devicectl: PLUGIN_NOT_FOUND: there is no plugin nope/,
    );
  });

  test('over TCP the operator token is used, and without it there is no identity', async () => {
    const url = (await core.service(httpServer).addresses()).find((address) => address.startsWith('http'))!;
    assert.equal((await at('plugins', '--url', url)).code, 0);
    const { stdout: token } = await at('token');
    assert.match(token, /^[A-Za-z0-9_-]{43}\n$/);
    const refused = await at('plugins', '--url', url, '--token-file', '/dev/null');
    assert.match(refused.stderr, /^devicectl: UNAUTHENTICATED: .*\n {2}run as the Core's user/);
    assert.equal(refused.code, 1);
  });

  test('events come live, retained ones at once, and a wrong filter is refused', async () => {
    const { stdout } = await at('events', 'plugin.state', '--count', '1', '--json');
    assert.equal(JSON.parse(stdout).topic, 'plugin.state');
    const refused = await at('events', 'a..b');
    assert.match(refused.stderr, /^devicectl: FILTER_INVALID: /);
    assert.equal(refused.code, 1);
  });

  test('the documents and the last refusals are there', async () => {
    assert.equal(JSON.parse((await at('openapi')).stdout).openapi, '3.1.0');
    assert.match(JSON.parse((await at('openapi', '--rpc')).stdout).openrpc, /^1\./);
    assert.equal((await at('why')).stdout, 'nothing has been refused since the Core started\n');
  });

  test('names of the device complete', async () => {
    const { stdout } = await run(launcher, ['__complete', '--', 'plugins', 'restart', 'co']);
    assert.equal(stdout, 'config\n');
  });
});
