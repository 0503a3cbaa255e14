/** A new version that asks for more waits for the answer, and the old one runs on: store, apps and questions together. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type ChangeInfo, changes } from '@device-core/plugin-api/inside/services/changes';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import type { Prompt } from '@device-core/plugin-api/services/prompts';
import { AppPackages } from '../fixtures/app-packages.ts';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { devicectl, spawnDevicectl } from '../plugins/cli/run-devicectl.ts';

const PLUGINS = [
  ...['operations', 'identity', 'system', 'http', 'rpc', 'events', 'changes', 'supervisor-process', 'apps'],
  ...['app-store', 'prompts', 'cli'],
];
const ID = 'com.example.guest';
const ADMIN = 'com.example.admin';
const HOST = 'network.outbound:a.example';
const packages = new AppPackages();
after(() => packages[Symbol.dispose]());

const asks = (...ids: readonly string[]) => ids.map((id) => ({ id, reason: 'to try it' }));

function start(grants: Readonly<Record<string, readonly string[]>> = {}): Promise<Core> {
  return startCore({
    grants,
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: { 'app-store': { probationMs: 50 } },
  });
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the Core said
  readonly body: any;
}

/** As the operator, or with the token of an app. */
async function post(core: Core, path: string, body: object, app?: string): Promise<Answer> {
  const text = JSON.stringify(body);
  const token = app && readFileSync(join(core.paths.run, 'apps', app, 'credentials/token'), 'utf8').trim();
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const sent = request({ socketPath: join(core.paths.run, 'core.sock'), path, agent: false, method: 'POST', headers });
  sent.end(text);
  const [response] = await once(sent, 'response');
  let said = '';
  for await (const chunk of response.setEncoding('utf8')) said += chunk;
  return { status: response.statusCode, body: JSON.parse(said) };
}

async function begin(core: Core, version: string, capabilities: readonly object[]): Promise<string> {
  const source = await packages.pack({ version, manifest: { capabilities } });
  const { status, body } = await post(core, '/apps/install', { source });
  assert.equal(status, 202, JSON.stringify(body));
  return body.change;
}

function over(core: Core, change: string): Promise<ChangeInfo> {
  return eventually(async () => {
    const info = await core.service(changes).get(change);
    return info.endedAt !== undefined && info;
  }, `the end of change ${change}`);
}

function question(core: Core): Promise<Prompt> {
  return eventually(
    async () => (await post(core, '/prompts/none', { allow: [] })) && (await questions(core))[0],
    'a question',
  );
}

async function questions(core: Core): Promise<readonly Prompt[]> {
  const sent = request({ socketPath: join(core.paths.run, 'core.sock'), path: '/prompts', agent: false });
  sent.end();
  const [response] = await once(sent, 'response');
  let said = '';
  for await (const chunk of response.setEncoding('utf8')) said += chunk;
  return JSON.parse(said).prompts;
}

function running(core: Core, version: string, capabilities: readonly string[]): Promise<AppStatus> {
  return eventually(async () => {
    const status = await core.service(apps).status(ID);
    assert.deepEqual([status.state, status.version, status.capabilities], ['running', version, capabilities]);
    return status;
  }, `version ${version} with ${capabilities}`);
}

