/** Apps that were granted a host by name reach it, at its ports, and nothing else: in Node and in Python, with the clients that people use. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { egress } from '@device-core/plugin-api/inside/services/egress';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { apps } from '@device-core/plugin-api/services/apps';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringify } from 'yaml';
import { startCore } from '../fixtures/core.ts';
import { without } from '../fixtures/debian.ts';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_PYTHON } from '../fixtures/python.ts';
import { WITHOUT_BWRAP } from '../fixtures/walls.ts';

after(leakCheck());

const FIXTURES = join(import.meta.dirname, '../fixtures/named-hosts');
const ID = 'com.example.reacher';
const LANGUAGES = {
  Node: { command: 'node', args: ['main.mjs'] },
  Python: { command: 'python3', args: ['-B', 'main.py'] },
} as const;
const SUBJECT = ['-subj', '/CN=api.test', '-addext', 'subjectAltName=DNS:api.test'];
const OPENSSL = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

/** Says what it was asked, as a server in the net would. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += chunk;
  response.end(`${request.method} ${request.url} ${request.headers.host} ${body}`.trim());
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '0.0.0.0'), 'listening');
  return (server.address() as { port: number }).port;
}

/** A whole Core, an app in one language, servers that it may reach and servers that it may not. */
async function device(language: keyof typeof LANGUAGES) {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const folder = join(root, 'var/apps', ID);
  mkdirSync(folder, { recursive: true });
  const [key, cert] = [join(root, 'key.pem'), join(folder, 'cert.pem')];
  assert.equal(spawnSync('openssl', [...OPENSSL, ...SUBJECT, '-keyout', key, '-out', cert]).status, 0);
  const plain = createServer(answer);
  const tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  const other = createServer(answer);
  const ports = { plain: await listening(plain), tls: await listening(tls), other: await listening(other) };
  const outside = Object.values(networkInterfaces())
    .flatMap((some) => some ?? [])
    .find((one) => !one.internal && one.family === 'IPv4')?.address;
  for (const name of ['main.mjs', 'main.py']) copyFileSync(join(FIXTURES, name), join(folder, name));
  writeFileSync(join(folder, 'targets.json'), JSON.stringify({ ...ports, ...(outside && { outside }) }));
  const host = { id: 'network.outbound:api.test', ports: [ports.tls, ports.plain], reason: 'it is tested' };
  writeFileSync(
    join(folder, 'app.yaml'),
    stringify({
      manifestVersion: 1,
      id: ID,
      name: 'reacher',
      version: '1.0.0',
      title: 'Reacher',
      exec: LANGUAGES[language],
      capabilities: [{ id: 'storage-scoped', reason: 'it is tested' }, host],
      health: { kind: 'none' },
      lifecycle: { autostart: false, restart: 'never' },
    }),
  );
  const ids = 'operations identity system limits http rpc prompts ledger supervisor-process egress'.split(' ');
  const core = await startCore({
    root,
    grants: { [ID]: ['network.outbound:api.test'] },
    plugins: { ...Object.fromEntries(ids.map((id) => [id, '^1.0.0'])), apps: '^1.0.0' },
    config: { apps: { insecure: false }, egress: { hosts: { 'api.test': ['127.0.0.1'], 'evil.test': ['127.0.0.1'] } } },
  });
  const data = join(folder, 'data');
  const log = () => readFileSync(join(root, 'var/log/apps/reacher.log'), 'utf8');
  return {
    core,
    ports,
    data,
    log,
    async found(): Promise<Record<string, string>> {
      const file = join(data, 'found.json');
      await eventually(() => existsSync(file), 'what it found', { ms: 60_000 }).catch((error: Error) => {
        error.message += ` ${log()}`;
        throw error;
      });
      return JSON.parse(readFileSync(file, 'utf8'));
    },
    async [Symbol.asyncDispose]() {
      await core.stop();
      for (const server of [plain, tls, other]) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const DENIED =
  /EGRESS_DENIED: com\.example\.reacher may not reach evil\.test:\d+: it does not hold network\.outbound:evil/;
const PORT = /EGRESS_DENIED: .*it was not granted port \d+ there; .*ports: \[\d+\]/;
const ADDRESS = /EGRESS_DENIED: .*10\.0\.0\.1: an address names no host/;
const REACHED: Readonly<Record<keyof typeof LANGUAGES, Readonly<Record<string, RegExp>>>> = {
  Node: {
    fetch: /^200 GET \/a api\.test:\d+$/,
    get: /^200 GET \/b api\.test:\d+$/,
    'fetch plain': /^200 POST \/c api\.test:\d+ sent$/,
    'get plain': /^200 GET \/d api\.test:\d+$/,
    // What it is told of is in its log: fetch tells nothing.
    'fetch another host': /fetch failed/,
    'get another host': /^ERR_PROXY_TUNNEL .*403/,
    'get another port': /^ERR_PROXY_TUNNEL .*403/,
    'get an address': /^ERR_PROXY_TUNNEL .*403/,
    'dial this machine': /^ECONNREFUSED/,
    'dial its other address': /^ENETUNREACH/,
    'dial the net': /^ENETUNREACH/,
    'look up': /^(EAI_AGAIN|ENOTFOUND)/,
  },
  Python: {
    get: /^200 GET \/b api\.test:\d+$/,
    'get plain': /^200 GET \/d api\.test:\d+$/,
    'post plain': /^200 POST \/c api\.test:\d+ sent$/,
    'get another host': DENIED,
    'get another host plain': /^403 EGRESS_DENIED/,
    'get another port': PORT,
    'get an address': ADDRESS,
    'dial this machine': /^ConnectionRefusedError/,
    'dial the net': /^OSError .*unreachable/,
    'look up': /^gaierror/,
  },
};

describe('an app with a host by name', { skip: WITHOUT_BWRAP || without('openssl') }, () => {
  for (const language of ['Node', 'Python'] as const)
    it(`reaches it from ${language}, and nothing else; a refusal stands where people look`, {
      skip: language === 'Python' && WITHOUT_PYTHON,
    }, async () => {
      await using side = await device(language);
      const { core, ports } = side;
      const status = await core.service(apps).start(ID);
      assert.equal(status.state, 'running', status.reason);
      assert.deepEqual(status.leftOut, []);
      const found = await side.found();
      for (const [what, expected] of Object.entries(REACHED[language]))
        assert.match(found[what] ?? 'nothing', expected, `${what}\n${JSON.stringify(found, null, 2)}`);

      await eventually(() => DENIED.test(side.log()) && PORT.test(side.log()), 'the refusals in its log');
      const why = await core.service(grants).refusals();
      assert.ok(why.some(({ capability }) => capability === 'network.outbound:evil.test'));
      assert.ok(why.some(({ capability }) => capability === `network.outbound:api.test:${ports.other}`));
      const sums = await core.service(ledger).sums();
      assert.deepEqual(
        sums.map(({ for: sender, to }) => `${sender} ${to}`).sort(),
        [`app.${ID} api.test:${ports.plain}`, `app.${ID} api.test:${ports.tls}`].sort(),
      );
      const [used] = await core.service(egress).usage();
      assert.ok(used!.sent > 0 && used!.received > 0 && used!.refused >= 3);

      await core.service(apps).stop(ID);
      assert.equal(readFileSync(join(side.data, 'signals'), 'utf8'), 'TERM\n', 'it is asked to end once');
      assert.deepEqual(await core.service(egress).usage(), []);
    });

  it('has its way out again when the plugin came anew, and a way out of a former Core is no obstacle', async () => {
    await using side = await device('Node');
    const { core } = side;
    const left = join(core.paths.run, 'apps/reacher/egress.sock');
    mkdirSync(join(left, '..'), { recursive: true });
    writeFileSync(left, 'left behind');
    assert.equal((await core.service(apps).start(ID)).state, 'running');
    await side.found();
    await core.kernel.restart('egress');
    const open = async () => (await core.service(egress).usage()).length === 1;
    await eventually(open, 'the way out of the app that runs on');
    const { pid } = await core.service(apps).status(ID);
    const again = join(side.data, 'again');
    // A client may still hold a connection that was cut: its next one is new.
    const answered = () => {
      process.kill(pid!, 'SIGUSR2');
      return existsSync(again) && /^200 GET \/again /m.test(readFileSync(again, 'utf8'));
    };
    await eventually(answered, 'another answer', { every: 200 });

    // Taken back by the operator: it runs on without, and nothing of it is open any more.
    const call = { caller: { kind: 'operator', id: 'operator' } as const, signal: new AbortController().signal };
    const params = { id: ID, capability: 'network.outbound:api.test' };
    await core.service(operations).invoke('apps.revoke', params, { ...call, deadline: Date.now() + 60_000 });
    assert.deepEqual(await core.service(egress).usage(), []);
    const { state, capabilities } = await core.service(apps).status(ID);
    assert.deepEqual([state, capabilities], ['running', ['storage-scoped']]);
  });
});
