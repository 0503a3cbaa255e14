/** From a text to an app and back, through a whole Core: what voice does between recognition and speech. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { apps } from '@device-core/plugin-api/services/apps';
import { functions } from '@device-core/plugin-api/services/functions';
import { type IntentPlan, intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually as until } from '../fixtures/eventually.ts';

const check = leakCheck();
const AGENDA = 'com.example.agenda';
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const PLUGINS = [
  'operations',
  'identity',
  'system',
  'http',
  'rpc',
  'events',
  'functions',
  'config',
  'supervisor-process',
  'apps',
  'intent',
];
let core: Core;

before(async () => {
  core = await startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: { apps: { folders: ['docs/examples/agenda'] } },
  });
});
after(async () => {
  await core?.stop();
  await check();
});

const meaning = async (text: string): Promise<IntentPlan | undefined> => {
  const found = await core.service(intents).match(text, { language: 'en' });
  return found.outcome === 'plan' ? found.plan : undefined;
};
const ask = async (text: string) => {
  const plan = await until(() => meaning(text), `"${text}"`);
  const signal = AbortSignal.timeout(10_000);
  return core.service(intents).run(plan, { turn: 'test', signal, deadline: Date.now() + 10_000 });
};
const invoke = (name: string, params: object, caller = OPERATOR) =>
  core
    .service(operations)
    .invoke(name, params, { caller, signal: AbortSignal.timeout(5_000), deadline: Date.now() + 5_000 });

test('a sentence becomes a call into the app, and its answer is spoken', async () => {
  assert.equal((await ask('What is on my agenda tomorrow?')).say, 'There is nothing on your agenda tomorrow.');
  assert.equal(
    (await ask('put water the plants on my agenda in half an hour')).say,
    'water the plants: it is on your agenda.',
  );
  assert.match(
    (await ask("what's my next appointment")).say ?? '',
    /^water the plants (tomorrow )?at \d+:\d\d.[AP]M\.$/,
  );
  const { result } = await ask('my next three appointments');
  assert.deepEqual(
    (result?.appointments as { title: string }[] | undefined)?.map(({ title }) => title),
    ['water the plants'],
  );
});

test('the sentences of the app are in the grammar, but for those with open slots', async () => {
  await until(() => meaning('what is next on my agenda'), 'the agenda');
  const grammar = await core.service(intents).grammar('en');
  assert.match(grammar?.jsgf ?? '', /\(what is \| what's\) on my agenda \[<slot_\w+>\]/);
  assert.doesNotMatch(grammar?.jsgf ?? '', /on my agenda in/);
});

test('operations tell what can be said; an app is not told what a text of others means', async () => {
  const { intents: list } = (await invoke('intents.list', {})) as { intents: { id: string; example: string }[] };
  const [day] = list.filter(({ id }) => id === `${AGENDA}.agenda.day`);
  assert.equal(day?.example, 'what is on my agenda today');
  const app: Caller = { kind: 'app', id: AGENDA };
  await assert.rejects(invoke('intents.match', { text: 'what time is it' }, app), { code: 'CAPABILITY_DENIED' });
});

test('a registration whose sentence is wrong is refused with the sentence and the reason', async () => {
  const entry = {
    name: 'agenda.find',
    version: '1.0.0',
    inputs: { count: 'int' },
    utterances: ['find {count} of them'],
  };
  await assert.rejects(core.service(functions).register({ app: AGENDA, functions: [entry] }), {
    code: 'FUNCTION_INVALID',
    message:
      /agenda\.find: utterance 1 "find \{count\} of them" at 6: int input \{count\} needs a range, like \{count:1\.\.60\}/,
  });
});

test('an app that stops cannot be called by voice until it is back', async () => {
  await until(() => meaning('what is next on my agenda'), 'the agenda');
  await core.service(apps).stop(AGENDA);
  await until(async () => ((await meaning('what is next on my agenda')) ? undefined : true), 'its end');
  await core.service(apps).start(AGENDA);
  assert.match((await ask('what is next on my agenda')).say ?? '', /water the plants/);
});
