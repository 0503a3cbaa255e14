/** What an app asks for, the answer of whoever owns the device, and what follows from it: real apps, REST and their own sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import type { Prompt } from '@device-core/plugin-api/services/prompts';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

const PLUGINS = ['operations', 'identity', 'system', 'http', 'rpc', 'events', 'supervisor-process', 'apps', 'prompts'];
const EAR = 'com.example.ear';
const CONNECT = `require('node:net').connect(process.env.DEVICE_RPC_SOCKET).on('error', () => process.exit(9)).resume();`;
const CRASH = 'process.exit(3);';

const root = mkdtempSync(join(tmpdir(), 'dco-'));
const code = join(root, 'code');
after(() => rmSync(root, { recursive: true, force: true }));

type Claim = string | { readonly id: string; readonly optional?: boolean; readonly ports?: readonly number[] };

function putApp(id: string, claims: readonly Claim[], script = CONNECT, more: object = {}): string {
  const folder = join(code, id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.cjs'), script);
  const capabilities = claims.map((one) => ({ reason: 'to try it', ...(typeof one === 'string' ? { id: one } : one) }));
  const name = id.split('.').at(-1);
  const exec = { command: 'node', args: ['main.cjs'] };
  const manifest = { manifestVersion: 1, id, name, version: '1.0.0', title: name, exec, capabilities, ...more };
  writeFileSync(join(folder, 'app.yaml'), JSON.stringify(manifest));
  return folder;
}

function start(ids: readonly string[], more: Partial<Parameters<typeof startCore>[0]> = {}): Promise<Core> {
  const { config, ...others } = more;
  return startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: { ...config, apps: { folders: ids.map((id) => join(code, id)), crash: { backoffMs: [10], limit: 4 } } },
    ...others,
  });
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the Core said
  readonly body: any;
}

/** As the operator, or with the token of an app. */
async function ask(core: Core, path: string, body?: object, app?: string): Promise<Answer> {
  const text = body && JSON.stringify(body);
  const token = app && readFileSync(join(core.paths.run, 'apps', app, 'credentials/token'), 'utf8').trim();
  const sent = request({
    socketPath: join(core.paths.run, 'core.sock'),
    path,
    agent: false,
    method: body ? 'POST' : 'GET',
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {}),
    },
  });
  sent.end(text);
  const [response] = await once(sent, 'response');
  let said = '';
  for await (const chunk of response.setEncoding('utf8')) said += chunk;
  return { status: response.statusCode, body: JSON.parse(said) };
}

async function running(core: Core, id: string, capabilities: readonly string[]): Promise<AppStatus> {
  return eventually(async () => {
    const status = await core.service(apps).status(id);
    assert.deepEqual([status.state, status.capabilities], ['running', capabilities]);
    return status;
  }, `${id} running with ${capabilities}`);
}

function questionAbout(core: Core, id: string): Promise<Prompt> {
  return eventually(
    async () => (await ask(core, '/prompts')).body.prompts.find(({ subject }: Prompt) => subject === id),
    `a question about ${id}`,
  );
}

