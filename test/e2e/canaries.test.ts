/**
 * No secret gets out: one in every scope of the vault and wherever else such a text can enter, then everything is asked and every error provoked, then
 * all that the Core wrote or answered is searched. A leak that is planted on purpose has to be found.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { filesBelow, formsOf, hunt } from '../fixtures/canary-hunt.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { SpawnedCore } from '../fixtures/spawned-core.ts';
import { unpacked } from '../fixtures/unpacked-bundle.ts';
import { RawClient } from '../plugins/rpc/fixture.ts';

const canary = (place: string) => `CNRY?${place}/"${randomBytes(9).toString('base64')}"+ß`;
const APP = 'com.example.canary';

/** Those that a vault keeps, by scope and name. */
const KEPT = {
  'shared/cloud.token': canary('shared'),
  'core/backup.passphrase': canary('core'),
  'plugin.stt-cloud/key': canary('plugin'),
  [`app.${APP}/token`]: canary('app'),
};
/** Those that only pass through, and are named as what they are. */
const PASSING = {
  'the passphrase of a network': `Cnry/${randomBytes(12).toString('base64url')}`,
  'a token that is none': `CNRY-${randomBytes(15).toString('base64url')}`,
  'the password in an address': `CNRY-${randomBytes(15).toString('base64url')}`,
  'a secret that is too long': canary('long'),
  'a secret that is replaced': canary('replaced'),
};
const ALL = { ...KEPT, ...PASSING };
/** Settings that are named like secrets, and that no vault knows, in each layer of the device, of an app and of a plugin. */
const OVERRIDDEN = 'plugins.teller.authKey';
const SETTINGS: readonly (readonly [key: string, value: (secret: string) => unknown, app?: string])[] = [
  ['mqtt.password', String],
  ['cloud', (secret) => ({ user: 'bob', token: secret, more: [{ api_key: secret }] })],
  ['wifi.psks', (secret) => [secret]],
  ['weather.api_key', String],
  ['device.token', String],
  ['device.token', String, APP],
  ['apiSecret', String, APP],
  [OVERRIDDEN, String],
];
const random = () => `CNRY-${randomBytes(15).toString('base64url')}`;
const SET = SETTINGS.map(random);
const OF_SKU = random();

/** Lines as libraries of apps print them; each has its own canary. */
const PRINTED: readonly ((secret: string) => string)[] = [
  (secret) => `password: '${secret}'`,
  (secret) => `{'user': 'bob', 'api_key': '${secret}', 'n': 1}`,
  (secret) => `{b'authorization': b'${secret}'}`,
  (secret) => `[('Cookie', 'sid=PASSWD=${secret}')]`,
  (secret) => `headers: [["Cookie", "sid=PASSWD=${secret}"]]`,
  (secret) => `GET /cb?next=token=${secret}&b=1`,
  (secret) => `export TOKEN='${secret}'`,
  (secret) => `+ curl -H 'X-Api-Key: ${secret}' https://host.example/`,
  (secret) => `run --password ${secret} -t x`,
  (secret) => `Config(password='${secret}', user='bob')`,
  (secret) => `level=info token="two ${secret}" n=1`,
  (secret) => JSON.stringify({ level: 'warn', msg: 'said', auth: { user: 'bob', deep: [secret] } }),
  (secret) => JSON.stringify({ level: 'warn', msg: 'said', headers: [['Cookie', `sid=PASSWD=${secret}`]] }),
  (secret) => JSON.stringify({ body: JSON.stringify({ password: secret }) }),
  (secret) => `Authorization: Digest username="bob", response="${secret}"`,
];
const LINES = PRINTED.map(random);
const FIELD = random();
/** What is hidden by its place alone. */
const numbered = (name: string, secrets: readonly string[]) =>
  Object.fromEntries(secrets.map((one, index) => [`${name} ${index}`, one]));
const NAMED = { ...numbered('setting', SET), ...numbered('line', LINES), FIELD, OF_SKU };

/** Stands in the SKU, where everybody may read it, and is made a secret later: what a bundle hides by its value alone. */
const TITLE = canary('title');

