/** What every provider of the service `intents` must do, however it matches. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type {
  IntentAnswer,
  IntentDefinition,
  IntentPlan,
  IntentRun,
  Intents,
} from '@device-core/plugin-api/services/intents';

export interface IntentsUnderTest extends AsyncDisposable {
  readonly intents: Intents;
  /** Resolves when what was added or removed counts. */
  settle(): Promise<void>;
}

const OWNER = 'plugin.test';
const EN = { language: 'en' } as const;
const LAMP: IntentDefinition = {
  id: 'test.lamp',
  title: 'The lamp',
  language: 'en',
  sentences: ['turn [the] lamp {state}', 'set [the] lamp to {level} percent'],
  slots: {
    state: {
      kind: 'list',
      values: [
        { in: 'on', out: true },
        { in: 'off', out: false },
      ],
    },
    level: { kind: 'int', from: 0, to: 100, step: 10 },
  },
};
const NOTE: IntentDefinition = {
  id: 'test.note',
  title: 'A note',
  language: 'en',
  sentences: ['write down {what}'],
  slots: { what: { kind: 'open' } },
};
const quiet = async (): Promise<IntentAnswer> => ({});
const told = (signal: AbortSignal = new AbortController().signal) => ({
  turn: 'turn-1',
  signal,
  deadline: Date.now() + 30_000,
});

async function planOf(intents: Intents, text: string): Promise<IntentPlan> {
  const match = await intents.match(text, EN);
  assert.equal(match.outcome, 'plan', `${text}: ${JSON.stringify(match)}`);
  return (match as { readonly plan: IntentPlan }).plan;
}

