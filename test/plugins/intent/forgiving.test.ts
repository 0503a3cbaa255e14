/** Sentences as people say them: courtesy, halves, other orders, and three languages. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Automaton } from '../../../plugins/voice/intent/automaton.ts';
import { buildSentence } from '../../../plugins/voice/intent/build.ts';
import { numberWords } from '../../../plugins/voice/intent/numbers.ts';
import { wordsOf } from '../../../plugins/voice/intent/words.ts';
import { runs } from '../../fixtures/runs.ts';
import { eventually, start } from './start.ts';

after(leakCheck());

type Meant = Readonly<Record<string, unknown>> | undefined;
/** Seconds of a timer, or the slots; undefined where nothing may be carried out. */
const SENTENCES: Readonly<
  Record<string, readonly (readonly [text: string, intent: string | undefined, slots?: Meant])[]>
> = {
  en: [
    ['1 hour timer', 'timer-set', { hours: 1 }],
    ['a five minute timer please', 'timer-set', { minutes: 5 }],
    ['could you please set a timer for 5 and a half minutes', 'timer-set', { minutes: 5, half: 30 }],
    ['set a timer for 2.5 hours', 'timer-set', { hours: 2, half: 1_800 }],
    ['set a timer for one and a half hours', 'timer-set', { hours: 1, half: 1_800 }],
    ['set a timer for two hours and a half', 'timer-set', { hours: 2, half: 1_800 }],
    ['make a new timer for 1 hour 20 minutes and 30 seconds', 'timer-set', { hours: 1, minutes: 20, seconds: 30 }],
    ['set timer 10 mins for me', 'timer-set', { minutes: 10 }],
    ['volume up by 20 percent', 'volume-up', { by: 20 }],
    ['increase the volume by 5%', 'volume-up', { by: 5 }],
    ['can you turn it down a little', 'volume-down', {}],
    ['lower the volume by thirty', 'volume-down', { by: 30 }],
    ['put the volume at 40 percent', 'volume-set', { percent: 40 }],
    ['turn the volume up to 70', 'volume-set', { percent: 70 }],
    ['nevermind', 'stop', {}],
    ['forget it', 'stop', {}],
    ['please stop that', 'stop', {}],
    ['what time is it right now', 'time', {}],
    ["What's the current time?", 'time', {}],
    ['do you know what time it is', 'time', {}],
    ['please mute the mic', 'mute', {}],
    ['how much time do i have left on my timer', 'timer-left', {}],
    ['turn off all of the timers', 'timer-cancel', {}],
    // Nothing of it is guessed.
    ['please', undefined],
    ['could you', undefined],
    ["please don't turn it up", undefined],
    ['do not stop', undefined],
    ['never turn the volume up', undefined],
    ['set a timer for tomorrow please', undefined],
    ['what time is it in paris', undefined],
    ['volume up by 200 percent', undefined],
    ['timer for 25.5 hours', undefined],
  ],
  de: [
    ['Stell bitte einen Timer auf fünf Minuten', undefined],
    ['bitte stell einen Timer auf fünf Minuten', 'timer-set', { minutes: 5 }],
    ['Stelle einen Timer für 1 Stunde 20 Minuten und 30 Sekunden', 'timer-set', { hours: 1, minutes: 20, seconds: 30 }],
    ['Timer eineinhalb Stunden', 'timer-set', { length: 5_400 }],
    ['könntest du die Lautstärke um 20 % erhöhen', 'volume-up', { by: 20 }],
    ['Lautstärke auf einundzwanzig Prozent', 'volume-set', { percent: 21 }],
    ['mach es bitte leiser', undefined],
    ['mach leiser bitte', 'volume-down', {}],
    ['Wie spät ist es gerade?', 'time', {}],
    ['Mikrofon aus', 'mute', {}],
    ['vergiss es', 'stop', {}],
    ['alle Timer löschen', 'timer-cancel', {}],
    ['wie lange läuft der Timer noch', 'timer-left', {}],
    ['mach es nicht lauter', undefined],
  ],
  fr: [
    ['mets un minuteur de cinq minutes', 'timer-set', { minutes: 5 }],
    ["règle une alarme pour 1 heure et 20 minutes s'il te plaît", 'timer-set', { hours: 1, minutes: 20 }],
    ["minuteur un quart d'heure", 'timer-set', { length: 900 }],
    ['peux tu augmenter le volume de 20 %', 'volume-up', { by: 20 }],
    ['volume à soixante et onze', 'volume-set', { percent: 71 }],
    ['Quelle heure est-il ?', 'time', {}],
    ['coupe le micro', 'mute', {}],
    ['laisse tomber', 'stop', {}],
    ['annule tous les minuteurs', 'timer-cancel', {}],
    ['il reste combien de temps', 'timer-left', {}],
    ["n'augmente pas le volume", undefined],
  ],
};