interface Row {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** These end the Core, or what the test needs of it. */
const ENDS = /restart|reboot|shutdown|off$|stop|rollback|reset|forget|rotate|restore/i;

let folder: string;
let core: SpawnedCore;
let operations: readonly Row[];
const answers: [string, Buffer][] = [];

async function ask(path: string, options: Parameters<SpawnedCore['ask']>[1] = {}) {
  const answer = await core.ask(path, { unix: true, ...options });
  answers.push([
    `the answer to ${options.method ?? 'GET'} ${path.slice(0, 60)}`,
    Buffer.from(`${JSON.stringify(answer.headers)}${answer.text}`),
  ]);
  return answer;
}

const put = (key: string, secretText: unknown) => {
  const [scope, name] = key.split('/') as [string, string];
  return ask(`/secrets/${scope}/${name}`, { method: 'PUT', body: { secretText } });
};

/** Asks for its secret, and prints it in every way that an app may. */
const APP_THAT_TELLS = `
const LINES = ${JSON.stringify(LINES.map((secret, index) => PRINTED[index]!(secret)))};
const FIELD = ${JSON.stringify(FIELD)};
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
const { DEVICE_HTTP_SOCKET: socketPath, DEVICE_RPC_SOCKET, CREDENTIALS_DIRECTORY } = process.env;
const token = readFileSync(CREDENTIALS_DIRECTORY + '/token', 'utf8');
const rpc = connect(DEVICE_RPC_SOCKET);
const get = () => rpc.write('{"jsonrpc":"2.0","id":1,"method":"secrets.get","params":{"name":"token"}}\\n');
createInterface(rpc).on('line', (line) => {
  const { id, result } = JSON.parse(line);
  if (id !== 1) return;
  if (result) tell(result.secretText);
  else setTimeout(get, 100);
});
get();
function tell(secret) {
  for (const out of [process.stdout, process.stderr]) {
    out.write('it is ' + secret + ' and ' + encodeURIComponent(secret) + '\\n');
    out.write(JSON.stringify({ level: 'error', msg: 'with ' + secret, a: [secret, JSON.stringify({ secret })] }) + '\\n');
    for (const before of ['', 'x', 'xy']) out.write(Buffer.from(before + secret + 'z').toString('base64') + '\\n');
    out.write(Buffer.from(secret).toString('hex') + '\\n' + token + '\\nit is told\\n');
  }
  for (const out of [process.stdout, process.stderr]) for (const line of LINES) out.write(line + '\\n');
  const fields = { deep: [secret], headers: [['Cookie', 'sid=PASSWD=' + FIELD]], argv: ['run', '--password', FIELD] };
  const body = JSON.stringify({ level: 'warn', message: 'log ' + secret, fields });
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
  request({ socketPath, path: '/log', method: 'POST', headers }).on('error', () => 0).end(body);
}
`;

/** Logs what stands in a file, as soon as it is there. */
const PLUGIN_THAT_TELLS = `
import { existsSync, readFileSync, rmSync } from 'node:fs';
export const plugin = { setup({ scope, log, config }) {
  scope.interval('look', 50, () => {
    if (!existsSync(config.file)) return;
    log.warn({ text: readFileSync(config.file, 'utf8') }, 'it is told');
    rmSync(config.file);
  });
} };
`;

/** Its line in a SKU. */
const TELLER = (sku: string) => ({
  version: '^1.0.0',
  path: join(folder, 'teller'),
  isolation: 'inline',
  config: { file: join(folder, `tell-${sku}`), authKey: OF_SKU },
});

/** Has the plugin log a text, and waits for the line. */
async function told(one: SpawnedCore, sku: string, text: string): Promise<void> {
  const file = join(dirname(one.run), 'var/log/core.log');
  const lines = () => readFileSync(file, 'utf8').split('"msg":"it is told"').length;
  const before = lines();
  writeFileSync(join(folder, 'tell.new'), text);
  renameSync(join(folder, 'tell.new'), join(folder, `tell-${sku}`));
  await until(() => lines() > before, 'a line of the plugin that tells');
}

/** The whole support bundle, as its user makes it: each file, its name and what the command said. */
async function bundleOf(one: SpawnedCore): Promise<ReadonlyMap<string, string>> {
  const file = join(folder, `${basename(dirname(one.run))}.tar.zst`);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...['plugins/interface/cli/program/devicectl.ts', '--root', dirname(one.run), 'support-bundle', file],
  ]);
  return new Map([...unpacked(file), ['what devicectl said', stdout + stderr]]);
}

