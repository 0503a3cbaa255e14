import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CoreError, grantHint } from '@device-core/plugin-api';
import type { FunctionEntry } from '@device-core/plugin-api/services/functions';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace, stays } from '../../fixtures/eventually.ts';
import { APP, eventually, type Started, start } from './start.ts';

after(leakCheck());

interface Listed {
  readonly intents: readonly { readonly id: string; readonly owner: string; readonly example: string }[];
  readonly leftOut: readonly { readonly app: string; readonly function: string; readonly reason: string }[];
}
const list = async (started: Started) => (await started.table.run('intents.list', {})) as Listed;
const matched = (started: Started, text: string) =>
  eventually(`"${text}" can be said`, async () => {
    const found = await started.match(text);
    return found.outcome === 'plan' ? found.plan : undefined;
  });
const unmatched = (started: Started, text: string) =>
  eventually(`"${text}" cannot be said`, async () =>
    (await started.match(text)).outcome === 'none' ? true : undefined,
  );

suite('utterances of functions', () => {
  test('a function is called with its slots, and what it says is spoken', async () => {
    await using started = await start();
    started.registry.put({
      inputs: { day: 'string?', count: 'int?', loud: 'bool?' },
      utterances: [
        "what's on my agenda [{day:today|day after tomorrow=later}] [in {count:1..9} lines] [{loud:loud=true|quiet=false}]",
      ],
    });
    const plan = await matched(started, "what's on my agenda day after tomorrow in three lines quiet");
    assert.equal(plan.intent, `${APP}.agenda.next`);
    assert.deepEqual(plan.slots, { day: 'later', count: 3, loud: false });
    started.registry.answer = async () => ({ say: ' Nothing. ', followUp: true, appointments: [] });
    const answer = await started.say("What's on my agenda today?");
    assert.deepEqual(answer, {
      say: 'Nothing.',
      followUp: true,
      result: { say: ' Nothing. ', followUp: true, appointments: [] },
    });
    const { caller, signal: _, deadline, ...request } = started.registry.calls[0]!;
    assert.deepEqual(request, { app: APP, name: 'agenda.next', version: '1.0.0', inputs: { day: 'today' } });
    assert.deepEqual(caller, { kind: 'plugin', id: 'intent' });
    assert.ok(deadline! > Date.now() && deadline! <= Date.now() + 5_000);
  });

  test('a result without "say" is silent, and one whose "say" is no string as well', async () => {
    await using started = await start();
    started.registry.put({ utterances: ['next'] });
    await matched(started, 'next');
    assert.deepEqual(await started.say('next'), { result: {} });
    started.registry.answer = async () => ({ say: 7, followUp: 'yes' });
    assert.deepEqual(await started.say('next'), { result: { say: 7, followUp: 'yes' } });
    started.registry.answer = async () => ({ say: 'x'.repeat(5_000) });
    assert.equal((await started.say('next')).say?.length, 2_000);
  });

  test('an app that does not answer in time is not waited for, and what it rejects with is handed on', async () => {
    await using started = await start();
    started.registry.put({ utterances: ['next'] });
    await matched(started, 'next');
    let stopped = false;
    started.registry.answer = ({ signal }) => {
      signal?.addEventListener('abort', () => {
        stopped = true;
      });
      return new Promise(() => undefined);
    };
    await assert.rejects(started.say('next', 50), { code: 'TIMEOUT' });
    await eventually('the app hears that nobody waits', () => stopped || undefined);
    started.registry.answer = async () => {
      throw new CoreError('APP_ERROR', { app: APP, function: 'agenda.next', reason: 'no' });
    };
    await assert.rejects(started.say('next'), { code: 'APP_ERROR' });
    const over = new AbortController();
    const plan = await started.plan('next');
    started.registry.answer = () => new Promise(() => undefined);
    const run = started.intents.run(plan, { turn: 't', signal: over.signal, deadline: Date.now() + 5_000 });
    void pace(20).then(() => over.abort());
    await assert.rejects(run, { code: 'CANCELLED' });
  });

  test('sentences follow the apps: they come, change, sleep while the app does not run, and go', async () => {
    await using started = await start();
    let told = 0;
    using _ = started.intents.onChange(() => {
      told++;
    });
    started.registry.put({ utterances: ['next'] });
    await matched(started, 'next');
    started.registry.put({ utterances: ['next', 'my next one'] });
    const plan = await matched(started, 'my next one');
    started.registry.put({ version: '1.1.0', utterances: ['what comes'] });
    await matched(started, 'what comes');
    await unmatched(started, 'my next one');
    started.registry.put({ version: '1.1.0', utterances: ['what comes'], available: false });
    await unmatched(started, 'what comes');
    // A turn that has a plan already gets the answer of the registry, which knows why the app is not there.
    started.registry.answer = async () => {
      throw new CoreError('APP_NOT_RUNNING', { app: APP, reason: 'it stopped' });
    };
    const options = { turn: 't', signal: new AbortController().signal, deadline: Date.now() + 1_000 };
    await assert.rejects(started.intents.run(plan, options), { code: 'APP_NOT_RUNNING' });
    await started.registry.unregister();
    await eventually('it is gone', () =>
      started.intents.run(plan, options).then(
        () => undefined,
        (thrown: { readonly code?: string }) => (thrown.code === 'INTENT_NOT_FOUND' ? true : undefined),
      ),
    );
    await eventually('changes were told', () => told >= 2 || undefined);
  });

  test('many changes at once are told once', async () => {
    await using started = await start();
    await pace(150); // the changes of the start are told
    let told = 0;
    using _ = started.intents.onChange(() => {
      told++;
    });
    for (let index = 0; index < 20; index++) started.registry.put({ name: `f${index}`, utterances: [`say ${index}`] });
    await matched(started, 'say nineteen');
    await eventually('it is told', () => told || undefined);
    await stays(() => told === 1, 'it is told once');
  });

  test('an app cannot take over what the device understands, nor make it ambiguous', async () => {
    await using started = await start();
    started.registry.put({ utterances: ['stop', 'hands up'] });
    await matched(started, 'hands up');
    assert.equal((await started.plan('stop')).intent, 'device.stop');
    started.registry.put({ app: 'com.example.other', utterances: ['hands up'] });
    started.host.grants.set({ kind: 'app', id: 'com.example.other' }, ['audio.intent']);
    started.registry.changed();
    const found = await eventually('two apps', async () => {
      const answer = await started.match('hands up');
      return answer.outcome === 'ambiguous' ? answer : undefined;
    });
    assert.equal(found.candidates.length, 2);
  });

  test('an app without audio.intent cannot be called by voice, and it is told', async () => {
    await using started = await start({ grants: {} });
    started.registry.put({ utterances: ['next'] });
    const { leftOut } = await eventually('it is left out', async () => {
      const answer = await list(started);
      return answer.leftOut.length > 0 ? answer : undefined;
    });
    const line = grantHint({ kind: 'app', id: APP }, 'audio.intent');
    const reason = `the app does not hold audio.intent; grant it with "${line}"`;
    assert.deepEqual(leftOut, [{ app: APP, function: 'agenda.next', reason }]);
    assert.equal((await started.match('next')).outcome, 'none');
    const warnings: string[] = [];
    const report = {
      add: () => undefined,
      bridge: () => undefined,
      warn: (code: string, message: string) => void warnings.push(`${code}: ${message}`),
    };
    await started.host.hook('health.collect').promise(report);
    assert.deepEqual(warnings, [
      `UTTERANCES_LEFT_OUT: 1 functions of apps cannot be said; agenda.next of ${APP}: ${reason}`,
    ]);
    assert.ok(
      started.host.logged.some(
        ({ level, message }) => level === 'warn' && /agenda\.next .* cannot be said/.test(message),
      ),
    );
    started.host.grants.set({ kind: 'app', id: APP }, ['audio.intent']);
    started.host.publish('plugin.changed', {});
    await matched(started, 'next');
  });

  test('a function that the registry leaves out is told with its reason, and comes in with it', async () => {
    await using started = await start();
    const sentences = { utterances: ['next'] };
    const reason = 'it does not hold sensors.nfc';
    const refused = {
      app: APP,
      name: 'agenda.next',
      version: '1.0.0',
      code: 'CAPABILITY_DENIED',
      reason,
      ...sentences,
    };
    started.registry.refused = [refused, { ...refused, name: 'agenda.silent', utterances: [] }];
    started.registry.changed();
    const { leftOut } = await eventually('it is left out', async () => {
      const answer = await list(started);
      return answer.leftOut.length > 0 ? answer : undefined;
    });
    assert.deepEqual(leftOut, [{ app: APP, function: 'agenda.next', reason }]);
    started.registry.refused = [];
    started.registry.put(sentences);
    await matched(started, 'next');
    assert.deepEqual((await list(started)).leftOut, []);
  });

  const good: FunctionEntry = {
    name: 'agenda.add',
    version: '1.0.0',
    inputs: { title: 'string', minutes: 'int?', on: 'bool?', list: 'array?' },
  };
  const cases: [string, string, RegExp | undefined][] = [
    ['a sentence with its required input', 'add {title}', undefined],
    ['a range for an int', 'add {title} in {minutes:1..120} minutes', undefined],
    ['numbers by words', 'add {title} {minutes:soon=5|later=60}', undefined],
    ['a template that is broken', 'add (title', /utterance 1 "add \(title" at 11: expected "\)" for the "\(" at 5/],
    ['a slot that is no input', 'add {titel}', /at 5: slot \{titel\} is not an input/],
    ['a ranged slot that is no input', 'add {title} {hours:1..2}', /at 13: slot \{hours\} is not an input/],
    ['a required input that is not covered', 'add something', /without \{title\}, which is a required input/],
    ['a required input that may be left out', 'add [{title}]', /without \{title\}, which is a required input/],
    [
      'an int without a range',
      'add {title} in {minutes} minutes',
      /at 16: int input \{minutes\} needs a range, like \{minutes:1\.\.60\}/,
    ],
    ['a bool without words', 'add {title} {on}', /bool input \{on\} needs words for both/],
    ['a bool of other words', 'add {title} {on:on=yes|off=no}', /"yes" of \{on\} is no bool/],
    ['an array', 'add {title} {list}', /an input of type array cannot be spoken/],
    ['a range for a string', 'add {title:1..5}', /\{title\} is a string: a range is for int and number/],
    ['a range of halves for an int', 'add {title} {minutes:0.5..2}', /whole numbers/],
    ['an int of words that are none', 'add {title} {minutes:soon|later}', /"soon" of \{minutes\} is no int/],
    ['an open slot first', '{title} please', /an open slot comes first/],
    ['nothing to say', '[add]', /without any word/],
  ];
  test('at registration a fault is refused with the place and the reason', async (t) => {
    await using started = await start();
    const register = started.host.hook('function.register');
    for (const [what, utterance, reason] of cases)
      await t.test(what, async () => {
        const refusal = await register.promise({ app: APP, entry: { ...good, utterances: [utterance] } });
        if (!reason) return assert.equal(refusal, undefined);
        assert.equal(refusal?.code, 'FUNCTION_INVALID');
        assert.match(refusal?.message ?? '', reason);
      });
  });

  test('a function that was registered before it could be checked is left out with the reason, and the others stay', async () => {
    await using started = await start();
    started.registry.put({ name: 'wrong', utterances: ['go (on'] });
    started.registry.put({ name: 'right', utterances: ['go on'] });
    await matched(started, 'go on');
    const { leftOut } = await list(started);
    assert.match(leftOut[0]?.reason ?? '', /utterance 1 "go \(on" at 7: expected "\)"/);
  });
});
