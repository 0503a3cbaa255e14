/** What a text is taken for, and why: the operation behind `devicectl voice try`. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { program } from '../../../plugins/voice/intent/program/try.ts';
import type { Tried } from '../../../plugins/voice/intent/readings.ts';
import { runs } from '../../fixtures/runs.ts';
import { eventually, type Started, start } from './start.ts';

after(leakCheck());

const ask = async (started: Started, text: string, more: object = {}) =>
  (await started.table.run('intents.try', { text, ...more })) as Tried;
const agenda = (started: Started) => {
  const utterances = ["(what is|what's) on my agenda [{day:today|tomorrow}]"];
  started.registry.put({ name: 'agenda.day', inputs: { day: 'string?' }, utterances });
  const twin = ['what is on my plate', 'find {what}'];
  started.registry.put({ name: 'agenda.find', inputs: { what: 'string?' }, utterances: twin });
  started.registry.put({ name: 'agenda.time', inputs: {}, utterances: ['what time is it', 'find my agenda'] });
  return eventually('the sentences of the app', async () => {
    const found = await ask(started, 'what is on my agenda');
    return found.outcome === 'plan';
  });
};

/** text, intent of the first reading, its slots, what differs, and the rule that bars it. */
const CASES: readonly (readonly [text: string, intent: string, slots: object, differs: RegExp, rule?: string])[] = [
  ['What is on my agenda tomorrow?', 'agenda.day', { day: 'tomorrow' }, /^$/],
  ['what is on my agenda tomorow', 'agenda.day', { day: 'tomorrow' }, /"tomorow" in the place of "tomorrow"/, 'words'],
  ['what is on the agenda', 'agenda.day', {}, /"the" in the place of "my"/, 'words'],
  ['what is on agenda', 'agenda.day', {}, /"my" is missing/, 'words'],
  ['what is on my big agenda', 'agenda.day', {}, /"big" is too much/, 'words'],
  ['set a timer', 'timer-set', {}, /is missing/, 'words'],
  ['set the volume to ninety thousand', 'volume-set', {}, /percent/, 'words'],
];

suite('a text that is tried', () => {
  test('shows its nearest sentence, how the text differs, and the rule that bars it', async () => {
    await using started = await start();
    await agenda(started);
    for (const [text, intent, slots, differs, rule] of CASES) {
      const [first] = (await ask(started, text)).readings;
      assert.ok(first);
      assert.ok(first.intent.endsWith(intent), `${text}: ${JSON.stringify(first)}`);
      assert.deepEqual({ ...first.slots, ...slots }, first.slots, text);
      assert.match(first.changes.join(', '), differs, text);
      assert.equal(first.refused?.rule, rule, text);
    }
  });

  test('says which of two whole sentences wins, and by which rule', async () => {
    await using started = await start();
    await agenda(started);
    const known = await ask(started, 'find my agenda');
    assert.deepEqual(
      known.readings.map(({ intent, refused }) => [intent.split('.').at(-1), refused?.rule]),
      [
        ['time', undefined],
        ['find', 'known-words'],
      ],
    );
    assert.equal(known.margin, 0);
    const device = await ask(started, 'what time is it');
    assert.deepEqual(
      device.readings.map(({ owner, refused }) => [owner.split('.')[0], refused?.rule]),
      [
        ['plugin', undefined],
        ['app', 'device-first'],
      ],
    );
  });

  test('two sentences that fit equally well are both shown as ambiguous', async () => {
    await using started = await start();
    for (const name of ['one', 'other']) started.registry.put({ name, utterances: ['dim the lamp'] });
    const tried = await eventually('both', async () => {
      const found = await ask(started, 'dim the lamp');
      return found.outcome === 'ambiguous' && found;
    });
    assert.deepEqual(
      (tried as Tried).readings.map(({ refused }) => refused?.rule),
      ['ambiguous', 'ambiguous'],
    );
  });

  test('the sentence of an app that does not run is known as such', async () => {
    await using started = await start();
    started.registry.put({ name: 'agenda.day', utterances: ['what is on my agenda'], available: false });
    const tried = await eventually('the sleeper', async () => {
      const found = await ask(started, 'what is on my agenda');
      return found.readings[0]?.owner.startsWith('app.') && found;
    });
    assert.equal((tried as Tried).outcome, 'none');
    assert.equal((tried as Tried).readings[0]?.refused?.rule, 'asleep');
  });

  test('courtesy is shown as left out, in each language', async () => {
    await using started = await start();
    const cases = [
      ['en', 'could you set a timer for ten minutes please', 'set a timer for ten minutes'],
      ['de', 'bitte stelle einen Timer auf zehn Minuten', 'stelle einen timer auf zehn minuten'],
      ['fr', 'mets un minuteur de dix minutes merci', 'mets un minuteur de dix minutes'],
    ] as const;
    for (const [language, text, readAs] of cases) {
      const { outcome, readings } = await ask(started, text, { language });
      assert.equal(outcome, 'plan', text);
      assert.equal(readings[0]?.readAs, readAs);
      assert.deepEqual(readings[0]?.slots, { minutes: 10 });
    }
  });

  test('a text of any kind has an answer, and what would be done stands first', async () => {
    await using started = await start();
    await agenda(started);
    const words = ['what', 'is', 'on', 'my', 'agenda', 'find', 'timer', 'ten', 'stop', '5', 'ö', 'the', 'set'];
    const texts = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 9 }).map((all) => all.join(' '));
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const [tried, match] = [await ask(started, text), await started.match(text)];
        assert.equal(tried.outcome, match.outcome, text);
        if (match.outcome === 'plan') {
          assert.equal(tried.readings[0]?.intent, match.plan.intent, text);
          assert.equal(tried.readings[0]?.refused, undefined);
        }
        for (const { refused } of tried.readings.slice(match.outcome === 'plan' ? 1 : 0)) assert.ok(refused, text);
      }),
      { numRuns: runs(60) },
    );
  });

  test('a device with five hundred sentences of apps answers within its looks', async () => {
    await using started = await start({ config: { maxIntents: 2_000 } });
    for (let app = 0; app < 25; app++)
      for (let at = 0; at < 20; at++)
        started.registry.put({
          name: `f${app}.n${at}`,
          utterances: [`(open|show|start) [the] room number ${app} ${at} please`],
        });
    await eventually(
      'the last of them',
      async () => (await ask(started, 'open room number 24 19 please')).outcome === 'plan',
    );
    const before = process.cpuUsage();
    const tried = await ask(started, 'open some room number 24 19 please');
    const { user } = process.cpuUsage(before);
    assert.equal(tried.readings[0]?.intent.endsWith('f24.n19'), true);
    assert.ok(user < 2_000_000, `it took ${user} µs of CPU`);
  });
});

test('devicectl voice try prints the readings, the margin and the verdict', async () => {
  await using started = await start();
  const lines: string[] = [];
  const client = {
    post: async (_: string, body: object) => ({ body: await started.table.run('intents.try', body), text: '' }),
  };
  const out = { json: false, line: async (text: string) => void lines.push(text) };
  const run = (text: string) =>
    program.run({ args: { text, most: 2 }, client, out } as unknown as Parameters<typeof program.run>[0]);
  await run('set a timmer for ten minutes');
  await run('purple elephants never dance');
  const text = lines.join('\n');
  assert.match(text, /^1\. device\.timer-set minutes=10$/m);
  assert.match(text, /differs +0\.17 words: "timmer" in the place of "timer"/);
  assert.match(text, /verdict +nothing would be done: no sentence is like this/);
  assert.match(text, /no sentence in en is near this text/);
});
