/** What others may take a sentence for: an intent that is there, with slots that one of its sentences could set. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { IntentInterpreter, IntentMatch, SlotType, SlotValue } from '@device-core/plugin-api/services/intents';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { type Started, start } from './start.ts';

after(leakCheck());

const NEVER = new AbortController().signal;
const SLOTS: Readonly<Record<string, SlotType>> = {
  room: {
    kind: 'list',
    values: [
      { in: 'living room', out: 'living' },
      { in: 'kitchen', out: 'kitchen' },
    ],
  },
  level: { kind: 'int', from: 0, to: 100, step: 5 },
  note: { kind: 'open' },
};
const LIGHT = {
  id: 'test.light',
  title: 'Light',
  language: 'en',
  slots: SLOTS,
  sentences: ['light in the {room}', 'light in the {room} at {level}', 'note {note}'],
};

async function withLight(answer: IntentInterpreter['interpret']) {
  const started = await start();
  const light = started.intents.add(LIGHT, async () => ({ say: 'Yes.' }), 'plugin.test');
  const description = { id: 'other', title: 'Another', languages: [], stage: 'local' } as const;
  const interpreter = started.intents.addInterpreter(description, { interpret: answer }, 'plugin.test');
  return { started, light, interpreter };
}

const ask = (started: Started, text = 'make it cosy', signal = NEVER): Promise<IntentMatch> =>
  started.intents.interpret(text, { language: 'en', interpreter: 'other', signal });

suite('interpreters', () => {
  const answers: readonly [
    title: string,
    intent: string,
    slots: Readonly<Record<string, unknown>>,
    taken: Readonly<Record<string, SlotValue>> | RegExp,
  ][] = [
    ['the value of a list', 'test.light', { room: 'living' }, { room: 'living' }],
    ['the words for it', 'test.light', { room: 'Living Room' }, { room: 'living' }],
    [
      'a number and words for one',
      'test.light',
      { room: 'kitchen', level: 'twenty five' },
      { room: 'kitchen', level: 25 },
    ],
    ['a number', 'test.light', { room: 'kitchen', level: 50 }, { room: 'kitchen', level: 50 }],
    ['any words for an open slot', 'test.light', { note: 'buy tea' }, { note: 'buy tea' }],
    ['an intent that nobody has', 'test.door', {}, /test\.door, which is no intent/],
    ['another value', 'test.light', { room: 'cellar' }, /"cellar" is no value of room/],
    ['a number out of range', 'test.light', { room: 'kitchen', level: 105 }, /105 is no value of level/],
    ['a number between the steps', 'test.light', { room: 'kitchen', level: 7 }, /7 is no value/],
    ['no number', 'test.light', { room: 'kitchen', level: Number.NaN }, /no value of level/],
    ['an object', 'test.light', { room: {} }, /no value of room/],
    ['nothing that a sentence needs', 'test.light', { level: 5 }, /no sentence sets just level/],
    ['what no sentence has', 'test.light', { room: 'kitchen', colour: 'red' }, /no sentence sets just/],
    ['slots of two sentences', 'test.light', { room: 'kitchen', note: 'x' }, /no sentence sets just/],
  ];
  for (const [title, intent, slots, taken] of answers)
    test(`may answer with ${title}${taken instanceof RegExp ? ', which is not taken' : ''}`, async () => {
      const { started } = await withLight(async () => ({ intent, slots: slots as Record<string, SlotValue> }));
      await using _ = started;
      const match = await ask(started);
      if (taken instanceof RegExp) assert.match(match.outcome === 'none' ? match.reason : match.outcome, taken);
      else {
        const plan = { intent, title: 'Light', slots: taken, text: 'make it cosy', mayGoOn: false };
        assert.deepEqual(match, { outcome: 'plan', plan });
        const run = { turn: 't', signal: NEVER, deadline: Date.now() + 10_000 };
        assert.deepEqual(await started.intents.run({ ...plan }, run), { say: 'Yes.' });
      }
    });

  test('never make anything of an intent but what its sentences could', async () => {
    let answer: { intent: string; slots: Record<string, SlotValue> } | undefined;
    const { started } = await withLight(async () => answer);
    await using _ = started;
    const value = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constantFrom('kitchen', 'five', '5', 5, ''));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom('room', 'level', 'note', '__proto__'), value), async (slots) => {
        answer = { intent: 'test.light', slots };
        const match = await ask(started);
        if (match.outcome !== 'plan') return;
        const { room, level, note } = match.plan.slots;
        assert.ok(note === undefined ? room === 'living' || room === 'kitchen' : room === undefined);
        assert.ok(level === undefined || (Number(level) >= 0 && Number(level) <= 100 && Number(level) % 5 === 0));
      }),
      { numRuns: runs(60) },
    );
  });

  test('may not know, and are told the language', async () => {
    const heard: string[] = [];
    const { started } = await withLight(async (text, { language }) => {
      heard.push(`${language}: ${text}`);
      return undefined;
    });
    await using _ = started;
    assert.deepEqual(await ask(started), { outcome: 'none', reason: 'other does not know what it means' });
    assert.deepEqual(heard, ['en: make it cosy']);
    for (const text of ['', '...', 'x '.repeat(400)]) assert.equal((await ask(started, text)).outcome, 'none');
    assert.equal(heard.length, 1);
  });

  test('are not waited for when the turn is over', async () => {
    const { started } = await withLight(() => new Promise(() => undefined));
    await using _ = started;
    const stop = new AbortController();
    const asking = assert.rejects(ask(started, 'make it cosy', stop.signal), { code: 'CANCELLED' });
    stop.abort();
    await asking;
    await assert.rejects(ask(started, 'make it cosy', AbortSignal.abort()), { code: 'CANCELLED' });
  });

  test('come and go; one that has gone, and an intent that has gone, are not there', async () => {
    const { started, light, interpreter } = await withLight(async () => ({
      intent: 'test.light',
      slots: { note: 'x' },
    }));
    await using _ = started;
    const listed = { id: 'other', title: 'Another', languages: [], stage: 'local' };
    assert.deepEqual(await started.intents.interpreters(), [listed]);
    await light[Symbol.asyncDispose]();
    assert.equal((await ask(started)).outcome, 'none');
    await interpreter[Symbol.asyncDispose]();
    assert.deepEqual(await started.intents.interpreters(), []);
    await assert.rejects(ask(started), { code: 'ENGINE_MISSING' });
  });

  for (const [title, change] of [
    ['the id of another', {}],
    ['an id that is none', { id: 'A b' }],
    ['no title', { id: 'two', title: '' }],
    ['a stage that is none', { id: 'two', stage: 'moon' }],
  ] as const)
    test(`are refused with ${title}`, async () => {
      const { started } = await withLight(async () => undefined);
      await using _ = started;
      const description = { id: 'other', title: 'Another', languages: [], stage: 'local', ...change } as never;
      const add = async () => {
        // Across a border a refusal comes later.
        await started.intents.addInterpreter(description, { interpret: async () => undefined }, 'plugin.test');
      };
      await assert.rejects(add(), { code: 'PARAMS_INVALID' });
    });
});
