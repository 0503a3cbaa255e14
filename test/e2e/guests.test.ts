/** A guest is never the operator, nor another guest: every way in that an app or plugin has beside its own socket. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import { BEST_WALLS } from '../../kernel/walls/launcher.ts';
import { CONNECTED_AND_ANSWERS } from '../fixtures/answering.ts';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';

/** Tries every door and keeps what each said: a status of HTTP, the first message of a session, or an error's code. */
const BURGLAR = `
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
const attempt = (make) => new Promise((resolve) => make(resolve)).catch((thrown) => thrown.code ?? String(thrown));
const post = (where, token) => attempt((resolve) => {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: 'Bearer ' + token }) };
  const call = request({ ...where, method: 'POST', path: '/plugins/limits/restart', headers, agent: false }, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  });
  call.on('error', (error) => resolve(error.code));
  call.end('{}');
});
const session = (path) => attempt((resolve) => {
  let text = '';
  const socket = connect(path).setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
    if (!text.includes('\\n')) return;
    const { method } = JSON.parse(text.split('\\n')[0]);
    resolve(method);
    socket.destroy();
  });
  socket.on('error', (error) => resolve(error.code));
  socket.on('close', () => resolve('closed'));
});
const read = (file) => {
  try { return readFileSync(file, 'utf8').trim(); } catch { return undefined; }
};
export async function burgle(run, port) {
  const operator = read(run + '/operator.token') ?? 'A'.repeat(43);
  const victim = read(run + '/apps/victim/credentials/token') ?? 'A'.repeat(43);
  const shared = { socketPath: run + '/core.sock' };
  const tcp = { host: '127.0.0.1', port };
  return {
    'shared socket': await post(shared),
    'shared socket, token of the operator': await post(shared, operator),
    'shared socket, token of another app': await post(shared, victim),
    'TCP, token of the operator': await post(tcp, operator),
    'socket of another app': await session(run + '/apps/victim/rpc.sock'),
  };
}
`;

const APP = `
import { spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { burgle } from './burglar.mjs';
const [, , run, port, escaped] = process.argv;
if (escaped === undefined) {
  connect(process.env.DEVICE_RPC_SOCKET).on('error', () => {}).resume();
  // Its parent exits, and it leads a session of its own: neither tells whose it is.
  spawn('sh', ['-c', 'setsid "$0" "$@" escaped </dev/null >/dev/null 2>&1 &', process.execPath, ...process.argv.slice(1)]);
} else {
  const orphan = () => !/^sh$/m.test(readFileSync('/proc/' + process.ppid + '/comm', 'utf8'));
  while (!orphan()) await new Promise((resolve) => setTimeout(resolve, 5));
}
const file = process.env.HOME + '/' + (escaped ?? 'direct') + '.json';
writeFileSync(file + '.new', JSON.stringify(await burgle(run, Number(port))));
renameSync(file + '.new', file);
`;

const VICTIM = CONNECTED_AND_ANSWERS;

const PLUGIN = `
import { burgle } from './burglar.mjs';
export const plugin = {
  requires: { operations: { kind: 'service', id: 'operations', version: '1.0.0' } },
  async setup(host, { operations }) {
    const caller = { kind: 'operator', id: 'operator' };
    const call = { caller, signal: AbortSignal.timeout(20_000), deadline: Date.now() + 20_000 };
    const forged = operations.invoke('plugins.restart', { id: 'limits' }, call).then(() => 200, ({ code }) => code);
    burgle(host.config.run, host.config.port).then(async (found) => {
      host.log.info({ found: { ...found, 'a caller that it names itself': await forged } }, 'burgled');
    });
  },
};
`;

type Found = Readonly<Record<string, string | number>>;

const root = new TemporaryRoot();
const run = join(root.path, 'run');
let core: CoreProcess;

