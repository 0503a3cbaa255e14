/** Browsers that stay signed in: a key, a challenge, a session; and everybody who tries without. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { KeyOfBrowser } from './browser.ts';
import { type Bench, boot } from './fixture.ts';

after(leakCheck());

const DAY = 86_400_000;
const NOBODY = { kind: 'anonymous', id: 'anonymous' } as const;

/** A browser that signed in with the box ticked. */
async function staying(bench: Bench, role: 'viewer' | 'operator' = 'operator', name = 'Firefox on Linux') {
  const { code } = await bench.sessions.invite(role);
  const own = new KeyOfBrowser();
  const { token, session } = await bench.run('sessions.open', { code, name, key: own.key }, NOBODY);
  const id: string = session.browser;
  const challenge = async (origin = 'http://127.0.0.1:55280'): Promise<string> =>
    (await bench.run('sessions.challenge', { browser: id, origin }, NOBODY)).challenge;
  const resume = async () => bench.run('sessions.resume', own.proof(id, await challenge()), NOBODY);
  return { own, id, token, session, challenge, resume };
}

describe('a browser that stays signed in', () => {
  for (const role of ['viewer', 'operator'] as const)
    test(`begins sessions as ${role} when it was registered by one, long after the first has ended`, async () => {
      await using bench = await boot();
      const browser = await staying(bench, role);
      assert.equal(browser.session.role, role);
      await bench.clock.advance(29 * DAY);
      await assert.rejects(bench.who(browser.token), { code: 'UNAUTHENTICATED' });
      const { token, session } = await browser.resume();
      assert.deepEqual([session.role, session.browser, session.name], [role, browser.id, 'Firefox on Linux']);
      assert.deepEqual((await bench.who(token)).signedIn, { id: session.id, role });
      // That was a use of it.
      await bench.clock.advance(29 * DAY);
      await browser.resume();
    });

  test('is listed with its sessions, named, and ended with all of them at once', async () => {
    await using bench = await boot();
    const browser = await staying(bench);
    const second = await browser.resume();
    const other = await bench.signIn('viewer', 'a tablet');
    const listed = async () =>
      (await bench.run('sessions.list')).sessions.map((one: { kind: string; name: string }) => [one.kind, one.name]);
    assert.deepEqual(await listed(), [
      ['browser', 'Firefox on Linux'],
      ['tab', 'a tablet'],
      ['tab', 'Firefox on Linux'],
      ['tab', 'Firefox on Linux'],
    ]);
    await bench.run('sessions.rename', { id: browser.id, name: 'The laptop' });
    assert.deepEqual((await listed())[0], ['browser', 'The laptop']);
    const ended: string[] = [];
    using _listener = bench.sessions.onEnd((id) => ended.push(id));
    await bench.run('sessions.revoke', { id: browser.id });
    assert.deepEqual(ended.sort(), [browser.session.id, second.session.id].sort());
    assert.deepEqual(await listed(), [['tab', 'a tablet']]);
    await bench.who(other.token);
    await assert.rejects(bench.who(second.token), { code: 'UNAUTHENTICATED' });
    await assert.rejects(browser.resume(), { code: 'BROWSER_UNKNOWN' });
  });

  test('ends with any of its sessions that is revoked, or it would be back at once', async () => {
    await using bench = await boot();
    const browser = await staying(bench);
    const second = await browser.resume();
    await bench.run('sessions.revoke', { id: second.session.id });
    await assert.rejects(browser.resume(), { code: 'BROWSER_UNKNOWN' });
    await assert.rejects(bench.who(browser.token), { code: 'UNAUTHENTICATED' });
  });

  test('may be one that signed in already; its former key is void', async () => {
    await using bench = await boot();
    const page = await bench.signIn();
    const [first, second] = [new KeyOfBrowser(), new KeyOfBrowser()];
    // Whoever sits down at an open page does not stay signed in by that alone.
    await assert.rejects(bench.run('sessions.stay', { key: first.key, name: 'a tablet' }, page.caller), {
      code: 'CONFIRMATION_REQUIRED',
    });
    const stay = ({ key }: KeyOfBrowser) => bench.sessions.stay(page.caller, 'a tablet', key);
    const former = await stay(first);
    const { id, role } = await stay(second);
    assert.equal(role, 'operator');
    await assert.rejects(bench.sessions.challenge(former.id, 'x'), { code: 'BROWSER_UNKNOWN' });
    await bench.run('sessions.revoke', { id: page.session.id }, page.caller);
    await assert.rejects(bench.sessions.challenge(id, 'x'), { code: 'BROWSER_UNKNOWN' });
  });

  test('ends when it was not used for thirty days', async () => {
    await using bench = await boot();
    const browser = await staying(bench);
    await bench.clock.advance(30 * DAY);
    await assert.rejects(browser.resume(), { code: 'BROWSER_UNKNOWN' });
    assert.deepEqual((await bench.run('sessions.list')).sessions, []);
  });

  test('has eight sessions at most, and pushes out no other; with seventeen browsers the one unused longest goes', async () => {
    await using bench = await boot();
    const other = await bench.signIn();
    const browser = await staying(bench);
    for (let times = 0; times < 8; times += 1) await browser.resume();
    await bench.who(other.token);
    await assert.rejects(bench.who(browser.token), { code: 'UNAUTHENTICATED' });
    assert.equal((await bench.sessions.list()).length, 9);
    for (let times = 0; times < 16; times += 1) {
      await bench.clock.advance(1);
      await staying(bench, 'viewer');
    }
    assert.equal((await bench.sessions.browsers()).length, 16);
    await assert.rejects(browser.resume(), { code: 'BROWSER_UNKNOWN' });
    assert.equal((await bench.sessions.list()).length, 17);
  });
});

