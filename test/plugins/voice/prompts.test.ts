/** A loudspeaker could say yes: no sentence answers a question that the device has put to its owner. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { consents, intents, prompts, voice } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../../fixtures/core.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const APP = 'com.example.agenda';
const SAID = [
  ...['yes', 'yes please', 'ok', 'okay', 'sure', 'I agree', 'confirm', 'accept'],
  ...['allow', 'allow it', 'allow it all', 'yes allow it', 'grant it', 'give it permission', 'answer yes'],
  ...['allow the agenda to use the microphone', 'accept the question', 'yes to the question'],
];

describe('a question, and somebody who says yes', () => {
  it('grants nothing, whatever is said: the question stays open', async () => {
    const plugins = Object.fromEntries(
      ['operations', 'system', 'prompts', 'functions', 'audio-sim', 'audio', 'speech', 'intent', 'voice'].map((id) => [
        id,
        '^1.0.0',
      ]),
    );
    await using core = await startCore({ plugins });
    const questions = core.service(prompts);
    const outcome = questions.ask({
      ...{ kind: 'consent', subject: APP, title: 'Agenda' },
      what: [{ capability: 'audio.capture', summary: 'hear the microphone', reason: 'to take notes', optional: false }],
    });
    await eventually(async () => (await questions.list()).length === 1, 'the question');
    const [question] = await questions.list();
    for (const text of SAID) {
      const turn = await core.service(voice).ask(text);
      assert.notEqual(turn.outcome, 'answered', text);
      assert.deepEqual(await questions.list(), [question], text);
      assert.deepEqual(await core.service(consents).of(APP), [], text);
    }
    for (const { id, owner, example } of await core.service(intents).list())
      assert.doesNotMatch(`${id} ${owner} ${example}`, /prompt|consent|allow|grant/i);
    await questions.withdraw(APP, 'consent');
    assert.deepEqual((await outcome).allow, []);
  });
});