const asPlaces = (bundle: ReadonlyMap<string, string>) =>
  [...bundle].flatMap(([name, text]): [string, Buffer][] => [
    [`${name} in the bundle`, Buffer.from(text)],
    ['names in the bundle', Buffer.from(name)],
  ]);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cn-'));
  const app = join(folder, 'canary');
  mkdirSync(app);
  const manifest = [
    ...['manifestVersion: 1', `id: ${APP}`, 'name: canary', 'version: 1.0.0', 'title: Tells what it should not'],
    ...['exec: { command: node, args: [main.mjs] }', 'capabilities: []', 'lifecycle: { restart: never }'],
    'config: { secrets: [token] }',
  ];
  writeFileSync(join(app, 'app.yaml'), `${manifest.join('\n')}\n`);
  writeFileSync(join(app, 'main.mjs'), APP_THAT_TELLS);
  const plugin = join(folder, 'teller');
  mkdirSync(plugin);
  writeFileSync(join(plugin, 'index.mjs'), PLUGIN_THAT_TELLS);
  const properties = { file: { type: 'string' }, authKey: { type: 'string' } };
  const teller = {
    id: 'teller',
    version: '1.0.0',
    summary: 'tells what it should not',
    api: '^1.0.0',
    main: './index.mjs',
  };
  writeFileSync(join(plugin, 'plugin.yaml'), stringify({ ...teller, config: { type: 'object', properties } }));
  const sku = parse(readFileSync('manifests/skus/simulator.yaml', 'utf8'));
  const endpoint = `http://user:${PASSING['the password in an address']}@127.0.0.1:9/v1`;
  sku.plugins['stt-cloud'] = { version: '^1.0.0', config: { endpoint } };
  sku.plugins.notify = { version: '^1.0.0', config: { title: TITLE } };
  sku.plugins.logs = { version: '^1.0.0', config: { files: { fileMB: 0.25 } } };
  sku.plugins.teller = TELLER('all');
  writeFileSync(join(folder, 'sku.yaml'), stringify(sku));
  core = await SpawnedCore.start('--app', app, '--log-level', 'debug', '--sku', join(folder, 'sku.yaml'));
  for (const [key, text] of Object.entries(KEPT)) assert.equal((await put(key, text)).status, 200, key);
  const { paths } = (await ask('/openapi.json')).body;
  operations = Object.entries(paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    ([path, rows]) =>
      Object.entries(rows)
        .filter(([, row]) => !JSON.stringify(row).includes('text/event-stream'))
        .map(([method, { operationId }]) => ({ name: operationId, method: method.toUpperCase(), path })),
  );
  assert.ok(operations.length > 100);
});
after(async () => {
  await core?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** What a former start found right, beside the compile cache: a copy of the SKU, for the Core alone. */
const KNOWN_GOOD = 'var/cache/known-good';

/** All that is there now. The token of a launch and what the SKU itself says are where they have to be. */
function* places(): Generator<readonly [string, Buffer]> {
  yield* filesBelow(
    dirname(core.run),
    (path) => path.endsWith('/credentials/token') || path === join(dirname(core.run), KNOWN_GOOD),
  );
  yield ['stdout and stderr', Buffer.from(core.output)];
}

const logs = () => [...places()].filter(([place]) => place.includes('/log/') || place.startsWith('stdout'));

/** So many lines of the app say so: one on each of its streams, in each run. */
const appHasTold = (times: number) =>
  until(async () => {
    const { body } = await core.ask(`/logs?app=${APP}&limit=100`, { unix: true });
    return (
      body.entries?.filter(({ message }: { message: string }) => message === 'it is told').length === times || undefined
    );
  }, 'what the app prints');

test('secrets of a vault, kept or passing through, are nowhere in the files and answers of the Core', {
  timeout: 60_000,
}, async () => {
  await put('shared/replaced', PASSING['a secret that is replaced']);
  await put('shared/replaced', canary('replacing'));
  assert.equal((await put('shared/long', PASSING['a secret that is too long'].repeat(1_000))).status, 400);
  await put('shared/not%20a%20name', KEPT['shared/cloud.token']);
  await put('plugin.Nobody/../x', KEPT['core/backup.passphrase']);
  await put('nobody/x', KEPT['core/backup.passphrase']);
  for (const secretText of [
    { text: KEPT['shared/cloud.token'] },
    [KEPT['shared/cloud.token']],
    { secret: 'cloud.token' },
  ])
    await put('shared/other', secretText);
  const passphrase = PASSING['the passphrase of a network'];
  for (const ssid of ['Home', 'Nowhere', ''])
    await ask('/network/join', { method: 'POST', body: { ssid, passphrase } });
  const none = PASSING['a token that is none'];
  for (const path of ['/health', '/secrets', '/logs', '/no/such'])
    for (const unix of [true, false]) {
      await ask(path, { token: none, unix });
      await ask(path, { headers: { authorization: `Basic ${Buffer.from(`me:${none}`).toString('base64')}` }, unix });
      await ask(path, { headers: { cookie: `session=${none}`, 'x-api-key': none }, unix });
    }
  await ask(`/no/such?access_token=${none}`);
  await appHasTold(2);
  const said = (await ask(`/logs?app=${APP}&limit=1000`)).text;
  assert.match(said, /\[secret\]/);
  // Whatever can be asked without parameters, and each retained event.
  const simple = operations.filter(({ method, path }) => method === 'GET' && !path.includes('{'));
  assert.ok(simple.length > 30, `${simple.length}`);
  for (const { path } of simple) await ask(path);
  const client = await RawClient.connect(core.rpc('canary'));
  answers.push(['READY', Buffer.from(JSON.stringify(await client.next()))]);
  const asked: [string, object][] = [
    ['secrets.get', { name: 'cloud.token' }],
    ['secrets.get', { name: 'cloud.token', scope: 'shared' }],
    ['secrets.get', { name: '../shared/cloud.token' }],
    ['secrets.list', {}],
    ['secrets.set', { name: 'token', secretText: 'x'.repeat(20_000) }],
    ['events.subscribe', { filter: '**' }],
    ['system.health', {}],
  ];
  for (const [index, [method, params]] of asked.entries()) {
    client.send({ jsonrpc: '2.0', id: index + 1, method, params });
    const answer = await client.find((message) => message.id === index + 1);
    answers.push([`the answer to ${method}`, Buffer.from(JSON.stringify(answer))]);
  }
  // The good path: its own socket is the one place where it stands.
  client.send({ jsonrpc: '2.0', id: 99, method: 'secrets.get', params: { name: 'token' } });
  const { result } = (await client.find((message) => message.id === 99)) as { result: { secretText: string } };
  assert.equal(result.secretText, KEPT[`app.${APP}/token`]);
  client.socket.destroy();
  await told(core, 'all', KEPT['shared/cloud.token']);
  for (const path of ['/logs?limit=1000', '/logs?level=debug&limit=1000', '/openapi.json', '/secrets', '/health'])
    await ask(path);
  // What a support bundle takes of logs.
  const { files } = (await ask('/logs/files')).body;
  assert.ok(files.length >= 2);
  for (const { name } of files)
    assert.equal((await ask(`/logs/file?name=${encodeURIComponent(name)}`)).status, 200, name);
  const found = hunt(ALL, [...places(), ...answers]);
  assert.deepEqual(found, []);
});

test('a secret in any parameter of any operation is in no log and in no line on the terminal', {
  timeout: 60_000,
}, async () => {
  const values = Object.values(KEPT);
  let asked = 0;
  for (const { name, method, path: template } of operations) {
    if (ENDS.test(name)) continue;
    const text = values[asked++ % values.length]!;
    const path = template.replace(/\{\w+\}/g, () => encodeURIComponent(text));
    const body = Object.fromEntries(
      ['name', 'id', 'app', 'text', 'value', 'ssid', 'url', 'plugin', 'handle'].map((one) => [one, text]),
    );
    await core.ask(`${path}?a=${encodeURIComponent(text)}`, {
      unix: true,
      method,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: { ...body, deep: [{ [text]: text }] } }),
      headers: { 'x-odd': encodeURIComponent(text) },
    });
  }
  assert.ok(asked > 100, `${asked}`);
  assert.ok(logs().length >= 3);
  assert.deepEqual(hunt(KEPT, logs()), []);
});

