/** Local engines one after the other, each with its limit and budget, and the cloud after them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Engine, engine, type FakeSpeech } from './fakes.ts';
import { start } from './started.ts';

after(leakCheck());

const GRAMMAR = { engine: 'grammar' };
const FREE = { engine: 'free' };
const BROKEN = new CoreError('SPEECH_FAILED', { engine: 'fake', reason: 'it died' });
const deaf: Partial<Engine> = { hears: () => ({ text: '', inGrammar: false }) };
const nonsense: Partial<Engine> = { hears: () => ({ text: 'colourless green ideas', confidence: 1 }) };

async function told(
  router: object,
  engines: Readonly<Record<string, Partial<Engine>>>,
  { said = 'next', cloud = false, prepare = (_: FakeSpeech): void => undefined } = {},
) {
  const started = await start({ router });
  await using host = started.host;
  started.engines.cloudThere = cloud;
  for (const [name, one] of Object.entries(engines)) started.engines.byName[name] = engine(one);
  prepare(started.engines);
  started.sound.say(`_ hey-computer ${said} _ _ _ _ _ _`);
  const [turn] = await started.over();
  await host.settle();
  const note = turn!.spans.find(({ name }) => name === 'stt')?.note;
  return { turn: turn as VoiceTurn, note, given: started.engines.given, sent: started.engines.sent };
}

interface Expected {
  readonly engine?: string;
  readonly outcome: string;
  readonly note?: string;
  readonly cloud?: boolean;
}

const CASES: readonly (readonly [
  title: string,
  engines: Readonly<Record<string, Partial<Engine>>>,
  expected: Expected,
  stages?: readonly object[],
])[] = [
  ['the first, where it understands', { grammar: {}, free: {} }, { engine: 'grammar', outcome: 'answered' }],
  [
    'the second, where it was no sentence of the first',
    { grammar: deaf, free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for out-of-grammar' },
  ],
  [
    'the second, where the first dies',
    { grammar: { fails: BROKEN }, free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for local-failed' },
  ],
  [
    'the second, where the first hangs beyond its limit',
    { grammar: { hangs: true }, free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for local-failed' },
    [{ ...GRAMMAR, ms: 120 }, FREE],
  ],
  [
    'the second, where the first answers late, and its late answer is dropped',
    { grammar: { ms: 500 }, free: { ms: 30 } },
    { engine: 'free', outcome: 'answered', note: 'free for local-failed' },
    [{ ...GRAMMAR, ms: 100 }, FREE],
  ],
  [
    'the second, where the first is sure of nonsense',
    { grammar: nonsense, free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for no-intent' },
  ],
  [
    'the second, where the first is less sure than it has to be',
    { grammar: { hears: (text) => ({ text, confidence: 0.6 }) }, free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for unsure' },
    [{ ...GRAMMAR, unsureBelow: 0.7 }, FREE],
  ],
  [
    'the second, where the first is not there',
    { free: {} },
    { engine: 'free', outcome: 'answered', note: 'free for local-failed' },
  ],
  [
    'the third, and the cloud is not asked',
    { grammar: deaf, middle: nonsense, free: {} },
    { engine: 'free', outcome: 'answered', note: 'middle for out-of-grammar; free for no-intent', cloud: true },
    [GRAMMAR, { engine: 'middle' }, FREE],
  ],
  [
    'the cloud, where none of them understands',
    { grammar: deaf, free: nonsense },
    {
      engine: 'cloud',
      outcome: 'answered',
      note: 'free for out-of-grammar; cloud for no-intent',
      cloud: true,
    },
  ],
  [
    'none: all of them are sure of nonsense, and it is refused',
    { grammar: nonsense, free: nonsense },
    { engine: 'free', outcome: 'refused', note: 'free for no-intent' },
  ],
  [
    'none: all of them fail',
    { grammar: { fails: BROKEN }, free: { fails: BROKEN } },
    { outcome: 'failed', note: 'free for local-failed' },
  ],
  [
    'the first alone, where nothing was said to it',
    { grammar: { hears: () => ({ text: '' }) }, free: {} },
    { outcome: 'silent' },
  ],
];

describe('stages that understand', { concurrency: 4, timeout: 300_000 }, () => {
  for (const [title, engines, { outcome, note, cloud = false, engine: by }, stages = [GRAMMAR, FREE]] of CASES)
    it(title, async () => {
      const { turn, note: noted, sent } = await told({ stages }, engines, { cloud });
      assert.deepEqual([turn.outcome, turn.engine, noted], [outcome, by, note]);
      assert.equal(sent > 0, by === 'cloud');
    });

  it('a stage gets no more seconds of commands in an hour than its budget, and the trace says so', async () => {
    const stages = [GRAMMAR, { ...FREE, secondsPerHour: 0.01 }];
    const { turn, note, given } = await told({ stages }, { grammar: deaf, free: {} });
    assert.equal(turn.outcome, 'refused');
    assert.equal(note, 'free for out-of-grammar, not asked: the 0.01 s of the hour are used up');
    assert.equal(given.free, undefined);
  });

  it('a stage that hears along has the command before it is asked', async () => {
    const engines = { grammar: { ...deaf, ms: 60 }, free: { ms: 1 } };
    const { turn, given } = await told({ stages: [GRAMMAR, { ...FREE, along: true }] }, engines);
    assert.deepEqual([turn.outcome, turn.engine], ['answered', 'free']);
    assert.ok((given.free ?? 0) > 0);
  });

  it('a stage that names an engine of the cloud is given nothing', async () => {
    const { turn, sent } = await told({ stages: [{ engine: 'cloud' }], localOnly: true }, {}, { cloud: true });
    assert.deepEqual([turn.outcome, sent], ['failed', 0]);
  });

  it('the lines of before mean one local stage and the cloud', async () => {
    const { turn, note } = await told(
      { local: true, unsureBelow: 0.25, localMs: 3_000 },
      {},
      {
        cloud: true,
        prepare: ({ stt }) => {
          stt.local.hears = (text) => ({ text, confidence: 0.1 });
        },
      },
    );
    assert.deepEqual([turn.outcome, note], ['answered', 'cloud for unsure']);
  });
});
