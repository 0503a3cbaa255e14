/** Questions to the person who owns the device: the first answer settles one, silence is no. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import type { PromptQuestion } from '@device-core/plugin-api/services/prompts';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/prompts/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { APP, type Bench, boot, CALLERS, Folder, MANIFEST, question } from './fixture.ts';

after(leakCheck());

const MINUTE = 60_000;

async function idOf(bench: Bench, subject = APP): Promise<string> {
  const open = await eventually(
    async () => (await bench.prompts.list()).find((one) => one.subject === subject),
    'the question',
  );
  return open.id;
}

const failure = (code: string, reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CoreError);
  assert.equal(error.code, code);
  assert.match(error.message, reason);
  return true;
};

describe('a question', () => {
  it('that an act would answer stands behind the act, and takes it along when it is answered elsewhere', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const asked = bench.prompts.ask(question());
    const id = await idOf(bench);
    const about = { id: APP, answers: id };
    const what = question().what;
    const act = bench.prompts.ask({
      kind: 'confirm',
      subject: 'page.1',
      title: 'Firefox',
      act: 'allow what is asked',
      about,
      what,
    });
    await idOf(bench, 'page.1');
    assert.deepEqual(
      (await bench.prompts.list()).map(({ kind }) => kind),
      ['confirm', 'consent'],
    );
    await bench.run('prompts.answer', { id, allow: ['audio.capture'] });
    assert.equal((await asked).state, 'answered');
    assert.equal((await act).state, 'withdrawn');
    assert.deepEqual(await bench.prompts.list(), []);
  });

  it('about an act is answered as a whole, for any rights of the act, and nothing of that is kept', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const what = question().what;
    const act = bench.prompts.ask({
      kind: 'confirm',
      subject: 'page.1',
      title: 'Firefox',
      act: 'install an app',
      what,
    });
    const id = await idOf(bench, 'page.1');
    await assert.rejects(bench.run('prompts.answer', { id, allow: ['audio.capture'] }), { code: 'PARAMS_INVALID' });
    await bench.run('prompts.answer', { id, allow: ['yes'] });
    assert.deepEqual((await act).allow, ['yes']);
    assert.deepEqual(await bench.consents.of('page.1'), []);
  });

  it('is shown by list and event, and the answer is kept before the asker hears of it', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const asked = bench.prompts.ask(question()).then(async (outcome) => ({
      outcome,
      kept: await bench.consents.of(APP),
    }));
    const id = await idOf(bench);
    const { prompts } = await bench.run('prompts.list');
    assert.equal(prompts.length, 1);
    const [{ since, until, ...shown }] = prompts;
    const { ms: _, ...expected } = question();
    assert.deepEqual(shown, { id, ...expected });
    assert.equal(until - since, 10 * MINUTE);
    const answer = await bench.run('prompts.answer', { id, allow: ['sensors.nfc'] });
    assert.deepEqual([answer.state, answer.allow, answer.by], ['answered', ['sensors.nfc'], 'operator']);
    const { outcome, kept } = await asked;
    assert.deepEqual(outcome, answer);
    assert.deepEqual(
      kept.map(({ capability, allowed, by, version, at }) => [capability, allowed, by, version, at]),
      [
        ['audio.capture', false, 'operator', '1.0.0', answer.at],
        ['sensors.nfc', true, 'operator', '1.0.0', answer.at],
      ],
    );
    assert.deepEqual(await bench.prompts.list(), []);
    assert.deepEqual(await bench.told(), [`${APP} open`, `${APP} answered`]);
  });

  it('without capabilities is answered by yes, and nothing is kept', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const asked = bench.prompts.ask(question({ kind: 'confirm', what: [] }));
    const id = await idOf(bench);
    await assert.rejects(
      bench.run('prompts.answer', { id, allow: ['audio.capture'] }),
      failure('PARAMS_INVALID', /not about "audio.capture", but about yes/),
    );
    await bench.run('prompts.answer', { id, allow: ['yes'] });
    assert.deepEqual((await asked).allow, ['yes']);
    assert.deepEqual((await bench.run('consents.list')).consents, []);
  });

  it('is answered once: of two answers at once the first counts and the second is told so', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const asked = bench.prompts.ask(question());
    const id = await idOf(bench);
    const [first, second] = await Promise.allSettled([
      bench.run('prompts.answer', { id, allow: [] }),
      bench.run('prompts.answer', { id, allow: ['audio.capture'] }),
    ]);
    assert.equal(first.status, 'fulfilled');
    assert.equal(second.status, 'rejected');
    failure('CONSENT_NOT_FOUND', /operator has answered it/)(second.reason);
    assert.deepEqual((await asked).allow, []);
    assert.deepEqual(
      (await bench.consents.of(APP)).map(({ allowed }) => allowed),
      [false, false],
    );
  });

  it('without an answer is a no after ten minutes of its own time, which is not kept', async () => {
    using folder = new Folder();
    const clock = virtualClock({ now: 1_000_000 });
    await using bench = await boot(folder, { clock });
    const asked = bench.prompts.ask(question());
    const id = await idOf(bench);
    await clock.advance(10 * MINUTE - 1);
    assert.equal((await bench.prompts.list()).length, 1);
    await clock.advance(2);
    assert.deepEqual(await asked, { state: 'expired', allow: [], at: 1_000_000 + 10 * MINUTE });
    await assert.rejects(
      bench.run('prompts.answer', { id, allow: ['audio.capture'] }),
      failure('CONSENT_NOT_FOUND', /no answer came in time/),
    );
    assert.deepEqual(await bench.consents.of(APP), []);
    assert.deepEqual(await bench.told(), [`${APP} open`, `${APP} expired`]);
  });

  it('on a busy board waits as much longer as the board was busy', async () => {
    using folder = new Folder();
    const clock = virtualClock();
    await using bench = await boot(folder, { clock });
    const asked = bench.prompts.ask(question({ ms: MINUTE }));
    clock.busy = 0.5;
    await clock.advance(1.5 * MINUTE);
    assert.equal((await bench.prompts.list()).length, 1);
    await clock.advance(MINUTE);
    assert.equal((await asked).state, 'expired');
  });

  it('gives way to a newer one of the same kind about the same subject, and to no other', async () => {
    using folder = new Folder();
    await using bench = await boot(folder);
    const first = bench.prompts.ask(question());
    const old = await idOf(bench);
    const other = bench.prompts.ask(question({ subject: 'com.example.other' }));
    const confirm = bench.prompts.ask(question({ kind: 'confirm' }));
    const second = bench.prompts.ask(question({ version: '2.0.0' }));
    assert.equal((await first).state, 'withdrawn');
    await assert.rejects(
      bench.run('prompts.answer', { id: old, allow: [] }),
      failure('CONSENT_NOT_FOUND', /it was withdrawn/),
    );
    await eventually(async () => (await bench.prompts.list()).length === 3, 'three questions');
    await bench.prompts.withdraw(APP, 'consent');
    assert.equal((await second).state, 'withdrawn');
    await bench.host.stop();
    // Where the plugin ends with its thread or process, the border may say it first.
    for (const end of await Promise.allSettled([other, confirm]))
      if (end.status === 'fulfilled') assert.equal(end.value.state, 'withdrawn');
      else assert.match(String(end.reason), /prompts/);
  });

  it('beyond the bound is refused, and all that are open can be answered', async () => {
    using folder = new Folder();
    await using bench = await boot(folder, { config: { questions: 8 } });
    const count = 10_000;
    let refused = 0;
    const asked: Promise<unknown>[] = [];
    for (let n = 0; n < count; n += 1)
      asked.push(
        bench.prompts.ask(question({ subject: `com.example.a${n}` })).catch((error) => {
          // At a border the calls themselves have a bound.
          failure('BUSY', /\d+ are in flight/)(error);
          refused += 1;
        }),
      );
    await eventually(() => refused === count - 8, 'the refusals');
    const open = await bench.prompts.list();
    assert.equal(open.length, 8);
    for (const { id } of open) await bench.run('prompts.answer', { id, allow: [] });
    await Promise.all(asked);
  });
});

describe('rights of callers', () => {
  const CALLS: readonly (readonly [name: string, params: object])[] = [
    ['prompts.list', {}],
    ['prompts.answer', { id: 'x', allow: ['audio.capture'] }],
    ['consents.list', {}],
  ];
  for (const who of ['app', 'plugin'] as const)
    it(`to see and answer questions: not ${who}, with any capability`, async () => {
      using folder = new Folder();
      await using bench = await boot(folder);
      const asked = bench.prompts.ask(question());
      const id = await idOf(bench);
      const caller: Caller = CALLERS[who];
      for (const [name, params] of CALLS)
        await assert.rejects(
          bench.run(name, { ...params, ...('id' in params ? { id } : {}) }, caller),
          failure('CALLER_DENIED', /is not the operator of the device/),
        );
      assert.equal((await bench.prompts.list()).length, 1);
      await bench.prompts.withdraw(APP, 'consent');
      assert.equal((await asked).state, 'withdrawn');
    });
});

const BAD: readonly (readonly [title: string, more: object, reason: RegExp])[] = [
  ['another kind', { kind: 'payment' }, /its kind is none of consent, confirm, update/],
  ['no subject', { subject: '' }, /subject must be a text/],
  ['a title of a page', { title: 'x'.repeat(201) }, /title must be a text of 1 to 200/],
  ['a title that is no text', { title: 7 }, /title must be a text/],
  ['nothing asked', { what: [] }, /asks for nothing/],
  ['too much asked', { what: Array(129).fill(question().what[0]) }, /at most 128/],
  ['no time', { ms: 0 }, /ms must be 1 to/],
  ['a year of time', { ms: 31_536_000_000 }, /ms must be 1 to/],
  ['a time that is none', { ms: Number.NaN }, /ms must be 1 to/],
];

describe('a question with', () => {
  for (const [title, more, reason] of BAD)
    it(`${title} is refused`, async () => {
      using folder = new Folder();
      await using bench = await boot(folder);
      await assert.rejects(
        bench.prompts.ask(question(more as Partial<PromptQuestion>)),
        failure('PARAMS_INVALID', reason),
      );
      assert.deepEqual(await bench.told(), []);
    });
});

const ANSWERS: readonly (readonly [title: string, params: object, code: string])[] = [
  ['no question', { id: 'deadbeef', allow: [] }, 'CONSENT_NOT_FOUND'],
  ['a capability that was not asked', { allow: ['audio'] }, 'PARAMS_INVALID'],
  ['yes to capabilities', { allow: ['yes'] }, 'PARAMS_INVALID'],
  ['nothing said', {}, 'PARAMS_INVALID'],
  ['a text', { allow: 'audio.capture' }, 'PARAMS_INVALID'],
  ['too many', { allow: Array(129).fill('audio.capture') }, 'PARAMS_INVALID'],
  ['another member', { allow: [], force: true }, 'PARAMS_INVALID'],
];

describe('an answer about', () => {
  for (const [title, params, code] of ANSWERS)
    it(`${title} is refused, and the question stays open`, async () => {
      using folder = new Folder();
      await using bench = await boot(folder);
      const asked = bench.prompts.ask(question());
      const id = await idOf(bench);
      await assert.rejects(bench.run('prompts.answer', { id, ...params }), failure(code, /./));
      await bench.run('prompts.answer', { id, allow: ['audio.capture', 'audio.capture'] });
      assert.deepEqual((await asked).allow, ['audio.capture']);
    });
});

it('a policy that would give away what only the SKU can grant is refused at the start', async () => {
  for (const [overrides, reason] of [
    [{ 'bridges.spi': 'ask' }, /class oem/],
    [{ 'audio.captrue': 'ask' }, /did you mean audio.capture/],
  ] as const) {
    using folder = new Folder();
    await assert.rejects(async () => {
      await using _bench = await boot(folder, { config: { consent: { overrides } } });
    }, reason);
  }
  await assert.rejects(createTestHost(plugin, { manifest: MANIFEST, config: { consent: { oem: 'auto' } } }), /oem/);
});

it('of a page is answered by no page; devicectl and the panel answer it', async () => {
  const page = { kind: 'operator', id: 'operator', signedIn: { id: 'aaaaaaaaaaaa', role: 'operator' } } as const;
  using folder = new Folder();
  await using bench = await boot(folder);
  const asked = bench.prompts.ask(question({ kind: 'confirm', act: 'remove the app', what: [] }));
  const id = await idOf(bench);
  const { prompts } = await bench.run('prompts.list');
  assert.equal(prompts[0].act, 'remove the app');
  await assert.rejects(bench.run('prompts.answer', { id, allow: [] }, page), { code: 'CALLER_DENIED' });
  // A yes of a page has to be confirmed itself, and nobody is there who could.
  await assert.rejects(bench.run('prompts.answer', { id, allow: ['yes'] }, page), { code: 'CONFIRMATION_REQUIRED' });
  await bench.run('prompts.answer', { id, allow: ['yes'] });
  assert.deepEqual((await asked).allow, ['yes']);
});