describe('a proof is refused', () => {
  for (const [title, attack, code] of [
    [
      'when it comes again',
      async ({ browser, bench }) => {
        const proof = browser.own.proof(browser.id, await browser.challenge());
        await bench.run('sessions.resume', proof, NOBODY);
        return proof;
      },
      'UNAUTHENTICATED',
    ],
    [
      'by the key of another browser',
      async ({ browser, other }) => other.own.proof(browser.id, await browser.challenge()),
      'UNAUTHENTICATED',
    ],
    [
      'with the id of another browser',
      async ({ browser, other }) => browser.own.proof(other.id, await browser.challenge()),
      'UNAUTHENTICATED',
    ],
    [
      'that signs another page',
      async ({ browser }) => browser.own.proof(browser.id, await browser.challenge(), 'http://localhost:55280'),
      'UNAUTHENTICATED',
    ],
    [
      'of a page elsewhere',
      async ({ browser }) => browser.own.proof(browser.id, await browser.challenge(), 'http://evil.example'),
      'ORIGIN_DENIED',
    ],
    [
      'of a page on another port',
      async ({ browser }) => browser.own.proof(browser.id, await browser.challenge(), 'http://127.0.0.1:55281'),
      'ORIGIN_DENIED',
    ],
    [
      'after a minute',
      async ({ browser, bench }) => {
        const challenge = await browser.challenge();
        await bench.clock.advance(60_002);
        return browser.own.proof(browser.id, challenge);
      },
      'UNAUTHENTICATED',
    ],
    [
      'for a challenge that it gave more time',
      async ({ browser }) => {
        const [nonce, , seal] = (await browser.challenge()).split('.');
        return browser.own.proof(browser.id, `${nonce}.zzzzzzzzz.${seal}`);
      },
      'UNAUTHENTICATED',
    ],
    [
      'for a challenge of its own',
      async ({ browser }) => browser.own.proof(browser.id, `${'A'.repeat(22)}.zzzzzzzzz.${'A'.repeat(43)}`),
      'UNAUTHENTICATED',
    ],
    ['for no challenge', async ({ browser }) => browser.own.proof(browser.id, ''), 'UNAUTHENTICATED'],
    [
      'after its key was revoked, for a challenge of before',
      async ({ browser, bench }) => {
        const challenge = await browser.challenge();
        await bench.run('sessions.revoke', { id: browser.id });
        return browser.own.proof(browser.id, challenge);
      },
      'BROWSER_UNKNOWN',
    ],
    [
      'of nobody',
      async ({ browser }) => browser.own.proof('nobodys-id-0', await browser.challenge()),
      'BROWSER_UNKNOWN',
    ],
    [
      'that asks for a role',
      async ({ browser }) => ({ ...browser.own.proof(browser.id, await browser.challenge()), role: 'operator' }),
      'PARAMS_INVALID',
    ],
    [
      'that is no signature',
      async ({ browser }) => ({ ...browser.own.proof(browser.id, await browser.challenge()), signature: '' }),
      'PARAMS_INVALID',
    ],
  ] satisfies readonly (readonly [string, (on: Attack) => Promise<object>, string])[])
    test(title, async () => {
      await using bench = await boot();
      const [browser, other] = [await staying(bench, 'viewer'), await staying(bench)];
      const proof = await attack({ bench, browser, other });
      const sessions = (await bench.sessions.list()).length;
      await assert.rejects(bench.run('sessions.resume', proof, NOBODY), { code });
      assert.equal((await bench.sessions.list()).length, sessions);
    });

  test('of an app, which may not ask for a challenge either, nor sign in with a key', async () => {
    await using bench = await boot();
    const browser = await staying(bench);
    const app = { kind: 'app', id: 'com.example.agenda' } as const;
    const origin = 'http://127.0.0.1:55280';
    const proof = browser.own.proof(browser.id, await browser.challenge());
    for (const [name, params] of [
      ['sessions.challenge', { browser: browser.id, origin }],
      ['sessions.resume', proof],
      ['sessions.stay', { key: browser.own.key }],
      ['sessions.open', { code: 'ABCD-EFGH', key: browser.own.key }],
    ] as const)
      await assert.rejects(bench.run(name, params, app), { code: 'CALLER_DENIED' }, name);
    await assert.rejects(bench.run('sessions.stay', { key: browser.own.key }), { code: 'CALLER_DENIED' });
    await bench.run('sessions.resume', proof, NOBODY);
  });
});

