import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { CallContext, Caller, CoreError, Session } from '@device-core/plugin-api';
import { checkManifest, createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/limits/index.ts';
import { TokenBuckets } from '../../../plugins/limits/token-buckets.ts';

const MANIFEST = 'manifests/plugins/limits.yaml';
const APP: Caller = { kind: 'app', id: 'com.example.a' };
const OTHER: Caller = { kind: 'app', id: 'com.example.b' };
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const SESSION = { id: '1', app: APP.id } as Session;

after(leakCheck());

async function start(config: object = {}) {
  const host = await createTestHost(plugin, { manifest: MANIFEST, config });
  /** How many of `times` calls in a row get through, and the last refusal. */
  const burst = async (operation: string, times: number, caller = APP, session?: Session) => {
    let passed = 0;
    let refusal: CoreError | undefined;
    for (let n = 0; n < times; n++) {
      const answer = await host.hook('operation.before').promise(operation, { caller, session } as CallContext);
      if (answer) refusal = answer;
      else passed++;
    }
    return { passed, refusal };
  };
  return { host, burst, [Symbol.asyncDispose]: () => host.stop() };
}

describe('limits', () => {
  it('agrees with its manifest', () => assert.deepEqual(checkManifest(MANIFEST, plugin), []));

  const CASES = [
    { what: '100 REST requests at once', operation: 'config.get', times: 130, least: 100, most: 112 },
    { what: '400 publishes at once', operation: 'events.publish', times: 450, least: 400, most: 440 },
    { what: '10 registrations', operation: 'functions.register', times: 12, least: 10, most: 10 },
    {
      what: '10 registrations over a session, too',
      operation: 'functions.register',
      times: 12,
      session: SESSION,
      least: 10,
      most: 10,
    },
    {
      what: 'everything else of a session',
      operation: 'config.get',
      times: 500,
      session: SESSION,
      least: 500,
      most: 500,
    },
    {
      what: 'everything of the operator',
      operation: 'functions.register',
      times: 50,
      caller: OPERATOR,
      least: 50,
      most: 50,
    },
    {
      what: 'twenty times as much when generous',
      operation: 'functions.register',
      times: 220,
      config: { generous: true },
      least: 200,
      most: 201,
    },
    {
      what: 'what the device configures',
      operation: 'a.b',
      times: 9,
      config: { operations: { 'a.b': { perMinute: 1, burst: 3 } } },
      least: 3,
      most: 3,
    },
  ];
  for (const { what, operation, times, caller, session, config, least, most } of CASES) {
    it(`lets through ${what}`, async () => {
      await using limits = await start(config);
      const { passed } = await limits.burst(operation, times, caller, session);
      assert.ok(passed >= least && passed <= most, `${passed} passed`);
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
