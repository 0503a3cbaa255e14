/** The mouth moves with the sound that is heard: the recording of the speaker beside the frames of the panel. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { mouthLags } from '../../fixtures/mouth.ts';
import { NO_PICTURES } from '../../fixtures/pictures.ts';

after(leakCheck());

const MOST_MS = 80;

describe('a mouth', { skip: NO_PICTURES }, () => {
  it('opens and shuts within 80 ms of the sound, but for the time that the whole process was held up', async () => {
    const lags = await mouthLags(5);
    // A speaker that ran dry makes silences of its own.
    assert.ok(lags.length >= 9, `${lags.length} changes`);
    for (const { ms, held } of lags)
      assert.ok(Math.abs(ms) <= MOST_MS + held, `${ms.toFixed(1)} ms, held up for ${held.toFixed(1)} ms`);
  });
});