interface Attack {
  readonly bench: Bench;
  readonly browser: Awaited<ReturnType<typeof staying>>;
  readonly other: Awaited<ReturnType<typeof staying>>;
}

test('five wrong proofs close the door of this browser for ten minutes, and no other: codes and other browsers come in', async () => {
  await using bench = await boot();
  const [browser, other] = [await staying(bench), await staying(bench)];
  for (let times = 0; times < 5; times += 1) {
    const wrong = other.own.proof(browser.id, await browser.challenge());
    await assert.rejects(bench.run('sessions.resume', wrong, NOBODY), { code: 'UNAUTHENTICATED' });
  }
  await assert.rejects(browser.resume(), (error: { code: string; details: { retryAfterMs: number } }) => {
    assert.equal(error.code, 'RATE_LIMITED');
    return error.details.retryAfterMs > 9 * 60_000;
  });
  await other.resume();
  await bench.signIn();
  await bench.clock.advance(600_000);
  await browser.resume();
});

test('ten thousand challenges push out no browser, and one browser has sixteen sessions a minute', async () => {
  await using bench = await boot();
  const [browser, other] = [await staying(bench), await staying(bench)];
  const before = await browser.challenge();
  for (let times = 0; times < 10_000; times += 1) await bench.sessions.challenge(browser.id, 'http://127.0.0.1:55280');
  await bench.run('sessions.resume', browser.own.proof(browser.id, before), NOBODY);
  for (let times = 1; times < 16; times += 1) await browser.resume();
  await assert.rejects(browser.resume(), { code: 'BUSY' });
  await other.resume();
  await bench.clock.advance(60_002);
  await browser.resume();
});

test('a text that is no key is refused before the code is taken', async () => {
  await using bench = await boot();
  const { code } = await bench.sessions.invite('operator');
  const zero = Buffer.concat([Buffer.of(4), Buffer.alloc(64)]).toString('base64url');
  for (const key of [zero, 'A'.repeat(87), 'short', ''])
    await assert.rejects(bench.run('sessions.open', { code, key }, NOBODY), { code: 'PARAMS_INVALID' }, key);
  await bench.run('sessions.open', { code, key: new KeyOfBrowser().key }, NOBODY);
});