test('after a restart it is in no file, no log of either run, no answer, and nowhere in a support bundle', {
  timeout: 60_000,
}, async () => {
  const first = readFileSync(join(dirname(core.run), 'var/log/core.log'), 'utf8').length;
  for (const [index, [key, value, app]] of SETTINGS.entries()) {
    const body = { value: value(SET[index]!), ...(app && { app }) };
    assert.equal((await core.ask(`/config/${key}`, { unix: true, method: 'PUT', body })).status, 200, key);
  }
  answers.length = 0;
  core = await core.restarted();
  // The app got its secret from the vault of the run before, and has told it anew.
  await appHasTold(4);
  await told(core, 'all', KEPT['shared/cloud.token']);
  for (const path of ['/logs?limit=1000', `/logs?app=${APP}&limit=1000`, '/secrets', '/health', '/apps', '/ledger'])
    await ask(path);
  assert.equal((await put('shared/title', TITLE)).status, 200);
  assert.ok(
    (await core.ask('/config-descriptions?plugin=notify', { unix: true })).text.includes(JSON.stringify(TITLE)),
  );
  const bundle = await bundleOf(core);
  const { keys } = JSON.parse(bundle.get('configuration.json')!);
  assert.equal(keys.find(({ key }: { key: string }) => /notify.*title$/.test(key)).value, '[secret]');
  const described = (wanted: string) => keys.filter(({ key }: { key: string }) => key === wanted);
  for (const [key] of SETTINGS) assert.match(JSON.stringify(described(key)), /\[redacted\]/, key);
  assert.ok(described(OVERRIDDEN)[0].layers.length > 1, 'the SKU stands under the device');
  assert.equal(described('device.token').length, 2, 'of the device, and of the app over it');
  for (const name of ['health.json', 'plugins.json', 'apps.json', 'ledger.json', 'log/core.log', 'log/apps/canary.log'])
    assert.ok(bundle.has(name), name);
  const ofCore = [...bundle].filter(([name]) => name.startsWith('log/core'));
  assert.ok(ofCore.reduce((sum, [, text]) => sum + text.length, 0) > first, 'the log of both runs');
  assert.match(ofCore.map(([, text]) => text).join(''), /it is told/);
  assert.deepEqual(hunt({ ...ALL, ...NAMED, TITLE }, asPlaces(bundle)), []);
  assert.deepEqual(hunt(NAMED, logs()), []);
  assert.deepEqual(hunt(ALL, [...places(), ...answers]), []);
  const copy = join(dirname(core.run), KNOWN_GOOD);
  assert.equal(statSync(copy).mode & 0o777, 0o600);
  assert.deepEqual(hunt(KEPT, [[KNOWN_GOOD, readFileSync(copy)]]), []);
});