suite('sentences as people say them', () => {
  for (const [language, sentences] of Object.entries(SENTENCES))
    test(`a sentence in ${language} is understood, or nothing is done`, async () => {
      await using started = await start();
      for (const [text, intent, slots] of sentences) {
        const match = await started.match(text, language);
        const found = match.outcome === 'plan' ? match.plan : undefined;
        const id = intent && (language === 'en' ? `device.${intent}` : `device.${intent}.${language}`);
        assert.deepEqual(
          [found?.intent, found && { ...found.slots }],
          [id, slots],
          `${text}: ${JSON.stringify(match)}`,
        );
        if (found) assert.equal(found.text, text);
      }
    });

  test('a sentence of an app that names the courtesy is matched as it is', async () => {
    await using started = await start();
    started.registry.put({ utterances: ['say {word} please'], inputs: { word: 'string' } });
    const slots = await eventually('the app can be called', async () => {
      const match = await started.match('say hello please');
      return match.outcome === 'plan' ? match.plan.slots : undefined;
    });
    assert.deepEqual({ ...slots }, { word: 'hello' });
  });

  test('a text that may go on says so, with courtesy and without', async () => {
    await using started = await start();
    const beginning = { outcome: 'none', reason: 'it is only the beginning of a sentence' };
    for (const text of ['set a timer', 'could you set a timer', 'please set a timer for'])
      assert.deepEqual(await started.match(text), beginning, text);
    started.registry.put({ utterances: ['please stop the music'] });
    await eventually('the app can be called', async () =>
      (await started.match('please stop the music')).outcome === 'plan' ? true : undefined,
    );
    assert.equal((await started.plan('please stop')).mayGoOn, true);
    assert.deepEqual(await started.match('please stop the'), beginning);
  });

  test('the volume goes by what was said, and an answer is in the language of the question', async () => {
    await using started = await start();
    const run = async (text: string, language: string) => {
      const match = await started.match(text, language);
      assert.equal(match.outcome, 'plan', text);
      const { plan } = match as Extract<typeof match, { outcome: 'plan' }>;
      const { signal } = new AbortController();
      return started.intents.run(plan, { turn: 'turn', signal, deadline: Number.MAX_SAFE_INTEGER });
    };
    await run('volume up by 25 percent', 'en');
    assert.equal(started.speaker.volume, 0.75);
    await run('Lautstärke um 50 Prozent verringern', 'de');
    assert.equal(started.speaker.volume, 0.25);
    assert.equal((await run('wie laut ist es', 'de')).say, 'Die Lautstärke ist fünfundzwanzig Prozent.');
    assert.equal((await run('quel est le volume', 'fr')).say, 'Le volume est à vingt cinq pour cent.');
    assert.equal(
      (await run('stell einen timer auf 61 minuten', 'de')).say,
      'Timer für eine Stunde und eine Minute, ab jetzt.',
    );
    const french = await run('minuteur de 21 minutes', 'fr');
    assert.equal(french.say, 'Minuteur de vingt et une minutes, à partir de maintenant.');
    assert.equal((await run('5 and a half minute timer please', 'en')).result?.seconds, 330);
    assert.equal((await run('timer for 5 and a half minutes', 'en')).result?.seconds, 330);
  });
});

suite('numbers in words', () => {
  const SAID = {
    de: [
      [1, 'eins'],
      [21, 'einundzwanzig'],
      [101, 'einhunderteins'],
      [2_345, 'zwei tausend dreihundertfünfundvierzig'],
      [1_000_000, 'eine million'],
      [-1.5, 'minus eins komma fünf'],
    ],
    fr: [
      [21, 'vingt et un'],
      [71, 'soixante et onze'],
      [80, 'quatre vingts'],
      [99, 'quatre vingt dix neuf'],
      [200, 'deux cents'],
      [1_234, 'mille deux cent trente quatre'],
      [-1.5, 'moins un virgule cinq'],
    ],
  } as const;
  for (const [language, table] of Object.entries(SAID)) {
    const words = numberWords(language)!;
    test(`a number in ${language} is read as it is spelled`, () => {
      for (const [value, said] of table) {
        assert.equal(words.spell(value), said);
        assert.equal(words.read(said.split(' ')), value);
      }
      fc.assert(
        fc.property(fc.integer({ min: 0, max: words.most }), (value) => {
          assert.equal(words.read(words.spell(value).split(' ')), value);
        }),
        { numRuns: runs(200) },
      );
    });

    test(`a range in ${language} takes each of its numbers and no other`, () => {
      const bound = fc.integer({ min: 0, max: 3_000 });
      fc.assert(
        fc.property(
          bound,
          fc.integer({ min: 0, max: 1_200 }),
          fc.integer({ min: 0, max: 5_000 }),
          (from, size, value) => {
            const to = from + size;
            const { node } = buildSentence(`n {n:${from}..${to}}`, { language, slots: {}, rules: {} });
            const { reading } = new Automaton([node]).match(wordsOf(`n ${words.spell(value)}`));
            const taken = reading?.values.map(({ n }) => n);
            assert.deepEqual(taken, value >= from && value <= to ? [value] : undefined, `${value} of ${from}..${to}`);
          },
        ),
        { numRuns: runs(40) },
      );
    });
  }

  test('a word of neither is no number', () => {
    for (const [language, text] of [
      ['de', 'blau'],
      ['de', 'zwei millionen millionen'],
      ['de', 'eins komma'],
      ['fr', 'bleu'],
      ['fr', 'cent mille mille'],
    ] as const)
      assert.equal(numberWords(language)!.read(text.split(' ')), undefined, text);
  });
});