function put(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function app(name: string, main: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): string {
  const manifest = { manifestVersion: 1, id: `com.example.${name}`, name, version: '1.0.0', title: name };
  const exec = { command: 'node', args: [...args] };
  const capabilities = [{ id: 'storage-scoped', reason: 'keeps what it found' }];
  const text = stringify({ ...manifest, exec, capabilities });
  return put(join(root.path, name), { 'app.yaml': text, 'main.mjs': main, 'main.cjs': main, ...more });
}

function plugin(id: string, isolation: string): void {
  const config = { type: 'object', additionalProperties: false, properties: { run: {}, port: {} } };
  const head = { id, version: '1.0.0', summary: 'breaks in', api: '^1.0.0', main: './index.mjs', isolation };
  const manifest = { ...head, requires: { operations: '^1.0.0' }, config };
  put(join(root.path, id), { 'plugin.yaml': stringify(manifest), 'index.mjs': PLUGIN, 'burglar.mjs': BURGLAR });
}

before(async () => {
  plugin('guest-process', 'process');
  plugin('guest-worker', 'worker');
  const port = 20_000 + (process.pid % 20_000);
  const guest = (id: string, isolation: string) => ({
    version: '^1.0.0',
    path: id,
    isolation,
    config: { run, port },
  });
  const plugins: Record<string, unknown> = { http: { version: '^1.0.0', config: { port, tcpRequired: true } } };
  for (const id of ['operations', 'identity', 'system', 'limits', 'rpc', 'supervisor-process']) plugins[id] = '^1.0.0';
  plugins.apps = { version: '^1.0.0', config: { insecure: true } };
  for (const level of ['process', 'worker']) plugins[`guest-${level}`] = guest(`guest-${level}`, level);
  const sku = { skuVersion: 1, id: 'test', title: 'Test', simulated: true, plugins };
  writeFileSync(join(root.path, 'sku.yaml'), stringify(sku));
  const folders = [
    app('victim', VICTIM, ['main.cjs']),
    app('burglar', APP, ['main.mjs', run, String(port)], { 'burglar.mjs': BURGLAR }),
  ];
  const args = ['--sku', join(root.path, 'sku.yaml'), ...folders.flatMap((folder) => ['--app', folder])];
  // Without walls, which would keep the guests from most doors before the Core does: app-walls.test.ts tests those.
  core = await CoreProcess.startIn({ [BEST_WALLS]: 'none' }, root.path, ...args);
});

after(async () => {
  await core?.stop();
  root[Symbol.dispose]();
});

/** Neither taken for somebody, nor able to do what only the operator may. */
function refused(found: Found): void {
  assert.ok(Object.keys(found).length >= 5);
  for (const [door, answer] of Object.entries(found)) {
    const shut = typeof answer === 'number' ? answer === 401 || answer === 403 : answer !== 'READY';
    assert.ok(shut, `${door}: ${answer}`);
  }
}

function written(name: string): Promise<Found> {
  const data = join(root.path, 'var');
  const find = () => readdirSync(data, { recursive: true, encoding: 'utf8' }).find((file) => file.endsWith(name));
  return eventually(() => {
    const file = find();
    return file !== undefined && (JSON.parse(readFileSync(join(data, file), 'utf8')) as Found);
  }, name);
}

function logged(id: string): Promise<Found> {
  return eventually(() => {
    const lines = readFileSync(join(root.path, 'var/log/core.log'), 'utf8').split('\n');
    const line = lines.find((text) => text.includes('burgled') && text.includes(`"${id}"`));
    return line !== undefined && (JSON.parse(line).found as Found);
  }, `the report of ${id}`);
}

test('an app is itself on the shared socket, and a stranger everywhere else', async () => {
  refused(await written('direct.json'));
});

test('a process that left its app, its session and its parent has no identity', async () => {
  refused(await written('escaped.json'));
});

test('a plugin in its own process has no identity', async () => {
  refused(await logged('guest-process'));
});

test('a plugin in a worker, in the process of the Core, has no identity', async () => {
  refused(await logged('guest-worker'));
});

test('a process that the Core did not start is the operator, and gets into the socket of an app', async () => {
  assert.equal((await core.post('/plugins/limits/restart')).status, 200);
  const first = await new Promise<string>((resolve, reject) => {
    const socket = connect(join(run, 'apps/victim/rpc.sock')).setEncoding('utf8');
    socket.once('data', (text) => {
      resolve(String(text));
      socket.destroy();
    });
    socket.once('error', reject);
  });
  assert.match(first, /"READY"/);
});

test('an orphan that ends is buried by the Core, and no exit of a child is taken from it', async () => {
  const children = () =>
    readdirSync(`/proc/${core.process.pid}/task`)
      .flatMap((task) => readFileSync(`/proc/${core.process.pid}/task/${task}/children`, 'utf8').split(' '))
      .filter((pid) => pid !== '' && existsSync(`/proc/${pid}`));
  const dead = () => children().filter((pid) => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
  await written('escaped.json');
  await eventually(() => dead().length === 0, 'the burial', { ms: 60_000, every: 100 });
});