describe('an app that wants undecided rights', () => {
  it('runs without it meanwhile, and with it from the answer on, over a restart of the Core', async () => {
    putApp(EAR, ['audio.capture', 'display.notify']);
    const kept = mkdtempSync(join(root, 'core-'));
    {
      await using core = await start([EAR], { root: kept });
      const { denied, pid } = await running(core, EAR, ['display.notify']);
      assert.deepEqual(denied, [
        {
          capability: 'audio.capture',
          hint: `devicectl app grant ${EAR} audio.capture`,
          why: 'consent: { sensitive: ask }',
        },
      ]);
      const { id, what } = await questionAbout(core, EAR);
      assert.deepEqual(
        what.map(({ capability, reason, summary }) => [capability, reason, summary]),
        [['audio.capture', 'to try it', 'hear the microphone']],
      );
      assert.equal((await ask(core, `/prompts/${id}`, { allow: ['audio.capture'] })).status, 200);
      const after = await running(core, EAR, ['audio.capture', 'display.notify']);
      assert.notEqual(after.pid, pid);
      assert.deepEqual(await core.service(grants).of({ kind: 'app', id: EAR }), ['audio.capture', 'display.notify']);
    }
    await using core = await start([EAR], { root: kept });
    await running(core, EAR, ['audio.capture', 'display.notify']);
    assert.deepEqual((await ask(core, '/prompts')).body.prompts, []);
    const { consents: list } = (await ask(core, '/consents')).body;
    assert.deepEqual(
      list.map(({ app, capability, allowed, by, version }: Record<string, unknown>) => [
        app,
        capability,
        allowed,
        by,
        version,
      ]),
      [[EAR, 'audio.capture', true, 'operator', '1.0.0']],
    );
  });

  it('is asked for once, however often it starts, and not again after a no', async () => {
    putApp(EAR, ['audio.capture'], CRASH);
    await using core = await start([EAR]);
    await eventually(
      async () => (await core.service(apps).status(EAR)).state === 'quarantined' || undefined,
      'the quarantine',
    );
    const { id } = await questionAbout(core, EAR);
    assert.equal((await ask(core, '/prompts')).body.prompts.length, 1);
    putApp(EAR, ['audio.capture'], CONNECT);
    await core.service(apps).start(EAR);
    assert.equal((await questionAbout(core, EAR)).id, id);
    await ask(core, `/prompts/${id}`, { allow: [] });
    await core.service(apps).restart(EAR);
    const { denied } = await running(core, EAR, []);
    assert.match(denied[0]?.why ?? '', /^operator denied audio\.capture to version 1\.0\.0 on /);
    assert.deepEqual((await ask(core, '/prompts')).body.prompts, []);
  });

  it('is not asked for where the SKU grants it, and runs as it always did', async () => {
    putApp(EAR, ['audio.capture']);
    await using core = await start([EAR], { grants: { [EAR]: ['audio'] } });
    const { denied } = await running(core, EAR, ['audio.capture']);
    assert.deepEqual(denied, []);
    assert.deepEqual((await ask(core, '/prompts')).body.prompts, []);
  });

  it('is refused, asked or granted as the policy of the SKU says', async () => {
    putApp(EAR, ['audio.capture', 'display.notify', 'network.outbound:a.example']);
    const overrides = { 'audio.capture': 'deny', 'display.notify': 'ask', 'network.outbound:*': 'auto' };
    await using core = await start([EAR], { config: { prompts: { consent: { overrides } } } });
    const { denied } = await running(core, EAR, ['network.outbound:a.example']);
    assert.deepEqual(
      denied.map(({ capability, why }) => [capability, why]),
      [
        ['audio.capture', 'consent: { overrides: { "audio.capture": deny } }'],
        ['display.notify', 'consent: { overrides: { "display.notify": ask } }'],
      ],
    );
    const { what } = await questionAbout(core, EAR);
    assert.deepEqual(
      what.map(({ capability }) => capability),
      ['display.notify'],
    );
  });

  it('is no question any more when the app is gone, and a late answer is told so', async () => {
    putApp(EAR, ['audio.capture']);
    await using core = await start([EAR]);
    const { id } = await questionAbout(core, EAR);
    rmSync(join(code, EAR), { recursive: true });
    await eventually(
      async () => (await ask(core, '/prompts')).body.prompts.length === 0 || undefined,
      'the withdrawal',
    );
    const { status, body } = await ask(core, `/prompts/${id}`, { allow: ['audio.capture'] });
    assert.deepEqual([status, body.code], [404, 'CONSENT_NOT_FOUND']);
    assert.deepEqual(await core.service(consents).of(EAR), []);
  });
});

describe('the word of the operator', () => {
  it('takes a capability at once, also one of the SKU, and gives it back', async () => {
    putApp(EAR, ['audio', 'audio.capture', 'display.notify']);
    await using core = await start([EAR], { grants: { [EAR]: ['audio'] } });
    const all = ['audio', 'audio.capture', 'display.notify'];
    const { pid } = await running(core, EAR, all);
    const [session] = await core.service(appSockets).sessions();
    const revoked = await ask(core, `/apps/${EAR}/revoke`, { capability: 'audio.capture' });
    assert.deepEqual([revoked.status, revoked.body.app.state], [200, 'running']);
    // What contains it goes with it.
    assert.deepEqual(revoked.body.app.capabilities, ['display.notify']);
    assert.notEqual(revoked.body.app.pid, pid);
    assert.deepEqual(await core.service(grants).of({ kind: 'app', id: EAR }), ['display.notify']);
    await eventually(async () => {
      const ids = (await core.service(appSockets).sessions()).map((one) => one.id);
      return (session !== undefined && !ids.includes(session.id)) || undefined;
    }, 'the end of the session that held it');
    assert.deepEqual((await ask(core, '/prompts')).body.prompts, []);
    const granted = await ask(core, `/apps/ear/grant`, { capability: 'audio.capture' });
    assert.deepEqual(granted.body.app.capabilities, ['audio.capture', 'display.notify']);
    await ask(core, `/apps/ear/grant`, { capability: 'audio' });
    await running(core, EAR, all);
  });

  it('answers for the ports that the app names now, and for no others', async () => {
    const host = 'network.outbound:a.example';
    putApp(EAR, [{ id: host, ports: [443] }]);
    await using core = await start([EAR]);
    await running(core, EAR, []);
    await ask(core, `/apps/${EAR}/grant`, { capability: host });
    await running(core, EAR, [host]);
    putApp(EAR, [{ id: host, ports: [443, 22] }], CONNECT, { version: '1.1.0' });
    const { what, version } = await questionAbout(core, EAR);
    assert.deepEqual([version, what[0]?.params], ['1.1.0', { ports: [22] }]);
    const { denied } = await running(core, EAR, [host]);
    assert.match(denied[0]?.why ?? '', /\(port 22\)$/);
  });
});

