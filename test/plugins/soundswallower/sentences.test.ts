/** The engines in three utterances: the lane `engines` has the contracts. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hear, utterance } from '../../contracts/stt.ts';
import { called, namesOf, spot } from '../../contracts/wake.ts';
import { grammarOf } from '../../fixtures/commands.ts';
import { start } from './start.ts';

after(leakCheck());

describe('soundswallower', { timeout: 300_000 }, () => {
  it('understands a sentence of the grammar and no other', async () => {
    await using one = await start('stt');
    assert.equal(
      (await hear(one.engine, await utterance('turn on the kitchen light'))).text,
      'turn on the kitchen light',
    );
    assert.equal((await hear(one.engine, await utterance('my brother lives in another city'))).text, '');
  });

  it('tells another sentence that sounds the same, and none that it beats', async () => {
    await using one = await start('stt');
    const grammar = grammarOf('lights', 'public <command> = turn (on | off) the (kitchen | bedroom) (light | lite);');
    const said = await utterance('turn on the kitchen light');
    const against = (text: string) =>
      hear(one.engine, said, { grammar, rivals: async () => [{ text, byValue: true }] });
    const first = await hear(one.engine, said, { grammar });
    const twin = first.text.endsWith('lite') ? 'turn on the kitchen light' : 'turn on the kitchen lite';
    const same = await against(twin);
    assert.deepEqual([same.text, same.close], [first.text, twin]);
    const other = await against(first.text.replace('kitchen', 'bedroom'));
    assert.deepEqual([other.text, other.close, other.doubtful], [first.text, undefined, undefined]);
    const again = await hear(one.engine, said, { grammar, again: true });
    assert.match(again.text, /^turn on the kitchen li(ght|te)$/);
  });

  it('finds a phrase', async () => {
    await using one = await start('wake');
    assert.deepEqual(namesOf(await spot(one.engine, await called('hey computer'), ['hey computer'])), ['hey computer']);
  });
});
