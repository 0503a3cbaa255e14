/** The operator in a browser: codes, sessions, tickets, and what ends them (decisions D13). */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ANONYMOUS, type Caller, type CallerPeer, type CoreError } from '@device-core/plugin-api';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/identity/index.ts';
import { OneTimeCodes } from '../../../plugins/interface/identity/one-time-codes.ts';

after(leakCheck());

const manifest = new URL('../../../manifests/plugins/interface/identity.yaml', import.meta.url).pathname;
const MINUTE = 60_000;

const from = (peer?: CallerPeer): Caller => ({ ...ANONYMOUS, ...(peer && { peer }) });
const tcp = (remoteAddress: string, remotePort: number) => ({
  tcp: { localAddress: '192.0.2.9', localPort: 55_280, remoteAddress, remotePort },
});
/** Two who are not the same. */
const PEERS: readonly (readonly [Caller, Caller])[] = [
  [from({ uid: 1_000 }), from({ uid: 1_001 })],
  [from(tcp('192.0.2.1', 1)), from(tcp('192.0.2.2', 1))],
  [from({ uid: 1_000 }), from(tcp('192.0.2.1', 1))],
  [from(), from({ uid: 1_000 })],
  [
    { kind: 'app', id: 'com.example.a' },
    { kind: 'app', id: 'com.example.b' },
  ],
];

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
  test('of a peer that sent five wrong ones, until the next code; all others sign in', async () => {
    for (const [peer, other] of PEERS) {
      await using first = await started();
      const { code } = await first.service.invite('operator');
      for (let times = 0; times < 5; times += 1)
        await assert.rejects(first.service.open('AAAA-AAAA', 'x', undefined, peer), { code: 'UNAUTHENTICATED' });
      for (const tried of ['AAAA-AAAA', code])
        await assert.rejects(
          first.service.open(tried, 'x', undefined, peer),
          (error: { code: string; message: string; details: { retryAfterMs: number } }) => {
            assert.equal(error.code, 'RATE_LIMITED');
            assert.match(error.message, /"devicectl web" makes a new one/);
            return error.details.retryAfterMs <= 2 * MINUTE;
          },
        );
      await first.service.open(code, 'x', undefined, other);
      const next = await first.service.invite('viewer');
      assert.equal((await first.service.open(next.code, 'x', undefined, peer)).session.role, 'viewer');
    }
  });
  test('and wrong ones while none is open count for nothing', async () => {
    await using first = await started();
    const wrong = () => assert.rejects(first.service.open('AAAA-AAAA', 'x'), { code: 'UNAUTHENTICATED' });
    for (let times = 0; times < 50; times += 1) await wrong();
    await first.service.open((await first.service.invite('viewer')).code, 'x');
    for (let times = 0; times < 50; times += 1) await wrong();
    await first.service.open((await first.service.invite('viewer')).code, 'x');
  });
  test('that confirms, of the session that sent five wrong ones alone', async () => {
    await using first = await started();
    const page = (id: string): Caller => ({ kind: 'operator', id: 'operator', signedIn: { id, role: 'operator' } });
    const { code } = await first.service.confirmationCode();
    for (let times = 0; times < 5; times += 1)
      await assert.rejects(first.service.takeConfirmation('AAAA-AAAA', page('one')), { code: 'UNAUTHENTICATED' });
    await assert.rejects(first.service.takeConfirmation(code, page('one')), { code: 'RATE_LIMITED' });
    await first.service.takeConfirmation(code, page('other'));
    await first.service.takeConfirmation((await first.service.confirmationCode()).code, page('one'));
  });
});

describe('a flood of wrong codes', () => {
  const codes = () => new OneTimeCodes<string>(virtualClock(), { what: 'signing in', command: 'devicectl web' });
  const outcome = (taken: Promise<string>) => taken.catch(({ code }: CoreError) => code as string);

  test('costs a bounded number of looks, and keeps no holder of the right one out', async () => {
    for (const peers of [1, 3, 10_000]) {
      const door = codes();
      const { code } = door.make('in');
      let looks = 0;
      const flood = Array.from({ length: 10_000 }, (_, at) =>
        outcome(
          door.take('AAAA-AAAA', async () => {
            looks++;
            return `peer ${at % peers}`;
          }),
        ),
      );
      assert.equal((await Promise.all(flood)).includes('in'), false);
      assert.ok(looks <= 64, `${looks} looks`);
      assert.equal(await door.take(code, async () => 'a person'), 'in');
    }
  });
  test('that come at once is five of one peer, though each waits for its peer to be known', async () => {
    const door = codes();
    const { code } = door.make('in');
    const tries = [...Array<string>(20).fill('AAAA-AAAA'), code];
    const outcomes = await Promise.all(tries.map((one) => outcome(door.take(one, async () => 'a guest'))));
    assert.equal(outcomes.filter((one) => one === 'UNAUTHENTICATED').length, 5);
    assert.equal(outcomes.filter((one) => one === 'RATE_LIMITED').length, 16);
  });
  test('and the right one twice at once signs one in', async () => {
    const door = codes();
    const { code } = door.make('in');
    const outcomes = await Promise.all(['a', 'b'].map((peer) => outcome(door.take(code, async () => peer))));
    assert.deepEqual(outcomes.toSorted(), ['UNAUTHENTICATED', 'in']);
  });
  test('while the code is made anew ends with the former code', async () => {
    const door = codes();
    door.make('former');
    const release = Promise.withResolvers<string>();
    const late = Array.from({ length: 9 }, () => outcome(door.take('AAAA-AAAA', () => release.promise)));
    const { code } = door.make('new');
    release.resolve('a guest');
    await Promise.all(late);
    assert.equal(await door.take(code, async () => 'a guest'), 'new');
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

test('the file holds no token, belongs to the Core alone, and a page goes on after a restart of the plugin', async () => {
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
