import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FakeCore } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';

const PLAN = { intent: 'device.timer-set', title: 'Set a timer', slots: { minutes: 5 }, text: 'x', mayGoOn: true };
const LIST = {
  ok: true,
  intents: [{ id: 'device.time', title: 'What time is it', owner: 'plugin.intent', example: 'what time is it' }],
  leftOut: [{ app: 'com.a', function: 'f', reason: 'the app does not hold audio.intent' }],
};
const GRAMMAR = { id: '1', language: 'en', jsgf: '#JSGF V1.0 UTF-8;\ngrammar commands;\n', words: [] };

describe('devicectl intents', () => {
  let core: FakeCore;
  let at: readonly string[];
  before(async () => {
    core = await FakeCore.start({ 'GET /intents': LIST, 'GET /intents/grammar': { ok: true, grammar: GRAMMAR } });
    at = ['--run', core.root];
  });
  after(() => core[Symbol.asyncDispose]());

  const prints = async (args: readonly string[], ...lines: readonly RegExp[]) => {
    const ended = await devicectl([...args, ...at]);
    assert.equal(ended.stderr, '');
    for (const line of lines) assert.match(ended.stdout, line);
  };

  test('lists what can be said, and what cannot and why', () =>
    prints(
      ['intents'],
      /^device\.time {2}what time is it {2}plugin\.intent {2}What time is it$/m,
      /^left out: f of com\.a: the app does not hold audio\.intent$/m,
    ));

  test('tells what a text means', async () => {
    const match = ['intents', 'match', 'set a timer for five minutes', '--language', 'en'];
    core.replies['POST /intents/match'] = { ok: true, outcome: 'plan', plan: PLAN };
    await prints(match, /^device\.timer-set minutes=5 {2}\(Set a timer; may go on\)$/m);
    assert.deepEqual(core.seen.at(-1)?.body, { text: 'set a timer for five minutes', language: 'en' });
    const other = { ...PLAN, intent: 'com.a.timer', slots: {}, mayGoOn: false };
    core.replies['POST /intents/match'] = { ok: true, outcome: 'ambiguous', candidates: [PLAN, other] };
    await prints(match, /^more than one:$/m, /^device\.timer-set minutes=5/m, /^com\.a\.timer {2}\(Set a timer\)$/m);
    core.replies['POST /intents/match'] = { ok: true, outcome: 'none', reason: 'no sentence is like this' };
    await prints(match, /^nothing: no sentence is like this$/m);
  });

  test('prints the grammar', () => prints(['intents', 'grammar'], /^#JSGF V1\.0 UTF-8;\ngrammar commands;$/m));
});
