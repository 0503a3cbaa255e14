import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { config } from '@device-core/plugin-api/services/config';
import type { LedgerEntry, VoiceTurn } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Budget } from '../../../plugins/voice/voice/budget.ts';
import { part } from '../../fixtures/scope.ts';
import { eventually, type FakeSpeech } from './fakes.ts';
import { start } from './started.ts';

after(leakCheck());

interface Told {
  readonly entries: readonly LedgerEntry[];
  readonly unsent: readonly { readonly rule: string; readonly reason: string }[];
  readonly used: { readonly daySeconds: number };
}

/** One command, and what came of it. */
async function command(
  router: object,
  prepare: (engines: FakeSpeech) => void,
  said = 'next',
  extra: object = {},
  before = '_',
) {
  const started = await start({ router, ...extra });
  const { host, sound, engines, over, table, events } = started;
  engines.cloudThere = true;
  prepare(engines);
  sound.say(`${before} hey-computer ${said} _ _ _ _ _ _`);
  const [turn] = await over();
  const told = (await table.run('voice.ledger', {})) as Told;
  await host.stop();
  return {
    turn: turn as VoiceTurn,
    told,
    sent: engines.sent,
    finals: events('audio.stt.final') as { stage: string }[],
  };
}

const FAILS = new CoreError('SPEECH_FAILED', { engine: 'fake', reason: 'it is broken' });

