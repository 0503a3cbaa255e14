import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ANONYMOUS, type CallContext, type Caller, type CoreError, type Session } from '@device-core/plugin-api';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/limits/index.ts';
import { TokenBuckets } from '../../../plugins/interface/limits/token-buckets.ts';

const MANIFEST = 'manifests/plugins/interface/limits.yaml';
const APP: Caller = { kind: 'app', id: 'com.example.a' };
const OTHER: Caller = { kind: 'app', id: 'com.example.b' };
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const SESSION = { id: '1', app: APP.id } as Session;

after(leakCheck());

async function start(config: object = {}) {
  const host = await createTestHost(plugin, { manifest: MANIFEST, config });
  /** How many of `times` calls in a row get through, the last refusal, and how long they took. */
  const burst = async (operation: string, times: number, caller = APP, session?: Session) => {
    let passed = 0;
    let refusal: CoreError | undefined;
    const start = performance.now();
    for (let n = 0; n < times; n++) {
      const answer = await host.hook('operation.before').promise(operation, { caller, session } as CallContext);
      if (answer) refusal = answer;
      else passed++;
    }
    return { passed, refusal, seconds: (performance.now() - start) / 1_000 };
  };
  return { host, burst, [Symbol.asyncDispose]: () => host.stop() };
}

describe('limits', () => {
  const REGISTER = { operation: 'functions.register', burst: 10, perMinute: 10 };
  interface Case {
    readonly what: string;
    readonly operation: string;
    readonly times: number;
    readonly burst: number;
    readonly perMinute?: number;
    readonly caller?: Caller;
    readonly session?: Session;
    readonly config?: object;
  }
  const CASES: readonly Case[] = [
    { what: '100 REST requests at once', operation: 'config.get', times: 130, burst: 100, perMinute: 3_000 },
    { what: '400 publishes at once', operation: 'events.publish', times: 450, burst: 400, perMinute: 12_000 },
    { what: '10 registrations', ...REGISTER, times: 12 },
    { what: '10 registrations over a session, too', ...REGISTER, times: 12, session: SESSION },
    { what: 'everything else of a session', operation: 'config.get', times: 500, session: SESSION, burst: Infinity },
    { what: 'everything of the operator', ...REGISTER, times: 50, caller: OPERATOR, burst: Infinity },
    {
      what: 'twenty times as much when generous',
      operation: 'functions.register',
      times: 220,
      burst: 200,
      perMinute: 200,
      config: { generous: true },
    },
    {
      what: 'what the device configures',
      operation: 'a.b',
      times: 9,
      burst: 3,
      perMinute: 1,
      config: { operations: { 'a.b': { perMinute: 1, burst: 3 } } },
    },
  ];
  for (const { what, operation, times, burst, perMinute = 0, caller, session, config } of CASES) {
    it(`lets through ${what}`, async () => {
      await using limits = await start(config);
      const { passed, seconds } = await limits.burst(operation, times, caller, session);
      const refilled = Math.ceil((seconds * perMinute) / 60);
      assert.ok(passed >= Math.min(times, burst) && passed <= burst + refilled, `${passed} passed in ${seconds} s`);
    });
  }

  it('says who, what, how much and when again', async () => {
    await using limits = await start();
    const { refusal } = await limits.burst('functions.register', 11);
    assert.equal(refusal?.code, 'RATE_LIMITED');
    assert.match(
      refusal.message,
      /^app\.com\.example\.a exceeded 10 a minute .* for functions\.register; retry in \d+ ms$/,
    );
    const wait = refusal.details.retryAfterMs as number;
    assert.ok(wait > 5_000 && wait <= 6_000, String(wait));
  });

  it('counts each caller by itself', async () => {
    await using limits = await start();
    await limits.burst('functions.register', 11);
    assert.equal((await limits.burst('functions.register', 5, OTHER)).passed, 5);
  });

  it('counts callers without identity by their connection: a flood on one keeps no other from signing in', async () => {
    await using limits = await start();
    const tcp = (remotePort: number, remoteAddress = '127.0.0.1'): Caller => ({
      ...ANONYMOUS,
      peer: { tcp: { localAddress: '127.0.0.1', localPort: 55_280, remoteAddress, remotePort } },
    });
    const user = (uid: number): Caller => ({ ...ANONYMOUS, peer: { uid } });
    const peers = [tcp(40_000), tcp(40_001), tcp(40_000, '::1'), user(1_000), user(1_001), ANONYMOUS];
    for (const peer of peers) {
      const { passed, refusal } = await limits.burst('sessions.open', 300, peer);
      assert.ok(passed >= 100 && passed < 200, `${passed} of ${JSON.stringify(peer)}`);
      assert.match(refusal?.message ?? '', /^anonymous exceeded/);
    }
  });
});

describe('token buckets', () => {
  it('refill with time up to the burst', () => {
    let now = 0;
    const buckets = new TokenBuckets(10, () => now);
    const rate = { perMinute: 60, burst: 2 };
    const take = () => buckets.take('a', rate);
    assert.deepEqual([take(), take(), take()], [0, 0, 1000]);
    now = 400;
    assert.equal(take(), 600);
    now = 1000;
    assert.deepEqual([take(), take()], [0, 1000]);
    now = 60_000;
    assert.deepEqual([take(), take(), take()], [0, 0, 1000]);
  });

  it('forget the longest unused beyond their bound', () => {
    const buckets = new TokenBuckets(2, () => 0);
    const rate = { perMinute: 1, burst: 1 };
    for (const key of ['a', 'b', 'a', 'c']) buckets.take(key, rate);
    assert.equal(buckets.size, 2);
    assert.equal(buckets.take('a', rate), 60_000);
    assert.equal(buckets.take('b', rate), 0);
  });
});
