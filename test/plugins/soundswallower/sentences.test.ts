/** The engines in three utterances: the lane `engines` has the contracts. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hear, utterance } from '../../contracts/stt.ts';
import { called, namesOf, spot } from '../../contracts/wake.ts';
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

  it('finds a phrase', async () => {
    await using one = await start('wake');
    assert.deepEqual(namesOf(await spot(one.engine, await called('hey computer'), ['hey computer'])), ['hey computer']);
  });
});