/** Declares the tests; call it inside a `describe`. */
export function intentsContract(open: () => Promise<IntentsUnderTest>): void {
  const SENTENCES: readonly [text: string, slots: object | undefined][] = [
    ['turn lamp on', { state: true }],
    ['Turn the LAMP, off!', { state: false }],
    ['set lamp to fifty percent', { level: 50 }],
    ['set the lamp to 50 percent', { level: 50 }],
    ['set the lamp to 55 percent', undefined],
    ['set the lamp to 110 percent', undefined],
    ['turn the lamp', undefined],
    ['turn the lamp on tomorrow', undefined],
    ['the lamp is on', undefined],
    ['', undefined],
  ];
  it('takes whole sentences for what they say, and nothing else for anything', async () => {
    await using target = await open();
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await target.settle();
    for (const [text, slots] of SENTENCES) {
      const match = await target.intents.match(text, EN);
      if (slots === undefined) assert.equal(match.outcome, 'none', `${text}: ${JSON.stringify(match)}`);
      else {
        const { intent, slots: found } = await planOf(target.intents, text);
        assert.deepEqual([intent, found], ['test.lamp', slots], text);
      }
    }
  });

  it('knows which sentences of another meaning sound like one, and no other way to say the same', async () => {
    await using target = await open();
    const dim = { ...LAMP, id: 'test.dim', sentences: ['turn [the] lamp down'], slots: {} };
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await using __ = target.intents.add(dim, quiet, OWNER);
    await target.settle();
    const rivals = await target.intents.rivals('turn the lamp on', EN);
    const ours = rivals.filter(({ text }) => text.includes('lamp'));
    assert.deepEqual(ours, [
      { text: 'turn the lamp off', byValue: true },
      { text: 'turn the lamp down', byValue: false },
    ]);
    const levels = (await target.intents.rivals('set lamp to sixty percent', EN)).map(({ text }) => text);
    assert.ok(levels.includes('set lamp to seventy percent'), levels.join(', '));
    assert.ok(!levels.includes('set lamp to sixty percent') && !levels.some((text) => text.includes('five')));
    assert.deepEqual(await target.intents.rivals('the lamp is on', EN), []);
  });

  it('hears a sentence in its own language only', async () => {
    await using target = await open();
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await target.settle();
    assert.equal((await target.intents.match('turn lamp on', { language: 'sv' })).outcome, 'none');
    assert.equal(await target.intents.grammar('sv'), undefined);
  });

  it('does not choose between two that say the same', async () => {
    await using target = await open();
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await using __ = target.intents.add({ ...LAMP, id: 'test.other' }, quiet, OWNER);
    await target.settle();
    const match = await target.intents.match('turn lamp on', EN);
    assert.equal(match.outcome, 'ambiguous');
    const ids = (match as { readonly candidates: readonly IntentPlan[] }).candidates.map(({ intent }) => intent);
    assert.deepEqual(ids.sort(), ['test.lamp', 'test.other']);
  });

  it('does what a plan says, with its slots, its turn and its deadline, and hands the answer back', async () => {
    await using target = await open();
    const runs: IntentRun[] = [];
    const run = async (asked: IntentRun): Promise<IntentAnswer> => {
      runs.push(asked);
      return { say: 'It is on.', followUp: true, result: { state: true } };
    };
    await using _ = target.intents.add(LAMP, run, OWNER);
    await target.settle();
    const options = told();
    const answer = await target.intents.run(await planOf(target.intents, 'turn the lamp on'), options);
    assert.deepEqual(answer, { say: 'It is on.', followUp: true, result: { state: true } });
    const [{ slots, turn, deadline } = { slots: {}, turn: '', deadline: 0 }] = runs;
    assert.deepEqual([slots, turn, deadline], [{ state: true }, options.turn, options.deadline]);
  });

  it('ends a run whose turn was given up', async () => {
    await using target = await open();
    const aborted = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const run = ({ signal }: IntentRun) =>
      new Promise<IntentAnswer>((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.resolve();
          reject(signal.reason);
        });
        started.resolve();
      });
    await using _ = target.intents.add(LAMP, run, OWNER);
    await target.settle();
    const stop = new AbortController();
    const plan = await planOf(target.intents, 'turn the lamp on');
    const failed = assert.rejects(target.intents.run(plan, told(stop.signal)));
    await started.promise;
    stop.abort();
    await failed;
    await aborted.promise;
  });

  it('knows nothing more of what was removed, and does not do it', async () => {
    await using target = await open();
    const lamp = target.intents.add(LAMP, quiet, OWNER);
    await target.settle();
    const plan = await planOf(target.intents, 'turn the lamp on');
    await lamp[Symbol.asyncDispose]();
    await target.settle();
    assert.equal((await target.intents.match('turn the lamp on', EN)).outcome, 'none');
    await assert.rejects(target.intents.run(plan, told()), { code: 'INTENT_NOT_FOUND' });
    assert.ok((await target.intents.list(EN)).every(({ id }) => id !== LAMP.id));
  });

  it('tells of each change, and has it in the grammar: what has lists and ranges, not what is open', async () => {
    await using target = await open();
    const changed = Promise.withResolvers<void>();
    using _ = target.intents.onChange(changed.resolve);
    await using __ = target.intents.add(LAMP, quiet, OWNER);
    await using ___ = target.intents.add(NOTE, quiet, OWNER);
    await target.settle();
    await changed.promise;
    const grammar = JSON.stringify(await target.intents.grammar('en'));
    assert.match(grammar, /lamp/);
    assert.doesNotMatch(grammar, /write down/);
    const { intent, slots } = await planOf(target.intents, 'write down buy some tea');
    assert.deepEqual([intent, slots], ['test.note', { what: 'buy some tea' }]);
  });

  it('lists what can be said, with an example that means it', async () => {
    await using target = await open();
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await target.settle();
    const listed = (await target.intents.list(EN)).find(({ id }) => id === LAMP.id);
    assert.deepEqual([listed?.title, listed?.owner], [LAMP.title, OWNER]);
    assert.equal((await planOf(target.intents, listed!.example)).intent, LAMP.id);
  });

  const WRONG: readonly [what: string, change: Partial<IntentDefinition>][] = [
    ['a bracket without its end', { sentences: ['turn [the lamp {state}'] }],
    ['a slot that is not there', { sentences: ['turn lamp {mood}'] }],
    ['no sentence', { sentences: [] }],
    ['a rule that is not there', { sentences: ['turn <thing> {state}'] }],
    ['an id with blanks', { id: 'the lamp' }],
  ];
  for (const [what, change] of WRONG)
    it(`refuses ${what}`, async () => {
      await using target = await open();
      const add = async () => void (await target.intents.add({ ...LAMP, ...change }, quiet, OWNER));
      await assert.rejects(add, { code: 'PARAMS_INVALID' });
    });

  it('refuses a second one of an id, and keeps the first', async () => {
    await using target = await open();
    await using _ = target.intents.add(LAMP, quiet, OWNER);
    await target.settle();
    const again = async () => void (await target.intents.add(LAMP, quiet, OWNER));
    await assert.rejects(again, { code: 'PARAMS_INVALID' });
    await planOf(target.intents, 'turn the lamp on');
  });
}
