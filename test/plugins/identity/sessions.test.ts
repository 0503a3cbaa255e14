/** The operator in a browser: codes, sessions, tickets, and what ends them (decisions D13). */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type DeviceInfo, device, identity, sessions } from '@device-core/plugin-api';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/identity/index.ts';

after(leakCheck());

const manifest = new URL('../../../manifests/plugins/interface/identity.yaml', import.meta.url).pathname;
const MINUTE = 60_000;

/** `info`: of the device; on its folders it finds what a former one left. */
async function started(info?: DeviceInfo) {
  const clock = virtualClock();
  const services = info === undefined ? [] : [[device, { info: async () => info }] as const];
  const host = await createTestHost(plugin, { manifest, clock, services });
  const service = host.service(sessions);
  const who = (token: string) => host.service(identity).authenticate({ transport: 'tcp', token });
  return { host, clock, service, who, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

test('a code is used once, however it was typed, and makes a token that is the operator in this role', async () => {
  await using first = await started();
  for (const role of ['viewer', 'operator'] as const) {
    const { code } = await first.service.invite(role);
    assert.match(code, /^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
    const { token, session } = await first.service.open(` ${code.toLowerCase().replace('-', '')} `, 'Firefox');
    assert.deepEqual(await first.who(token), { kind: 'operator', id: 'operator', signedIn: { id: session.id, role } });
    await assert.rejects(first.service.open(code, 'Firefox'), { code: 'UNAUTHENTICATED' });
  }
  assert.deepEqual(
    (await first.service.list()).map(({ name, role }) => [name, role]),
    [
      ['Firefox', 'operator'],
      ['Firefox', 'viewer'],
    ],
  );
});

describe('a code is refused', () => {
  test('after two minutes', async () => {
    await using first = await started();
    const { code } = await first.service.invite('viewer');
    await first.clock.advance(2 * MINUTE + 1);
    await assert.rejects(first.service.open(code, 'x'), { code: 'UNAUTHENTICATED' });
  });
  test('after a newer one was made', async () => {
    await using first = await started();
    const { code } = await first.service.invite('viewer');
    await first.service.invite('viewer');
    await assert.rejects(first.service.open(code, 'x'), { code: 'UNAUTHENTICATED' });
  });
  test('after five wrong ones, for ten minutes, right ones too', async () => {
    await using first = await started();
    await first.service.invite('operator');
    for (let times = 0; times < 5; times += 1)
      await assert.rejects(first.service.open('AAAA-AAAA', 'x'), { code: 'UNAUTHENTICATED' });
    const { code } = await first.service.invite('operator');
    await assert.rejects(
      first.service.open(code, 'x'),
      (error: { code: string; details: { retryAfterMs: number } }) => {
        assert.equal(error.code, 'RATE_LIMITED');
        return error.details.retryAfterMs > 9 * MINUTE;
      },
    );
    await first.clock.advance(10 * MINUTE);
    await first.service.open((await first.service.invite('operator')).code, 'x');
  });
});

test('a session ends after twelve hours, an hour after its last use, and when it is revoked; its token and ticket with it', async () => {
  await using first = await started();
  const open = async () => first.service.open((await first.service.invite('operator')).code, 'x');
  const idle = await open();
  await first.clock.advance(61 * MINUTE);
  await assert.rejects(first.who(idle.token), { code: 'UNAUTHENTICATED' });

  const used = await open();
  for (let times = 0; times < 26; times += 1) {
    await first.clock.advance(27 * MINUTE);
    await first.who(used.token);
  }
  const over: string[] = [];
  using _over = first.service.onEnd((id) => over.push(id));
  await first.clock.advance(27 * MINUTE);
  // Who has a stream open asks nothing any more: he is told by its end.
  assert.deepEqual(over, [used.session.id]);
  await assert.rejects(first.who(used.token), { code: 'UNAUTHENTICATED' });

  const revoked = await open();
  const caller = await first.who(revoked.token);
  const { ticket } = await first.service.ticket(caller);
  const ended: string[] = [];
  using _listener = first.service.onEnd((id) => ended.push(id));
  await first.service.revoke(revoked.session.id);
  assert.deepEqual(ended, [revoked.session.id]);
  await assert.rejects(first.who(revoked.token), { code: 'UNAUTHENTICATED' });
  await assert.rejects(first.service.redeem(ticket), { code: 'UNAUTHENTICATED' });
  await assert.rejects(first.service.revoke(revoked.session.id), { code: 'SESSION_NOT_FOUND' });
});

test('a ticket is used once, within thirty seconds, and is of who asked for it', async () => {
  await using first = await started();
  const { token } = await first.service.open((await first.service.invite('viewer')).code, 'x');
  const caller = await first.who(token);
  const { ticket } = await first.service.ticket(caller);
  assert.equal(await first.service.redeem(ticket), caller);
  await assert.rejects(first.service.redeem(ticket), { code: 'UNAUTHENTICATED' });
  const late = await first.service.ticket(caller);
  await first.clock.advance(30_001);
  await assert.rejects(first.service.redeem(late.ticket), { code: 'UNAUTHENTICATED' });
  await assert.rejects(first.service.ticket({ kind: 'operator', id: 'operator' }), { code: 'CALLER_DENIED' });
});

test("the file holds no token, is nobody else's, and a page goes on after a restart of the plugin", async () => {
  await using first = await started();
  const { token, session } = await first.service.open((await first.service.invite('operator')).code, 'x');
  const file = join(first.host.device.paths.run, 'sessions.json');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await readFile(file, 'utf8')).includes(token), false);
  await using again = await started(first.host.device);
  assert.deepEqual((await again.who(token)).signedIn, { id: session.id, role: 'operator' });
  await again.service.label(session.id, 'The one in the kitchen');
  assert.equal((await again.service.list())[0]?.name, 'The one in the kitchen');
});

test('a damaged file ends the sessions and nothing else; one of a newer Core is left alone', async () => {
  await using first = await started();
  const file = join(first.host.device.paths.run, 'sessions.json');
  await first.service.open((await first.service.invite('operator')).code, 'x');
  for (const text of ['{"format":1,"sessions":[{"id":5}]}', '{"format":9}']) {
    await writeFile(file, text);
    await writeFile(`${file}.last-good`, text);
    await using again = await started(first.host.device);
    assert.deepEqual(await again.service.list(), []);
  }
  assert.equal(await readFile(file, 'utf8'), '{"format":9}');
});

test('more than 32 sessions end the one that is oldest', async () => {
  await using first = await started();
  const open = async () => first.service.open((await first.service.invite('viewer')).code, 'x');
  const oldest = await open();
  for (let times = 0; times < 31; times += 1) await open();
  const ended: string[] = [];
  using _listener = first.service.onEnd((id) => ended.push(id));
  await open();
  assert.deepEqual(ended, [oldest.session.id]);
  await assert.rejects(first.who(oldest.token), { code: 'UNAUTHENTICATED' });
});
