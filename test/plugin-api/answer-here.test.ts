/** Answering where a program waits: what is asked, what is sent, and who else may answer meanwhile. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerHere } from '@device-core/plugin-api/inside/program';
import { EXIT, Failure, type ProgramClient } from '@device-core/plugin-api/program';
import type { Prompt, PromptItem } from '@device-core/plugin-api/services/prompts';

const ITEM: PromptItem = { capability: 'audio.capture', summary: 'Hear the microphone', reason: 'r', optional: false };
const NFC: PromptItem = { ...ITEM, capability: 'sensors.nfc', summary: 'Read \u001b[2J tags', optional: true };
const PROMPT: Prompt = {
  id: 'a1',
  kind: 'consent',
  subject: 'com.example.a',
  title: 'A',
  what: [ITEM, NFC],
  since: 0,
  until: 1,
};

function bench(answers: readonly boolean[], failure?: Failure) {
  const asked: string[] = [];
  const sent: unknown[] = [];
  const over = new AbortController();
  const client = {
    post: async (path: string, body: unknown) => {
      sent.push([path, body]);
      if (failure) throw failure;
      return { body: {} };
    },
  } as unknown as ProgramClient;
  const ask = async (question: string) => {
    asked.push(question);
    const answer = answers[asked.length - 1];
    if (answer !== undefined) return answer;
    over.abort();
    throw new DOMException('aborted', 'AbortError');
  };
  return { asked, sent, options: { client, ask, signal: over.signal } };
}

describe('a question at the terminal', () => {
  const CASES: readonly (readonly [
    title: string,
    prompt: Prompt,
    answers: readonly boolean[],
    allow: readonly string[],
  ])[] = [
    ['allows what is required, and what was switched on', PROMPT, [true, true], ['audio.capture', 'sensors.nfc']],
    ['leaves out what is optional and was not switched on', PROMPT, [false, true], ['audio.capture']],
    ['sends a no, whatever was switched on', PROMPT, [true, false], []],
    ['sends a no where nothing was switched on of what is optional alone', { ...PROMPT, what: [NFC] }, [false], []],
  ];
  for (const [title, prompt, answers, allow] of CASES)
    it(title, async () => {
      const { asked, sent, options } = bench(answers);
      await answerHere(prompt, options);
      assert.deepEqual(sent, [['/prompts/a1', { allow }]]);
      assert.equal(asked.length, answers.length);
    });

  for (const [title, what, allow] of [
    ['allows what is required', [ITEM, NFC], ['audio.capture']],
    ['switches nothing on that is optional', [NFC], []],
  ] as const)
    it(`${title} where the command line said yes, and asks nothing`, async () => {
      const { asked, sent, options } = bench([]);
      await answerHere({ ...PROMPT, what }, { ...options, yes: true });
      assert.deepEqual([asked, sent], [[], [['/prompts/a1', { allow }]]]);
    });

  it('names what a yes allows, and words of others cannot move the cursor', async () => {
    const { asked, options } = bench([false, true]);
    await answerHere(PROMPT, options);
    assert.deepEqual(asked, ['Optional: Read \\x1b[2J tags. Switch it on?', 'Allow audio.capture?']);
  });

  it('is over when it was answered elsewhere: nothing is sent', async () => {
    const { sent, options } = bench([true]);
    await answerHere(PROMPT, options);
    assert.deepEqual(sent, []);
  });

  it('is over when another answer was faster; every other failure is told', async () => {
    const late = new Failure(EXIT.answered, 'CONSENT_NOT_FOUND', 'panel has answered it');
    await answerHere(PROMPT, bench([true, true], late).options);
    const gone = new Failure(EXIT.answered, 'UNREACHABLE', 'cannot reach the Core');
    await assert.rejects(answerHere(PROMPT, bench([true, true], gone).options), gone);
  });
});
