/** What a page that signed in to look may do, and what a page has confirmed: every endpoint of the simulator, over REST, in a table. */
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { inflateRawSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { eventually } from '../fixtures/eventually.ts';
import { SpawnedCore } from '../fixtures/spawned-core.ts';
import { KeyOfBrowser } from '../plugins/web/browser.ts';
import { ENDPOINTS } from './endpoints.ts';

/** Not read by GET, and for viewers all the same: to sign in, with a code or a key, and to sign oneself out. */
const ALLOWED = new Set(['open', 'revoke', 'challenge', 'resume'].map((name) => `sessions.${name}`));
/** A page has it confirmed, each time. */
const SENSITIVE = [
  ...['apps.forget', 'apps.grant', 'apps.install', 'apps.remove', 'apps.rollback', 'apps.try', 'apps.update'],
  ...['plugins.install', 'plugins.remove', 'plugins.rollback', 'sessions.code', 'sessions.stay'],
  ...['secrets.set', 'secrets.delete', 'secrets.rotate'],
];

/** What is read by GET, and comes to an end. */
async function readable(core: SpawnedCore) {
  const { body: api } = await core.ask('/openapi.json', { unix: true });
  const streams = new Set(
    Object.values(api.paths as Record<string, Record<string, { operationId?: string }>>)
      .flatMap((path) => Object.values(path))
      .flatMap((one) => (JSON.stringify(one).includes('text/event-stream') ? [one.operationId] : [])),
  );
  assert.ok(streams.has('events.stream'));
  return Object.entries(ENDPOINTS).filter(([name, { method }]) => method === 'GET' && !streams.has(name));
}

/** What a page of this session is shown of the panel first. */
async function firstFrame(core: SpawnedCore, token: string) {
  const { body } = await core.ask('/sessions/ticket', { token });
  const socket = new WebSocket(`ws://127.0.0.1:${core.port}/ui/live`, ['device.live.v1', body.ticket]);
  try {
    await once(socket, 'open');
    socket.send(JSON.stringify({ open: 1, stream: 'display.frames', params: { encoding: 'deflate' }, credit: 1 }));
    for await (const [data, binary] of on(socket, 'message', { close: ['close'] })) {
      if (!binary) continue;
      const end = data.indexOf('\n', 4);
      const head = JSON.parse(data.subarray(4, end).toString()) as { readonly masked?: boolean };
      return { head, pixels: inflateRawSync(data.subarray(end + 1)) };
    }
    throw new Error('the socket was closed before a frame came');
  } finally {
    socket.terminate();
  }
}

describe('over REST', () => {
  let core: SpawnedCore;
  const tokens = { viewer: '', operator: '' };
  before(async () => {
    core = await SpawnedCore.start('--sku', 'manifests/skus/simulator.yaml', '--app', 'docs/examples/agenda');
    for (const role of ['viewer', 'operator'] as const) {
      const { body } = await core.ask('/sessions/codes', { unix: true, body: { role } });
      const { body: opened } = await core.ask('/sessions', { body: { code: body.code, name: role } });
      tokens[role] = opened.token;
    }
  });
  after(() => core[Symbol.asyncDispose]());

  for (const [name, { method, path, body, raw }] of Object.entries(ENDPOINTS)) {
    if (method === 'GET' || ALLOWED.has(name)) continue;
    test(`a viewer is refused ${name}, before anything of it is looked at`, async () => {
      const headers = raw ? { 'content-type': 'application/octet-stream' } : {};
      const answer = await core.ask(path, { method, token: tokens.viewer, body: raw ? 'x' : (body ?? {}), headers });
      assert.equal(answer.status, 403, answer.text);
      assert.match(answer.body.error, /^CALLER_DENIED: cannot call [\w.]+: this page signed in as a viewer/);
    });
  }

  test('a viewer sees no token and no code: secrets come by no GET', async () => {
    const seen: string[] = [];
    for (const [name, { path }] of await readable(core)) {
      const answer = await core.ask(path, { token: tokens.viewer });
      assert.notEqual(answer.body?.code, 'UNAUTHENTICATED', name);
      // Tokens of this device are 43 characters of base64url; so are digests, which are named as such.
      for (const [, member] of answer.text.matchAll(/"([a-zA-Z]*)":"[A-Za-z0-9_-]{43}"/g))
        seen.push(`${name} ${member}`);
      assert.ok(!answer.text.includes(tokens.operator) && !answer.text.includes(tokens.viewer), name);
    }
    assert.deepEqual(
      seen.filter((one) => !/hash|digest|accept/i.test(one)),
      // Its own, for its own socket.
      ['sessions.ticket ticket'],
    );
  });

  test('a viewer sees no code that is shown on the panel: no answer has it, there is no picture, and the stream is black', async () => {
    const { body: made } = await core.ask('/sessions/codes', { unix: true, body: { role: 'operator' } });
    const url = `http://127.0.0.1/ui/#code=${made.code}`;
    const shown = await core.ask('/display/pairing', { unix: true, method: 'PUT', body: { url, ms: 600_000 } });
    assert.equal(shown.status, 200, shown.text);
    await eventually(async () => {
      const { body } = await core.ask('/display/screenshot?all=true', { token: tokens.viewer });
      return body.code === 'CALLER_DENIED';
    }, 'no picture for a viewer');
    const { body: picture } = await core.ask('/display/screenshot?all=true', { token: tokens.operator });
    assert.ok(picture.png, 'one for the operator');
    for (const [name, { path }] of await readable(core)) {
      const { text } = await core.ask(path, { token: tokens.viewer });
      assert.ok(!text.includes(made.code), name);
    }
    const viewer = await firstFrame(core, tokens.viewer);
    assert.equal(viewer.head.masked, true);
    assert.ok(viewer.pixels.every((byte) => byte === 0));
    const operator = await firstFrame(core, tokens.operator);
    assert.ok(operator.pixels.some((byte) => byte !== operator.pixels[0]));
    await core.ask('/display/home', { unix: true, method: 'PUT', body: { screen: 'home' } });
    const seen = async () => (await firstFrame(core, tokens.viewer)).pixels.some((byte) => byte !== 0);
    await eventually(seen, 'the panel again');
  });

  const IMPOSSIBLE = new Set('apps.install apps.remove apps.rollback apps.try apps.update plugins.install'.split(' '));
  for (const name of SENSITIVE)
    test(`a page of the operator has ${name} confirmed`, async () => {
      const { method, path, body } = ENDPOINTS[name]!;
      const answer = await core.ask(path, { method, token: tokens.operator, body: body ?? {} });
      // A person is not asked for what cannot be done: there is no such package here.
      if (IMPOSSIBLE.has(name)) {
        assert.ok([400, 404, 409].includes(answer.status), answer.text);
        return;
      }
      assert.equal(answer.status, 403, answer.text);
      assert.equal(answer.body.code, 'CONFIRMATION_REQUIRED');
      assert.match(answer.body.details.confirmation, /^[\w-]{12}$/);
      const made = await core.ask('/sessions/confirmation-codes', { token: tokens.operator, body: {} });
      assert.equal(made.body.code, 'CALLER_DENIED');
    });

  test('a browser with a key comes back here alone, and is cut off with its key', async () => {
    const { body: made } = await core.ask('/sessions/codes', { unix: true, body: { role: 'viewer' } });
    const own = new KeyOfBrowser();
    const { body: opened } = await core.ask('/sessions', { body: { code: made.code, name: 'x', key: own.key } });
    const { browser } = opened.session;
    const origin = `http://127.0.0.1:${core.port}`;
    const asked = { browser, origin };
    for (const headers of [{ origin: 'http://evil.example' }, { host: `evil.example:${core.port}` }])
      for (const [path, body] of [
        ['/sessions/challenges', asked],
        ['/sessions/proofs', own.proof(browser, 'x', origin)],
      ] as const)
        assert.equal((await core.ask(path, { body, headers })).body.code, 'ORIGIN_DENIED');
    const { body: given } = await core.ask('/sessions/challenges', { body: asked });
    const proof = own.proof(browser, given.challenge, origin);
    const { body: came } = await core.ask('/sessions/proofs', { body: proof });
    assert.equal(came.session.role, 'viewer');
    assert.equal((await core.ask('/sessions/proofs', { body: proof })).body.code, 'UNAUTHENTICATED');
    const { path, body } = ENDPOINTS['sessions.code']!;
    assert.equal((await core.ask(path, { token: came.token, body })).body.code, 'CALLER_DENIED');

    const { body: ticket } = await core.ask('/sessions/ticket', { token: came.token });
    const socket = new WebSocket(`ws://127.0.0.1:${core.port}/ui/live`, ['device.live.v1', ticket.ticket]);
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await core.ask(`/sessions/${browser}`, { unix: true, method: 'DELETE' });
    assert.equal((await closed)[0], 4401);
    for (const token of [came.token, opened.token]) assert.equal((await core.ask('/version', { token })).status, 401);
    assert.equal((await core.ask('/sessions/challenges', { body: asked })).body.code, 'BROWSER_UNKNOWN');
  });

  test('the header of a confirmation lets no caller in without one', async () => {
    const headers = { 'device-confirmation': 'AAAAAAAAAAAA' };
    const { path, body } = ENDPOINTS['sessions.code']!;
    const page = await core.ask(path, { token: tokens.operator, body, headers });
    assert.equal(page.body.code, 'CONFIRMATION_REQUIRED');
    const viewer = await core.ask(path, { token: tokens.viewer, body, headers });
    assert.equal(viewer.body.code, 'CALLER_DENIED');
    assert.equal((await core.ask(path, { body, headers })).status, 401);
  });
});