describe('engines that understand', { concurrency: 4, timeout: 300_000 }, () => {
  const cases: readonly (readonly [
    title: string,
    router: object,
    prepare: (engines: FakeSpeech) => void,
    expected: {
      readonly stage?: string;
      readonly outcome: string;
      readonly rule?: string;
      readonly said?: string;
      readonly unsent?: string;
    },
  ])[] = [
    ['the local engine, where it knows', {}, () => undefined, { stage: 'local', outcome: 'answered' }],
    [
      'the cloud, where local engines are not to be asked',
      { local: false },
      () => undefined,
      { stage: 'cloud', outcome: 'answered', rule: 'local-disabled' },
    ],
    [
      'the cloud, where the local engine is unsure',
      {},
      ({ stt }) => {
        stt.local.hears = (text) => ({ text, confidence: 0.1 });
      },
      { stage: 'cloud', outcome: 'answered', rule: 'unsure' },
    ],
    [
      'the cloud, where it was no sentence of the grammar',
      {},
      ({ stt }) => {
        stt.local.hears = () => ({ text: '', inGrammar: false });
      },
      { stage: 'cloud', outcome: 'answered', rule: 'out-of-grammar' },
    ],
    [
      'the cloud, where local words mean nothing',
      {},
      ({ stt }) => {
        stt.local.hears = () => ({ text: 'nest' });
      },
      { stage: 'cloud', outcome: 'answered', rule: 'no-intent' },
    ],
    [
      'the cloud, where the local engine fails',
      {},
      ({ stt }) => {
        stt.local.fails = FAILS;
      },
      { stage: 'cloud', outcome: 'answered', rule: 'local-failed' },
    ],
    [
      'the cloud, where the local engine hangs',
      { localMs: 200 },
      ({ stt }) => {
        stt.local.hangs = true;
      },
      { stage: 'cloud', outcome: 'answered', rule: 'local-failed' },
    ],
    [
      'whoever is first, where the local engine takes long',
      { hedgeMs: 50 },
      ({ stt }) => {
        stt.local.ms = 600;
      },
      { stage: 'cloud', outcome: 'answered', rule: 'hedge' },
    ],
    [
      'the local engine all the same, where the hedge is slower still',
      { hedgeMs: 50 },
      ({ stt }) => {
        stt.local.ms = 150;
        stt.cloud.hangs = true;
      },
      { stage: 'local', outcome: 'answered', rule: 'hedge' },
    ],
    [
      'nobody: local only is absolute',
      { localOnly: true, local: false, hedgeMs: 1 },
      ({ stt }) => {
        stt.local.fails = FAILS;
      },
      { outcome: 'failed', said: 'Sorry, that did not work.' },
    ],
    [
      'nobody, and it says what it is not sure of: local only',
      { localOnly: true },
      ({ stt }) => {
        stt.local.hears = (text) => ({ text, confidence: 0.1 });
      },
      { stage: 'local', outcome: 'refused', said: 'I am not sure what you said.' },
    ],
    [
      'nobody: the cloud fails, too, which is told',
      {},
      ({ stt }) => {
        stt.local.hears = () => ({ text: '', inGrammar: false });
        stt.cloud.fails = FAILS;
      },
      {
        stage: 'local',
        outcome: 'refused',
        rule: 'out-of-grammar',
        said: 'I did not understand that.',
        unsent: 'fake failed: it is broken',
      },
    ],
    [
      'nobody: the cloud does not answer in time',
      { local: false, cloudMs: 1_500 },
      ({ stt }) => {
        stt.cloud.hangs = true;
      },
      { outcome: 'failed', rule: 'local-disabled', unsent: 'the cloud transcription timed out after 1500 ms' },
    ],
    [
      'nobody: the budget is used up',
      { local: false, budget: { secondsPerDay: 0.1 } },
      () => undefined,
      { outcome: 'failed', unsent: 'the 0.1 s of the day are used up' },
    ],
    [
      'nobody: there is no cloud engine',
      { local: false },
      (engines) => {
        engines.cloudThere = false;
      },
      { outcome: 'failed', unsent: 'there is no stt engine for this: there is none in the cloud' },
    ],
  ];
  for (const [title, router, prepare, { stage, outcome, rule, said, unsent }] of cases)
    it(title, async () => {
      const { turn, told, sent, finals } = await command(router, prepare);
      assert.deepEqual([turn.outcome, turn.stage], [outcome, stage]);
      if (said !== undefined) assert.equal(turn.said, said);
      assert.deepEqual(
        finals.map((one) => one.stage),
        stage === undefined ? [] : [stage],
      );
      assert.deepEqual([...new Set(told.entries.map((entry) => entry.rule))], rule === undefined ? [] : [rule]);
      const bytes = told.entries.reduce((sum, entry) => sum + entry.bytes, 0);
      if (rule === undefined) assert.deepEqual([sent, bytes], [0, 0], 'nothing left the device');
      else assert.ok(bytes >= sent * 640, `${bytes} bytes are told of ${sent} frames`);
      assert.ok(told.entries.every(({ to, turn: of }) => to === 'cloud (A cloud)' && of === turn.turn));
      assert.ok(Math.abs(told.used.daySeconds - bytes / 32_000) < 0.01);
      assert.deepEqual(
        told.unsent.map(({ reason }) => reason),
        unsent === undefined ? [] : [unsent],
      );
    });

  for (const [what, cloudThere, note] of [
    ['says for what a cloud was asked', true, /^cloud for out-of-grammar$/],
    ['says nothing of a cloud that the device does not have', false, undefined],
  ] as const)
    it(`the trace ${what}`, async () => {
      const { turn } = await command({}, (engines) => {
        engines.cloudThere = cloudThere;
        engines.stt.local.hears = () => ({ text: '', inGrammar: false });
      });
      const stt = turn.spans.find(({ name }) => name === 'stt');
      assert.ok(stt);
      if (note) assert.match(stt.note ?? '', note);
      else assert.equal(stt.note, undefined);
    });

  it('sends the wake phrase and what follows, and nothing that was said before', async () => {
    const talk = 'one two three four five six seven eight nine ten';
    const { turn, sent, told } = await command({ local: false }, () => undefined, 'next', {}, talk);
    assert.deepEqual([turn.outcome, turn.heard], ['answered', 'next']);
    assert.ok(sent <= 1_500 / 20 + 25, `${sent} frames`);
    assert.ok(told.entries.length > 0);
  });

  it('asks no cloud while the network is away, and says so', async () => {
    const { host, sound, engines, over } = await start({ router: { local: false } });
    await using _host = host;
    engines.cloudThere = true;
    host.publish('system.network', { state: 'offline' });
    sound.say('_ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    assert.deepEqual([turn!.said, engines.sent], ['I am offline.', 0]);
  });

  for (const [title, refuses, reason] of [
    [
      'there is no ledger',
      undefined,
      'service ledger ^1.0.0 is not there: nothing is sent that cannot be written down before',
    ],
    [
      'the disk of the ledger is full',
      new CoreError('STORAGE_FULL', { file: 'ledger.jsonl', what: 'the ledger', reason: 'it is full' }),
      undefined,
    ],
  ] as const)
    it(`sends nothing where ${title}, and says so`, async () => {
      const { host, sound, engines, over, table, book } = await start({ router: { local: false } }, {}, undefined, {
        ledger: title !== 'there is no ledger',
      });
      await using _host = host;
      engines.cloudThere = true;
      book.refuses = refuses;
      sound.say('_ hey-computer next _ _ _ _ _ _');
      const [turn] = await over();
      const told = (await table.run('voice.ledger', {})) as Told;
      assert.deepEqual([turn!.outcome, engines.sent, told.entries], ['failed', 0, []]);
      assert.deepEqual(
        told.unsent.map((one) => one.reason),
        [reason ?? refuses?.message],
      );
    });

  it('keeps the word of the user that nothing leaves', async () => {
    const { host, sound, engines, over } = await start({ router: { local: false } });
    await using _host = host;
    engines.cloudThere = true;
    const entry = { key: 'voice.localOnly', value: true, source: 'device', revision: 1 } as const;
    await host.appear(config, {
      get: async () => entry,
      list: async () => [entry],
      set: async () => entry,
      watch: () => ({ [Symbol.dispose]: () => undefined }),
      describeApp: async () => undefined,
      describe: async () => ({ [Symbol.dispose]: () => undefined }),
    });
    sound.say('_ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    assert.deepEqual([turn!.outcome, engines.sent], ['failed', 0]);
  });
});

describe('the word of the user', { timeout: 300_000 }, () => {
  it('counts in the middle of a command that is being sent', async () => {
    const { host, sound, engines, over, events } = await start({ router: { local: false } });
    await using _host = host;
    engines.cloudThere = true;
    const words = 'one two three four five six seven eight nine ten';
    sound.say(`_ hey-computer ${words} ${words} ${words} ${words} _ _ _ _ _ _`);
    await eventually('the first frame in the cloud', () => engines.sent > 0);
    const entry = { key: 'voice.localOnly', value: true, source: 'device', revision: 1 } as const;
    await host.appear(config, {
      get: async () => entry,
      list: async () => [entry],
      set: async () => entry,
      watch: () => ({ [Symbol.dispose]: () => undefined }),
      describeApp: async () => undefined,
      describe: async () => ({ [Symbol.dispose]: () => undefined }),
    });
    await host.settle();
    const { sent } = engines;
    const [turn] = await over();
    assert.equal(turn!.outcome, 'failed');
    // One frame may have been on its way.
    assert.ok(engines.sent <= sent + 1, `${engines.sent - sent} frames went after it`);
    assert.deepEqual(events('audio.stt.final'), []);
  });
});

describe('the budget', () => {
  it('counts the seconds of the day and of the month over restarts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dc-budget-'));
    const file = join(folder, 'budget.json');
    const limits = { secondsPerDay: 10, secondsPerMonth: 15 };
    const day = Date.UTC(2026, 4, 30, 12);
    await using parts = part();
    const { scope, log } = parts;
    const budget = await Budget.open(file, limits, scope, log);
    await budget.spend(8, day);
    const again = await Budget.open(file, limits, scope, log);
    assert.equal(again.refusal(2, day), undefined);
    assert.match(again.refusal(3, day)!, /day/);
    const tomorrow = day + 86_400_000;
    await again.spend(6, tomorrow);
    assert.match(again.refusal(2, tomorrow)!, /month/);
    assert.equal(again.refusal(10, tomorrow + 86_400_000), undefined);
    const past = tomorrow - 5 * 365 * 86_400_000;
    assert.match(again.refusal(10, past)!, /day/, 'a clock that was years ahead does not make the budget new');
    await writeFile(file, 'no json');
    const third = await Budget.open(file, limits, scope, log);
    assert.match(third.refusal(2, tomorrow)!, /month/, 'the last good copy counts');
    await rm(folder, { recursive: true });
  });
});