describe('refused callers and rights', () => {
  let core: Core;
  const OTHER = 'com.example.other';
  before(async () => {
    putApp(EAR, ['audio.capture', 'bridges.spi', 'system.apps']);
    putApp(OTHER, ['sensors.nfc']);
    core = await start([EAR, OTHER], { grants: { [EAR]: ['system'] } });
    await running(core, EAR, ['system.apps']);
    await running(core, OTHER, []);
  });
  after(() => core?.stop());

  const OPERATOR: readonly (readonly [what: string, path: string, body: object, status: number, says: RegExp])[] = [
    ['an app that is not there', '/apps/no.such/grant', { capability: 'audio' }, 404, /^APP_NOT_FOUND/],
    [
      'an unknown capability',
      `/apps/${EAR}/grant`,
      { capability: 'audio.captrue' },
      400,
      /did you mean audio\.capture/,
    ],
    ['no capability', `/apps/${EAR}/grant`, {}, 400, /^PARAMS_INVALID/],
    [
      'what it does not ask for',
      `/apps/${EAR}/grant`,
      { capability: 'audio' },
      409,
      /it asks for audio\.capture, bridges/,
    ],
    [
      'class oem',
      `/apps/${EAR}/grant`,
      { capability: 'bridges.spi' },
      409,
      /class oem comes from the SKU alone .*"grants: \{ com\.example\.ear: \["bridges\.spi"\] \}" grants it/,
    ],
    ['to take what it never asked for', `/apps/${EAR}/revoke`, { capability: 'sensors.nfc' }, 409, /^APP_CONFLICT/],
    ['to take what nobody knows', `/apps/${EAR}/revoke`, { capability: '../audio' }, 400, /^CAPABILITY_UNKNOWN/],
    ['a question that nobody asked', '/prompts/deadbeef', { allow: [] }, 404, /^CONSENT_NOT_FOUND/],
  ];
  for (const [what, path, body, status, says] of OPERATOR)
    it(`${what} is refused to the operator`, async () => {
      const answer = await ask(core, path, body);
      assert.equal(answer.status, status);
      assert.match(answer.body.error, says);
    });

  // It holds system.apps, and may start and stop apps; what they are granted is not its business.
  it('an app may neither see nor answer questions nor give itself anything, over REST and over its socket', async () => {
    const { id } = await questionAbout(core, OTHER);
    const calls: readonly (readonly [method: string, path: string, params: object])[] = [
      ['prompts.list', '/prompts', {}],
      ['prompts.answer', '/prompts/:id', { id, allow: ['sensors.nfc'] }],
      ['consents.list', '/consents', {}],
      ['apps.grant', '/apps/:id/grant', { id: EAR, capability: 'audio.capture' }],
      ['apps.revoke', '/apps/:id/revoke', { id: OTHER, capability: 'sensors.nfc' }],
    ];
    const socket = connect(join(core.paths.run, 'apps', 'ear', 'rpc.sock'));
    const lines = createInterface(socket)[Symbol.asyncIterator]();
    assert.equal(JSON.parse((await lines.next()).value ?? '').method, 'READY');
    for (const [method, path, params] of calls) {
      const { id: at, ...body } = params as { readonly id?: string };
      const where = path.replace(':id', at ?? '');
      const { status, body: refusal } = await ask(core, where, at === undefined ? undefined : body, 'ear');
      assert.deepEqual([status, refusal.code], [403, 'CALLER_DENIED'], method);
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
      const { error } = JSON.parse((await lines.next()).value ?? '');
      assert.deepEqual([error.code, error.data.code], [-32003, 'CALLER_DENIED'], method);
    }
    socket.destroy();
    assert.equal((await questionAbout(core, OTHER)).id, id);
    assert.deepEqual((await ask(core, '/consents')).body.consents, []);
  });

  it('of two answers at once the first counts', async () => {
    const { id } = await questionAbout(core, OTHER);
    const both = await Promise.all([
      ask(core, `/prompts/${id}`, { allow: [] }),
      ask(core, `/prompts/${id}`, { allow: ['sensors.nfc'] }),
    ]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 404]);
    const [won] = both.filter(({ status }) => status === 200);
    const kept = await core.service(consents).of(OTHER);
    assert.deepEqual(
      kept.map(({ allowed }) => allowed),
      [won?.body.allow.length === 1],
    );
  });
});