test('where a SKU has no scan, the same line is found in the log and in the bundle', { timeout: 60_000 }, async () => {
  const plugins = { ...parse(readFileSync('manifests/skus/safe-mode.yaml', 'utf8')).plugins, teller: TELLER('leaks') };
  for (const id of ['display', 'render-soft', 'system-view', 'boot', 'systemd']) delete plugins[id];
  const file = join(folder, 'leaks.yaml');
  writeFileSync(file, stringify({ skuVersion: 1, id: 'leaks', title: 'Leaks', plugins }));
  await using leaks = await SpawnedCore.start('--sku', file);
  const it = KEPT['shared/cloud.token'];
  await told(leaks, 'leaks', it);
  const found = hunt({ it }, filesBelow(dirname(leaks.run)));
  assert.ok(
    found.some((one) => one.startsWith('json of it in ') && one.endsWith('/log/core.log')),
    `${found}`,
  );
  const inBundle = hunt({ it }, asPlaces(await bundleOf(leaks)));
  assert.ok(inBundle.includes('json of it in log/core.log in the bundle'), `${inBundle}`);
});

test('the hunt finds each form of a leak that is planted, in a file, in an answer and in the name of a file', async () => {
  const secret = KEPT['shared/cloud.token'];
  const root = join(dirname(core.run), 'var', 'planted');
  mkdirSync(root);
  const forms: [string, string][] = [
    ['plain', secret],
    ['json', JSON.stringify({ a: secret })],
    ['percent', `https://host/?t=${encodeURIComponent(secret)}`],
    ['hex', Buffer.from(`x${secret}`).toString('hex')],
    ['HEX', Buffer.from(`x${secret}`).toString('hex').toUpperCase()],
    ...(['base64', 'base64url'] as const).flatMap((kind) =>
      ['', 'u', 'us', 'usr'].map((before): [string, string] => [
        `${kind} at ${before.length % 3}`,
        Buffer.from(`${before}${secret}!`).toString(kind),
      ]),
    ),
  ];
  for (const [form, text] of forms) {
    writeFileSync(join(root, 'leak'), text);
    const found = hunt({ it: secret }, places());
    assert.ok(
      found.some((one) => one.startsWith(form) && one.endsWith('planted/leak')),
      `${form}: ${found}`,
    );
  }
  rmSync(join(root, 'leak'));
  writeFileSync(join(root, formsOf(secret).hex!.slice(0, 200)), '');
  // A whole Core that leaks: what somebody publishes or configures is told to everybody who may ask.
  await ask('/events/publish', { method: 'POST', body: { topic: 'app.x.y', payload: { secret } } });
  await ask('/config/toast.seconds', { method: 'PUT', body: { value: secret } });
  answers.length = 0;
  const { status } = await ask(`/functions/${encodeURIComponent(secret)}`);
  assert.equal(status, 404);
  const found = hunt({ it: secret }, answers);
  assert.ok(found.length > 0, 'an answer repeats the name that was asked for');
});