describe('a version that asks for more', () => {
  it('waits while the old one runs on, is undone by a no, and comes with a yes', async () => {
    await using core = await start();
    assert.equal((await over(core, await begin(core, '1.0.0', asks('display.notify')))).state, 'done');
    const { pid } = await running(core, '1.0.0', ['display.notify']);

    const refused = await begin(core, '2.0.0', asks('display.notify', 'audio.capture'));
    const { id, version, what, subject } = await question(core);
    assert.deepEqual([subject, version, what.map(({ capability }) => capability)], [ID, '2.0.0', ['audio.capture']]);
    const waiting = await core.service(changes).get(refused);
    assert.equal(waiting.steps.find(({ state }) => state === 'doing')?.name, 'consent');
    assert.equal((await running(core, '1.0.0', ['display.notify'])).pid, pid);
    await post(core, `/prompts/${id}`, { allow: [] });
    const no = await over(core, refused);
    assert.equal(no.error?.code, 'CONSENT_REQUIRED');
    assert.match(no.error?.message ?? '', /needs consent for audio\.capture: operator did not allow it/);
    assert.equal((await running(core, '1.0.0', ['display.notify'])).pid, pid);

    const allowed = await begin(core, '2.0.0', asks('display.notify', 'audio.capture'));
    await post(core, `/prompts/${(await question(core)).id}`, { allow: ['audio.capture'] });
    assert.equal((await over(core, allowed)).state, 'done');
    await running(core, '2.0.0', ['display.notify', 'audio.capture']);
  });

  it('names the grant that it widens, and what becomes less is not asked', async () => {
    await using core = await start();
    const first = await begin(core, '1.0.0', [{ id: HOST, reason: 'calendar' }]);
    await post(core, `/prompts/${(await question(core)).id}`, { allow: [HOST] });
    assert.equal((await over(core, first)).state, 'done');
    const wider = await begin(core, '1.1.0', [{ id: HOST, ports: [443, 22], reason: 'calendar', optional: true }]);
    const { id, what } = await question(core);
    assert.deepEqual(
      what.map(({ capability, params, widens }) => [capability, params, widens]),
      [[HOST, { ports: [22] }, HOST]],
    );
    await post(core, `/prompts/${id}`, { allow: [] });
    // It does without: the port that it had stays.
    assert.equal((await over(core, wider)).state, 'done');
    const { denied } = await running(core, '1.1.0', [HOST]);
    assert.match(denied[0]?.why ?? '', /denied network\.outbound:a\.example on port 22/);
    assert.equal((await over(core, await begin(core, '1.2.0', asks(HOST)))).state, 'done');
    assert.deepEqual(await questions(core), []);
  });

  it('gives nothing back that was revoked while it waited', async () => {
    await using core = await start();
    await over(core, await begin(core, '1.0.0', asks('display.notify')));
    const change = await begin(core, '2.0.0', asks('display.notify', 'audio.capture'));
    const { id } = await question(core);
    assert.equal((await post(core, `/apps/${ID}/revoke`, { capability: 'display.notify' })).status, 200);
    assert.equal((await question(core)).id, id);
    await post(core, `/prompts/${id}`, { allow: [] });
    assert.notEqual((await over(core, change)).state, 'done');
    await running(core, '1.0.0', []);
    const kept = await core.service(consents).of(ID);
    assert.ok(kept.some(({ capability, allowed }) => capability === 'display.notify' && !allowed));
  });

  it('is shown to the terminal that waits for it, and answered from another one', async () => {
    await using core = await start();
    const source = await packages.pack({ manifest: { capabilities: asks('audio.capture') } });
    const child = spawnDevicectl(['--root', core.root, 'app', 'install', source]);
    const ended = once(child, 'close');
    let said = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const id = await eventually(() => /devicectl deny (\w+)\n/.exec(said)?.[1], 'the question in the terminal');
    assert.match(said, / {2}audio\.capture\n {4}what it allows: .*\n {4}the app says why: "to try it"\n/);
    const answered = await devicectl(['--root', core.root, 'allow', id]);
    assert.deepEqual([answered.code, answered.stdout], [0, `${ID}: allowed audio.capture\n`]);
    const [code] = await ended;
    assert.equal(code, 0);
    assert.match(said, new RegExp(`${ID} 1\\.0\\.0 is installed`));
  });

  it('is not granted anything by another app that may install it, but by the operator it is', async () => {
    await using core = await start({ [ADMIN]: ['system'] });
    const admin = { id: ADMIN, name: 'admin', manifest: { capabilities: asks('system.apps') } };
    const { body } = await post(core, '/apps/install', { source: await packages.pack(admin) });
    assert.equal((await over(core, body.change)).state, 'done');
    const source = await packages.pack({ manifest: { capabilities: asks('audio.capture') } });
    const grants = ['audio.capture'];
    await eventually(async () => {
      const refused = await post(core, '/apps/install', { source, grants }, 'admin');
      assert.deepEqual([refused.status, refused.body.code], [403, 'CALLER_DENIED']);
      return true;
    }, 'the refusal');
    assert.deepEqual(await core.service(consents).of(ID), []);
    const strange = await post(core, '/apps/install', { source, grants: ['audio'] });
    assert.match((await over(core, strange.body.change)).error?.message ?? '', /does not ask for audio/);
    const allowed = await post(core, '/apps/install', { source, grants });
    assert.equal((await over(core, allowed.body.change)).state, 'done');
    await running(core, '1.0.0', grants);
    assert.deepEqual(await questions(core), []);
  });

  it('is no question any more when its app is removed, and answers go with it', async () => {
    await using core = await start();
    const first = await begin(core, '1.0.0', asks('audio.capture'));
    await post(core, `/prompts/${(await question(core)).id}`, { allow: ['audio.capture'] });
    await over(core, first);
    const { body } = await post(core, `/apps/${ID}/remove`, { purge: true });
    assert.equal((await over(core, body.change)).state, 'done');
    assert.deepEqual(await core.service(consents).of(ID), []);
    // Whoever comes under the same id is asked again.
    await begin(core, '1.0.0', asks('audio.capture'));
    assert.equal((await question(core)).subject, ID);
  });
});
