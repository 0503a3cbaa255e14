/** What a page may not do on its own word, and the two ways in which a person confirms it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { Network } from '@device-core/plugin-api/services/network';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import { leakCheck } from '@device-core/plugin-api/testing';
import { networkOperations } from '../../../plugins/life/network/operations.ts';
import { updateOperations } from '../../../plugins/life/updater/operations.ts';
import { type Bench, boot, type Page, sensitive } from './fixture.ts';

after(leakCheck());

const MINUTE = 60_000;

/** Asks as a page does, and is told what to confirm. */
async function refused(bench: Bench, page: Page, params: object = { id: 'x' }) {
  const error = await bench.run('test.remove', params, page.caller).then(
    () => assert.fail('it was done'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError && error.code === 'CONFIRMATION_REQUIRED', String(error));
  return error.details as { confirmation: string; what: string; ways: string[]; names: object; until: number };
}

async function begin(options: { panel?: boolean } = {}) {
  const { done, row } = sensitive();
  const bench = await boot({ ...options, rows: [row] });
  const page = await bench.signIn();
  return { done, bench, page, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() };
}

describe('a sensitive act of a page', () => {
  test('waits for a yes on the panel, which is told what and by which browser, and is done once', async () => {
    await using it = await begin();
    const { confirmation, what, ways, names } = await refused(it.bench, it.page, { id: 'com.example.chime' });
    assert.deepEqual([what, ways, names], ['remove com.example.chime', ['panel', 'code'], { id: 'com.example.chime' }]);
    await it.bench.clock.advance(0);
    const [question] = it.bench.asked;
    assert.deepEqual(
      [question?.kind, question?.title, question?.act],
      ['confirm', 'Firefox on Linux', 'remove com.example.chime'],
    );
    const outcome = it.bench.run('sessions.confirmation', { id: confirmation }, it.page.caller);
    question?.answer('answered', ['yes']);
    assert.deepEqual(await outcome, { state: 'confirmed' });
    await it.bench.run('test.remove', { id: 'com.example.chime' }, it.page.with(confirmation));
    assert.deepEqual(it.done, [{ id: 'com.example.chime' }]);
    await assert.rejects(it.bench.run('test.remove', { id: 'com.example.chime' }, it.page.with(confirmation)), {
      code: 'CONFIRMATION_REQUIRED',
    });
    assert.equal(it.done.length, 1);
  });

  test('waits for a code that the owner made, and takes the question off the panel then', async () => {
    await using it = await begin();
    const { confirmation } = await refused(it.bench, it.page);
    await it.bench.clock.advance(0);
    const { code, waiting } = await it.bench.run('sessions.confirmationCode');
    assert.deepEqual(
      waiting.map(({ name, what }: { name: string; what: string }) => [name, what]),
      [['Firefox on Linux', 'remove x']],
    );
    await it.bench.run('sessions.confirm', { id: confirmation, code: code.toLowerCase() }, it.page.caller);
    assert.deepEqual(await it.bench.run('sessions.confirmation', { id: confirmation }, it.page.caller), {
      state: 'confirmed',
    });
    assert.equal(it.bench.asked.length, 0);
    await it.bench.run('test.remove', { id: 'x' }, it.page.with(confirmation));
    assert.equal(it.done.length, 1);
  });

  test('is asked of no other caller, and not where the params make it harmless', async () => {
    await using it = await begin();
    await it.bench.run('test.remove', { id: 'x' });
    await it.bench.run('test.remove', { id: 'x', check: true }, it.page.caller);
    assert.equal(it.done.length, 2);
  });

  test('is asked anew only once the first question is over: a page that repeats itself causes no flood', async () => {
    await using it = await begin();
    const first = await refused(it.bench, it.page);
    assert.equal((await refused(it.bench, it.page)).confirmation, first.confirmation);
    await it.bench.clock.advance(0);
    assert.equal(it.bench.asked.length, 1);
    it.bench.asked[0]?.answer('answered', []);
    assert.deepEqual(await it.bench.run('sessions.confirmation', { id: first.confirmation }, it.page.caller), {
      state: 'refused',
    });
    await assert.rejects(it.bench.run('test.remove', { id: 'x' }, it.page.caller), { code: 'CALLER_DENIED' });
    await it.bench.clock.advance(2 * MINUTE + 1);
    assert.notEqual((await refused(it.bench, it.page)).confirmation, first.confirmation);
  });

  test('offers the code alone where there is no panel', async () => {
    await using it = await begin({ panel: false });
    assert.deepEqual((await refused(it.bench, it.page)).ways, ['code']);
  });
});

describe('a confirmed act is shown in full', () => {
  const EYE = {
    id: 'com.example.eye',
    title: 'Eye',
    version: '1.0.0',
    signer: 'maker',
    what: [{ capability: 'audio.capture', summary: 'hear the microphone', reason: 'r', optional: false }],
    claims: [{ kind: 'reads', name: '/etc', summary: 'read /etc' }],
  } as const satisfies ActSubject;
  const about = async (subject: ActSubject | Error) => {
    const { done, row } = sensitive();
    let asked = 0;
    const look = async () => {
      asked += 1;
      if (subject instanceof Error) throw subject;
      return subject;
    };
    const bench = await boot({ rows: [{ ...row, about: look }] });
    return {
      done,
      bench,
      page: await bench.signIn(),
      asked: () => asked,
      [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
    };
  };

  test('on the panel, on the page and by devicectl: the package, its signer and each right; and it is looked at once', async () => {
    await using it = await about(EYE);
    const details = (await refused(it.bench, it.page, { id: EYE.id })) as object;
    await refused(it.bench, it.page, { id: EYE.id });
    await it.bench.clock.advance(0);
    const [question] = it.bench.asked;
    const { what, claims, ...of } = EYE;
    assert.deepEqual(
      [question?.operation, question?.about, question?.what, question?.claims],
      ['test.remove', of, what, claims],
    );
    assert.deepEqual(Object(details).about, EYE);
    const { waiting } = await it.bench.run('sessions.confirmationCode');
    assert.deepEqual(waiting[0].about, EYE);
    assert.equal(it.asked(), 1);
  });

  test('with all of a long param, up to a bound beyond which no page can have it confirmed', async () => {
    await using it = await begin();
    const id = `${'b'.repeat(1_500)}-end`;
    await refused(it.bench, it.page, { id });
    await it.bench.clock.advance(0);
    assert.equal(it.bench.asked[0]?.act, `remove ${id}`);
    const error = await it.bench
      .run('test.remove', { id: 'b'.repeat(3_000) }, it.page.caller)
      .catch((thrown) => thrown);
    assert.equal(error.code, 'CONFIRMATION_REQUIRED');
    assert.match(error.message, /too long to be shown whole/);
    assert.equal(error.details.confirmation, undefined);
  });

  test('and no question comes for an act that would be refused anyway', async () => {
    await using it = await about(new CoreError('PACKAGE_INVALID', { source: 'x', reason: 'it is none' }));
    await assert.rejects(it.bench.run('test.remove', { id: 'x' }, it.page.caller), { code: 'PACKAGE_INVALID' });
    await it.bench.clock.advance(0);
    assert.equal(it.bench.asked.length, 0);
  });

  test('an act whose question was answered elsewhere is gone, and one that was only taken off the panel is not', async () => {
    for (const [answers, state] of [
      ['q1', 'gone'],
      [undefined, 'open'],
    ] as const) {
      await using it = await about({ id: EYE.id, ...(answers && { answers }) });
      const { confirmation } = await refused(it.bench, it.page);
      await it.bench.clock.advance(0);
      it.bench.asked[0]?.answer('withdrawn');
      await it.bench.clock.advance(0);
      const outcome = it.bench.run('sessions.confirmation', { id: confirmation }, it.page.caller);
      await it.bench.clock.advance(20_000);
      assert.deepEqual(await outcome, { state });
    }
  });
});

describe('a confirmation does not hold', () => {
  const confirmed = async (it: Awaited<ReturnType<typeof begin>>, params: object = { id: 'x' }) => {
    const { confirmation } = await refused(it.bench, it.page, params);
    await it.bench.clock.advance(0);
    it.bench.asked[0]?.answer('answered', ['yes']);
    await it.bench.clock.advance(0);
    return confirmation;
  };
  const denied = async (it: Awaited<ReturnType<typeof begin>>, ...[params, caller]: [object, Page['caller']]) => {
    await assert.rejects(it.bench.run('test.remove', params, caller), { code: 'CONFIRMATION_REQUIRED' });
    assert.deepEqual(it.done, []);
  };
  test('for other params', async () => {
    await using it = await begin();
    const id = await confirmed(it);
    await denied(it, { id: 'y' }, it.page.with(id) as Page['caller']);
    await denied(it, { id: 'x', more: { all: true } }, it.page.with(id) as Page['caller']);
  });
  test('for another session', async () => {
    await using it = await begin();
    const id = await confirmed(it);
    const other = await it.bench.signIn();
    await denied(it, { id: 'x' }, other.with(id) as Page['caller']);
  });
  test('after two minutes', async () => {
    await using it = await begin();
    const id = await confirmed(it);
    await it.bench.clock.advance(2 * MINUTE + 1);
    await denied(it, { id: 'x' }, it.page.with(id) as Page['caller']);
  });
  test('before anybody confirmed it', async () => {
    await using it = await begin();
    const { confirmation } = await refused(it.bench, it.page);
    await denied(it, { id: 'x' }, it.page.with(confirmation) as Page['caller']);
  });
  test('after its session has ended', async () => {
    await using it = await begin();
    const id = await confirmed(it);
    await it.bench.sessions.revoke(it.page.session.id);
    await denied(it, { id: 'x' }, it.page.with(id) as Page['caller']);
  });
  test('when it is made up', async () => {
    await using it = await begin();
    await denied(it, { id: 'x' }, it.page.with('AAAAAAAAAAAA') as Page['caller']);
  });
});

describe('codes that confirm', () => {
  test('are made for no page, not even for one of the operator', async () => {
    await using it = await begin();
    await assert.rejects(it.bench.run('sessions.confirmationCode', {}, it.page.caller), { code: 'CALLER_DENIED' });
  });
  test('sign no browser in, and those that sign in confirm nothing', async () => {
    await using it = await begin();
    const { confirmation } = await refused(it.bench, it.page);
    const { code } = await it.bench.run('sessions.confirmationCode');
    await assert.rejects(it.bench.run('sessions.open', { code }), { code: 'UNAUTHENTICATED' });
    const signIn = await it.bench.sessions.invite('operator');
    await assert.rejects(it.bench.run('sessions.confirm', { id: confirmation, code: signIn.code }, it.page.caller), {
      code: 'CALLER_DENIED',
    });
  });
  test('are of one use, and of the page that asked', async () => {
    await using it = await begin();
    const first = await refused(it.bench, it.page);
    const second = await refused(it.bench, it.page, { id: 'y' });
    const other = await it.bench.signIn();
    const { code } = await it.bench.run('sessions.confirmationCode');
    await assert.rejects(it.bench.run('sessions.confirm', { id: first.confirmation, code }, other.caller), {
      code: 'CALLER_DENIED',
    });
    await it.bench.run('sessions.confirm', { id: first.confirmation, code }, it.page.caller);
    await assert.rejects(it.bench.run('sessions.confirm', { id: second.confirmation, code }, it.page.caller), {
      code: 'CALLER_DENIED',
    });
  });
  test('take five wrong ones of a session, and the next code opens the door', async () => {
    await using it = await begin();
    const { confirmation: id } = await refused(it.bench, it.page);
    const guess = () => it.bench.run('sessions.confirm', { id, code: 'AAAA-AAAA' }, it.page.caller);
    // While no code is open there is nothing to guess.
    for (let times = 0; times < 9; times += 1) await assert.rejects(guess(), { code: 'CALLER_DENIED' });
    await it.bench.run('sessions.confirmationCode');
    for (let times = 0; times < 5; times += 1) await assert.rejects(guess(), { code: 'CALLER_DENIED' });
    await assert.rejects(guess(), { code: 'RATE_LIMITED' });
    const { code } = await it.bench.run('sessions.confirmationCode');
    await it.bench.run('sessions.confirm', { id, code }, it.page.caller);
  });
  test('are good for two minutes', async () => {
    await using it = await begin();
    const { code } = await it.bench.run('sessions.confirmationCode');
    await it.bench.clock.advance(2 * MINUTE + 1);
    const { confirmation: id } = await refused(it.bench, it.page);
    await assert.rejects(it.bench.run('sessions.confirm', { id, code }, it.page.caller), { code: 'CALLER_DENIED' });
  });
});

test('a page that waits for an answer hears after twenty seconds that there is none yet, and at the end that it is gone', async () => {
  await using it = await begin();
  const { confirmation: id } = await refused(it.bench, it.page);
  const waits = it.bench.run('sessions.confirmation', { id }, it.page.caller);
  await it.bench.clock.advance(20_000);
  assert.deepEqual(await waits, { state: 'open' });
  await it.bench.clock.advance(2 * MINUTE);
  assert.deepEqual(await it.bench.run('sessions.confirmation', { id }, it.page.caller), { state: 'gone' });
  const other = await it.bench.signIn('viewer');
  assert.deepEqual(await it.bench.run('sessions.confirmation', { id }, other.caller), { state: 'gone' });
});

test('a page that asks for many things has four of them open, and all pages 32', async () => {
  await using it = await begin();
  for (let times = 0; times < 6; times += 1) await refused(it.bench, it.page, { id: `${times}` });
  const { waiting } = await it.bench.run('sessions.confirmationCode');
  assert.deepEqual(
    waiting.map(({ what }: { what: string }) => what),
    ['remove 5', 'remove 4', 'remove 3', 'remove 2'],
  );
  for (let times = 0; times < 12; times += 1) {
    const page = await it.bench.signIn();
    for (let acts = 0; acts < 4; acts += 1) await refused(it.bench, page, { id: `${acts}` });
  }
  assert.equal((await it.bench.run('sessions.confirmationCode')).waiting.length, 32);
});

test('shown params have no end of line, no turn of direction and no length', async () => {
  await using it = await begin();
  const { what } = await refused(it.bench, it.page, { id: `a\u202e\n${'b'.repeat(500)}` });
  assert.match(what, /^remove a {2}b+…$/);
  assert.ok(what.length < 120);
});

describe('acts that change the life of a device are asked of the person', () => {
  const PASSPHRASE = 'nobody-else-reads-this';
  const done: string[] = [];
  const network = {
    join: async (ssid: string) => void done.push(ssid),
    forget: async (ssid: string) => void done.push(ssid),
  } as unknown as Network;
  const hold = async () => assert.fail('it was held without a confirmation');
  const rows: readonly Operation<never, unknown>[] = [
    ...networkOperations(network),
    ...updateOperations({} as never, hold, {} as never),
  ];
  const ACTS: readonly (readonly [string, object, string])[] = [
    ['network.join', { ssid: 'Workshop', passphrase: PASSPHRASE }, 'join the network Workshop'],
    ['network.forget', { ssid: 'Workshop' }, 'forget the network Workshop'],
    ['update.hold', {}, 'hold updates back, discard what was found: false'],
    ['update.hold', { hours: 2, discard: true }, 'hold updates back for 2 hours, discard what was found: true'],
  ];
  for (const [name, params, what] of ACTS)
    test(`${name} of ${Object.keys(params).join(' and ') || 'nothing'} is "${what}", and says no passphrase`, async () => {
      await using bench = await boot({ rows });
      const page = await bench.signIn();
      const error = await bench.run(name, params, page.caller).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof CoreError);
      assert.deepEqual([error.code, error.details.what], ['CONFIRMATION_REQUIRED', what]);
      await bench.clock.advance(0);
      const { waiting } = await bench.run('sessions.confirmationCode');
      assert.equal(waiting.length, 1);
      const seen = JSON.stringify([error.message, error.details, bench.asked, waiting, bench.host.logged]);
      assert.ok(!seen.includes(PASSPHRASE), seen);
      assert.deepEqual(done, []);
    });

  test('a confirmation to join holds for that passphrase alone', async () => {
    await using bench = await boot({ rows });
    const page = await bench.signIn();
    const given = { ssid: 'Workshop', passphrase: PASSPHRASE };
    const error = await bench.run('network.join', given, page.caller).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof CoreError);
    await bench.clock.advance(0);
    bench.asked[0]?.answer('answered', ['yes']);
    await bench.clock.advance(0);
    const confirmed = page.with(String(error.details.confirmation));
    await assert.rejects(bench.run('network.join', { ...given, passphrase: 'of-another' }, confirmed), {
      code: 'CONFIRMATION_REQUIRED',
    });
    assert.deepEqual(done, []);
    await bench.run('network.join', given, confirmed);
    assert.deepEqual(done, ['Workshop']);
  });
});
