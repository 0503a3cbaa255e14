/** A loudspeaker could say yes: no sentence allows what the device has asked its owner. Some refuse it, or show it again. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { display } from '@device-core/plugin-api/services/display';
import { intents } from '@device-core/plugin-api/services/intents';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { voice } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { LANGUAGES } from '../../../plugins/display/system-view/strings/index.ts';
import { startCore } from '../../fixtures/core.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const APP = 'com.example.agenda';
const SAID = [
  ...['yes', 'yes please', 'ok', 'okay', 'sure', 'I agree', 'confirm', 'accept'],
  ...['allow', 'allow it', 'allow it all', 'yes allow it', 'grant it', 'give it permission', 'answer yes'],
  ...['allow the agenda to use the microphone', 'accept the question', 'yes to the question'],
];

const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  en: ['refuse', 'Refuse it.', 'No, refuse it', 'I refuse', 'no, I refuse that', 'refuse the question', 'not now'],
  de: ['ablehnen', 'Nein, ablehnen', 'nein, ich lehne es ab', 'lehne die Frage ab', 'jetzt nicht', 'nicht jetzt'],
  fr: ['refuse', 'non, refuse', 'je refuse', 'refuse la demande', 'refuse-la', 'pas maintenant'],
};
const SHOWS: Readonly<Record<string, readonly string[]>> = {
  en: ['show the question', 'show me the question', 'what does it ask', 'read the question', 'what is the question'],
  de: ['zeig die Frage', 'zeige mir die Frage', 'lies die Frage vor', 'was ist die Frage'],
  fr: ['montre la question', 'lis-moi la question', 'quelle est la question'],
};
/** In the other languages. */
const YES: Readonly<Record<string, readonly string[]>> = {
  en: SAID,
  de: [
    'ja',
    'ja bitte',
    'erlauben',
    'erlaube es',
    'ja, erlaube es',
    'bestätigen',
    'zustimmen',
    'einverstanden',
    'nein, erlaube es',
  ],
  fr: ['oui', 'autorise', 'autorise-le', 'oui, autorise', 'accepte', 'confirme', "d'accord", 'non, autorise'],
};
/** What no sentence of ours may hold. */
const ALLOWS =
  /\b(yes|ok|okay|allow|accept|agree|grant|confirm|sure|ja|erlaub|bestätig|zustimm|oui|autoris|accept|confirm|accord)/i;

const PLUGINS = ['operations', 'system', 'prompts', 'functions', 'audio-sim', 'audio', 'speech', 'intent', 'voice'];
const SCREEN = ['panel-headless', 'display', 'render-soft', 'system-view'];
const QUESTION = {
  ...({ kind: 'consent', subject: APP, title: 'Agenda' } as const),
  what: [{ capability: 'audio.capture', summary: 'hear the microphone', reason: 'to take notes', optional: false }],
} as const;

const started = (ids: readonly string[]) =>
  startCore({
    plugins: Object.fromEntries(ids.map((id) => [id, '^1.0.0'])),
    ...(ids.includes('display') && { config: { display: { renderers: ['soft'], locale: 'en', timeZone: 'UTC' } } }),
  });

describe('a question, and a person who says yes', () => {
  for (const [what, ids] of [
    ['without a screen', PLUGINS],
    ['with one', [...PLUGINS, ...SCREEN]],
  ] as const)
    it(`grants nothing ${what}, for any words: the question stays open`, async () => {
      await using core = await started(ids);
      const questions = core.service(prompts);
      const outcome = questions.ask(QUESTION);
      await eventually(async () => (await questions.list()).length === 1, 'the question');
      const sentences = core.service(intents);
      if (ids.includes('system-view'))
        await eventually(async () => (await sentences.list()).some(({ id }) => id === 'question.refuse.en'), 'words');
      const [question] = await questions.list();
      for (const text of SAID) {
        const turn = await core.service(voice).ask(text);
        assert.notEqual(turn.outcome, 'answered', text);
        assert.equal(turn.plan, undefined, text);
        assert.deepEqual(await questions.list(), [question], text);
        assert.deepEqual(await core.service(consents).of(APP), [], text);
      }
      for (const [language, texts] of Object.entries(YES))
        for (const text of texts)
          assert.equal((await sentences.match(text, { language })).outcome, 'none', `${language}: ${text}`);
      for (const { id, owner, example } of await sentences.list())
        assert.doesNotMatch(`${id} ${owner} ${example}`, /prompt|consent|allow|grant/i);
      await questions.withdraw(APP, 'consent');
      assert.deepEqual((await outcome).allow, []);
    });
});

describe('a question on the panel, and a person who says no', () => {
  for (const [language, strings] of Object.entries(LANGUAGES))
    it(`has no word in it that allows: ${language}`, () => {
      for (const { title, sentences } of Object.values(strings.said))
        for (const text of [title, ...sentences]) assert.doesNotMatch(text, ALLOWS);
    });

  it('knows the sentences of each language, and only while it is open', async () => {
    await using core = await started([...PLUGINS, ...SCREEN]);
    const [questions, sentences] = [core.service(prompts), core.service(intents)];
    const match = async (text: string, language: string) => {
      const found = await sentences.match(text, { language });
      return found.outcome === 'plan' ? found.plan.intent : found.outcome;
    };
    const all = [
      ...Object.entries(REFUSALS).map(([language, texts]) => ['refuse', language, texts] as const),
      ...Object.entries(SHOWS).map(([language, texts]) => ['show', language, texts] as const),
    ];
    for (const [, language, texts] of all) for (const text of texts) assert.equal(await match(text, language), 'none');
    const outcome = questions.ask(QUESTION);
    await eventually(async () => (await match('refuse', 'fr')) !== 'none', 'the sentences');
    for (const [what, language, texts] of all)
      for (const text of texts) assert.equal(await match(text, language), `question.${what}.${language}`, text);
    await questions.withdraw(APP, 'consent');
    await outcome;
    await eventually(async () => (await match('refuse', 'fr')) === 'none', 'no sentence');
    assert.equal((await core.service(voice).ask('refuse')).plan, undefined);
  });

  it('hears what was asked, and that it is refused; the answer is kept as that of the panel', async () => {
    await using core = await started([...PLUGINS, ...SCREEN]);
    const screen = core.service(display);
    const outcome = core.service(prompts).ask(QUESTION);
    await eventually(async () => (await screen.describe()).join().includes('[Allow]'), 'buttons');
    const said = async (text: string) => (await core.service(intents).match(text, { language: 'en' })).outcome;
    await eventually(async () => (await said('refuse')) === 'plan', 'the sentences');
    // Without an engine the answer is not heard: what would be said is told all the same.
    const { said: shown } = await core.service(voice).ask('what does it ask');
    assert.equal(shown, 'Agenda wants permission. Hear the microphone. Please answer on the screen.');
    const { said: refused } = await core.service(voice).ask('no, refuse it');
    assert.equal(refused, 'Refused: Agenda.');
    const { allow, by } = await outcome;
    assert.deepEqual([allow, by], [[], 'panel']);
    assert.deepEqual(
      (await core.service(consents).of(APP)).map(({ capability, allowed, by }) => [capability, allowed, by]),
      [['audio.capture', false, 'panel']],
    );
  });
});
