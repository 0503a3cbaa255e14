/** Which decoders are made, and when they are let go. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { type Maker, Pairs } from '../../../plugins/voice/soundswallower/pairs.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const KEEP_MS = 1_000;

async function start({ most = 4, fails = 0 } = {}) {
  const clock = virtualClock();
  const { scope, ...rest } = part(clock);
  const made = { stays: 0, opened: 0, further: 0 };
  let failures = fails;
  const maker = (count: () => void): Maker => ({
    decoder: async () => {
      count();
      return { teach: () => undefined } as never;
    },
  });
  const pairs = new Pairs({
    stays: maker(() => void made.stays++),
    open: async () => {
      made.opened++;
      if (failures-- > 0) throw new Error('no memory');
      return maker(() => void made.further++);
    },
    model: { language: 'en', folder: '', phones: ['AH'] },
    most,
    keepMs: KEEP_MS,
    scope,
  });
  await pairs.listen();
  const prepared: string[] = [];
  const take = (key: string, stays = false) => pairs.take(key, () => void prepared.push(key), stays);
  return { clock, made, pairs, prepared, take, scope, [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose]() };
}

describe('decoders of SoundSwallower', () => {
  it('are one pair for listening alone, and its grammar is kept', async () => {
    await using device = await start();
    for (let time = 0; time < 3; time++) (await device.take('wake', true))[Symbol.dispose]();
    assert.deepEqual(device.made, { stays: 2, opened: 0, further: 0 });
    assert.deepEqual(device.prepared, ['wake']);
    assert.equal(device.clock.pending, 0);
  });

  it('are made for a sentence when it is said, kept for the next one, and let go after a pause', async () => {
    await using device = await start();
    for (let time = 0; time < 3; time++) {
      const [sentence, phrase] = [await device.take('stt'), await device.take('wake', true)];
      assert.notEqual(sentence.pair, phrase.pair);
      await device.clock.advance(KEEP_MS * 2);
      sentence[Symbol.dispose]();
      phrase[Symbol.dispose]();
      await device.clock.advance(KEEP_MS - 1);
    }
    assert.deepEqual(device.made, { stays: 2, opened: 1, further: 2 });
    await device.clock.advance(1);
    assert.equal(device.clock.pending, 0);
    (await device.take('stt'))[Symbol.dispose]();
    assert.deepEqual(device.made, { stays: 2, opened: 2, further: 4 });
    assert.deepEqual(device.prepared, ['stt', 'wake', 'stt']);
  });

  it('are no more than the limit, and the one that listens helps out', async () => {
    await using device = await start({ most: 2 });
    using first = await device.take('a');
    using second = await device.take('b');
    assert.notEqual(first.pair, second.pair);
    await assert.rejects(device.take('c'), { code: 'BUSY' });
  });

  it('go to one each, also where two ask at once', async () => {
    await using device = await start();
    const leases = await Promise.all(['a', 'b', 'c'].map((key) => device.take(key)));
    assert.equal(new Set(leases.map(({ pair }) => pair)).size, 3);
    assert.equal(device.made.opened, 1);
    for (const lease of leases) lease[Symbol.dispose]();
  });

  it('are tried again after a library did not open, and after one of them failed', async () => {
    await using device = await start({ fails: 1 });
    await assert.rejects(device.take('stt'), /no memory/);
    const broken = await device.take('wake', true);
    broken.discard();
    broken[Symbol.dispose]();
    const next = await device.take('wake', true);
    assert.notEqual(next.pair, broken.pair);
    next[Symbol.dispose]();
    await device.clock.advance(KEEP_MS * 2);
    using again = await device.take('wake', true);
    assert.equal(again.pair, next.pair, 'it is the one that stays now');
  });
});
