/** Who says what a sentence means that is none of ours, and what is sent to them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { config } from '@device-core/plugin-api/services/config';
import type { LedgerEntry } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { start } from './started.ts';

after(leakCheck());

const WORDS = 'brew me something';
type Others = Readonly<Record<string, { readonly stage: 'local' | 'cloud'; readonly means: Record<string, string> }>>;

const HERE: Others = { here: { stage: 'local', means: { [WORDS]: 'next' } } };
const THERE: Others = { there: { stage: 'cloud', means: { [WORDS]: 'next' } } };
const LOST: Others = { here: { stage: 'local', means: {} } };
const BROKEN: Others = { here: { stage: 'local', means: { [WORDS]: 'fail' } } };

async function asked(others: Others, settings: object = {}, text = WORDS, network = 'online') {
  const { host, service, known, table } = await start(settings);
  await using _host = host;
  Object.assign(known.interpreters, others);
  host.publish('system.network', { state: network });
  await host.settle();
  const { outcome, said } = await service.ask(text);
  const { entries, unsent } = (await table.run('voice.ledger', {})) as {
    readonly entries: readonly LedgerEntry[];
    readonly unsent: readonly { readonly reason: string }[];
  };
  return { outcome, said, interpreted: known.interpreted, entries, unsent: unsent.map(({ reason }) => reason) };
}

describe('a sentence that is none of ours', { timeout: 300_000 }, () => {
  it('stays unknown to all others where it is one', async () => {
    const { outcome, interpreted } = await asked({ ...HERE, ...THERE }, {}, 'next');
    assert.deepEqual([outcome, interpreted], ['answered', []]);
  });

  it('is told by an interpreter on the device, and nothing leaves', async () => {
    const { outcome, said, interpreted, entries } = await asked({ ...THERE, ...HERE });
    assert.deepEqual([outcome, said, interpreted], ['answered', 'Lunch at noon.', [`here: ${WORDS}`]]);
    assert.deepEqual(entries, []);
  });

  for (const [title, others] of [
    ['does not know', { ...LOST, ...THERE }],
    ['fails', { ...BROKEN, ...THERE }],
  ] as const)
    it(`is told by one in the cloud where that on the device ${title}: the ledger says what was sent`, async () => {
      const { outcome, interpreted, entries } = await asked(others);
      assert.deepEqual([outcome, interpreted], ['answered', [`here: ${WORDS}`, `there: ${WORDS}`]]);
      assert.deepEqual(
        entries.map(({ to, what, bytes, rule }) => [to, what, bytes, rule]),
        [['there (A test)', 'text', WORDS.length, 'no-intent']],
      );
    });

  for (const [title, settings, network] of [
    ['the device is set to local only', { router: { localOnly: true } }, 'online'],
    ['the device is offline', {}, 'offline'],
  ] as const)
    it(`stays here where ${title}`, async () => {
      const { outcome, interpreted, entries } = await asked({ ...LOST, ...THERE }, settings, WORDS, network);
      assert.deepEqual([outcome, interpreted, entries], ['refused', [`here: ${WORDS}`], []]);
    });

  it('stays here where the user said so', async () => {
    const { host, service, known } = await start();
    await using _host = host;
    Object.assign(known.interpreters, THERE);
    const entry = { key: 'voice.localOnly', value: true, source: 'device', revision: 1 } as const;
    await host.appear(config, {
      get: async () => entry,
      list: async () => [entry],
      set: async () => entry,
      watch: () => ({ [Symbol.dispose]: () => undefined }),
      describeApp: async () => undefined,
      describe: async () => ({ [Symbol.dispose]: () => undefined }),
    });
    assert.equal((await service.ask(WORDS)).outcome, 'refused');
    assert.deepEqual(known.interpreted, []);
  });

  it('is refused where no interpreter knows it, and a cloud that fails is told', async () => {
    const { outcome, unsent } = await asked({ there: { stage: 'cloud', means: { [WORDS]: 'fail' } } });
    assert.equal(outcome, 'refused');
    assert.match(unsent[0] ?? '', /^there: .*it fails/);
  });

  it('is asked about with the words of the local engine, before any sound is sent', async () => {
    const { host, sound, engines, known, over, table } = await start({}, {});
    await using _host = host;
    engines.cloudThere = true;
    Object.assign(known.interpreters, { there: { stage: 'cloud', means: { brew: 'next' } } });
    sound.say('_ hey-computer brew _ _ _ _ _ _');
    const [turn] = await over();
    assert.deepEqual([turn!.outcome, turn!.said, turn!.stage], ['answered', 'Lunch at noon.', 'local']);
    const { entries } = (await table.run('voice.ledger', {})) as { readonly entries: readonly LedgerEntry[] };
    assert.deepEqual(
      entries.map(({ what, turn: of }) => [what, of]),
      [['text', turn!.turn]],
    );
    assert.equal(engines.sent, 0);
  });
});
