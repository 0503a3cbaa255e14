/** Doubts of an engine become questions: what is asked, what answers it, and what is done then. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { compileDefinition } from '../../../plugins/voice/intent/definition.ts';
import { questionTexts } from '../../../plugins/voice/voice/question-texts.ts';
import { eventually } from './fakes.ts';
import { start } from './started.ts';

after(leakCheck());

describe('a question of the voice', { concurrency: 4, timeout: 300_000 }, () => {
  /** The engine's doubt, its second opinion, the question, the answer to it, and what is done then. */
  const doubts: readonly (readonly [
    title: string,
    doubt: { readonly close?: string; readonly doubtful?: boolean; readonly again?: string },
    question: string | undefined,
    answer: string,
    /** Undefined: the answer is none. */
    ran: readonly string[] | undefined,
  ])[] = [
    [
      'the first of two',
      { close: 'timer for fifty minutes' },
      'Did you mean fifteen minutes, or fifty minutes?',
      'the-first',
      ['timer for fifteen minutes'],
    ],
    [
      'the second by its first word',
      { close: 'timer for fifty minutes' },
      'Did you mean fifteen minutes, or fifty minutes?',
      'fifty',
      ['timer for fifty minutes'],
    ],
    ['neither', { close: 'timer for fifty minutes' }, 'Did you mean fifteen minutes, or fifty minutes?', 'no', []],
    [
      'yes is no choice of two',
      { close: 'timer for fifty minutes' },
      'Did you mean fifteen minutes, or fifty minutes?',
      'yes',
      undefined,
    ],
    [
      'a value in doubt',
      { doubtful: true },
      'Did you mean timer for fifteen minutes?',
      'yes',
      ['timer for fifteen minutes'],
    ],
    ['a value in doubt, and no', { doubtful: true }, 'Did you mean timer for fifteen minutes?', 'no', []],
    [
      'another opinion',
      { again: 'timer for fifty minutes' },
      'Did you mean fifteen minutes, or fifty minutes?',
      'fifty',
      ['timer for fifty minutes'],
    ],
    [
      'no second opinion',
      { again: '' },
      'Did you mean timer for fifteen minutes?',
      'yes',
      ['timer for fifteen minutes'],
    ],
    ['the same opinion', { again: 'timer for fifteen minutes' }, undefined, '', ['timer for fifteen minutes']],
  ];
  for (const [title, { again, ...doubt }, question, answer, ran] of doubts)
    it(`never guesses: ${title}`, async () => {
      const timers = { 'timer for fifteen minutes': async () => ({}), 'timer for fifty minutes': async () => ({}) };
      const { host, engines, sound, over, known, becomes } = await start({}, timers);
      await using _host = host;
      engines.stt.local.hearsAgain = again !== undefined;
      engines.stt.local.hears = (text, second) =>
        text.startsWith('timer') ? { text: second ? again! : text, ...doubt } : { text };
      sound.say('_ hey-computer timer for fifteen minutes _ _ _ _ _ _');
      if (question !== undefined) {
        await eventually('the question', () => sound.played.length > 0);
        await becomes('listening');
        sound.say(`_ ${answer} _ _ _ _ _ _`);
      }
      const [last, first = last] = await over(question === undefined ? 1 : 2);
      const { plan, close, said } = first!;
      assert.deepEqual(
        [said, close],
        [question, question === undefined ? undefined : (doubt.close ?? (again || undefined))],
      );
      assert.equal(plan === undefined, question !== undefined);
      assert.deepEqual([last!.outcome, known.ran], [ran ? 'answered' : 'refused', ran ?? []]);
    });

  it('asks once more where the answer is in doubt itself, and means the commands of the first question', async () => {
    const timers = { 'timer for fifteen minutes': async () => ({}), 'timer for fifty minutes': async () => ({}) };
    const { host, engines, sound, over, known, becomes } = await start({}, timers);
    await using _host = host;
    engines.stt.local.hears = (text) =>
      text.endsWith('minutes') ? { text, close: text.replace('fifteen', 'fifty') } : { text };
    for (const [asked, said] of ['hey-computer timer for fifteen minutes', 'fifteen minutes', 'the-second'].entries()) {
      if (asked > 0) await eventually('the question', () => sound.played.length === asked);
      if (asked > 0) await becomes('listening');
      sound.say(`_ ${said} _ _ _ _ _ _`);
    }
    const [last] = await over(3);
    const question = 'Did you mean fifteen minutes, or fifty minutes?';
    assert.deepEqual([sound.played, last!.outcome], [[question, question], 'answered']);
    assert.deepEqual(known.ran, ['timer for fifty minutes']);
  });

  const languages: readonly (readonly [language: string, question: string, no: string])[] = [
    ['en', 'Did you mean one, or two?', 'no'],
    ['de-DE', 'Meinten Sie one oder two?', 'nein'],
    ['fr', 'Vouliez-vous dire one ou two ?', 'non'],
  ];
  for (const [language, question, no] of languages)
    it(`asks in the language of the device, and knows its answers: ${language}`, async () => {
      const sentences = { 'lamp one': async () => ({}), 'lamp two': async () => ({}) };
      const { host, engines, sound, over, known, becomes } = await start({ language }, sentences);
      await using _host = host;
      engines.stt.local.hears = (text) => (text.startsWith('lamp') ? { text, close: 'lamp two' } : { text });
      sound.say('_ hey-computer lamp one _ _ _ _ _ _');
      await eventually('the question', () => sound.played.length > 0);
      await becomes('listening');
      sound.say(`_ ${no} _ _ _ _ _ _`);
      const [last] = await over(2);
      assert.deepEqual([sound.played, last!.outcome, known.ran], [[question], 'answered', []]);
      const { which: _, whether: __, ...answers } = questionTexts(language);
      for (const [name, sentences] of Object.entries(answers))
        assert.ok(compileDefinition({ id: `voice.${name}`, title: name, language, sentences }));
    });

  it('asks for no second opinion on what may be done twice', async () => {
    const { host, engines, sound, over, known } = await start();
    await using _host = host;
    known.idempotent = ['next'];
    engines.stt.local.hearsAgain = true;
    engines.stt.local.hears = (text, again) => ({ text: again ? 'quiet' : text });
    sound.say('_ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    assert.deepEqual([turn!.outcome, known.ran], ['answered', ['next']]);
  });
});
