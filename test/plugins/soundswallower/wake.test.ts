/** Costs a decoder that hears minutes of sound: that is what is tested. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { called, namesOf, spot, wakeContract } from '../../contracts/wake.ts';
import {
  type Colour,
  collect,
  framesOf,
  inNoise,
  join,
  recording,
  say,
  silence,
  WITHOUT_RECORDINGS,
} from '../../fixtures/speech.ts';
import { start } from './start.ts';

const PHRASE = 'hey computer';
after(leakCheck());

describe('soundswallower and phrases', { timeout: 300_000 }, () => {
  wakeContract(() => start('wake'), {
    phrases: [PHRASE, 'good morning device'],
    impossible: ['', '  ', '42', '漢字'],
    tellsEndWithinMs: 250,
  });

  it('does not take other speech for a phrase, nor speech that resembles it', async (t) => {
    await using one = await start('wake');
    const taken: string[] = [];
    for (const other of [
      ...['hey there', 'okay computer games', 'a commuter', 'they compute it', 'hey come over', 'the computer is new'],
      ...['where did I leave my umbrella', 'my brother lives in another city', 'please remember the milk'],
    ])
      if ((await spot(one.engine, await called(other), [PHRASE])).length > 0) taken.push(other);
    t.diagnostic(`taken for it: ${JSON.stringify(taken)}`);
    assert.ok(taken.length <= 2, JSON.stringify(taken));
    assert.ok(taken.every((text) => text.includes('comput')));
  });

  it('finds a phrase in the midst of a sentence', async () => {
    await using one = await start('wake');
    const said = join(silence(400), await say('well then, hey computer, what time is it'), silence(800));
    assert.deepEqual(namesOf(await spot(one.engine, said, [PHRASE])), [PHRASE]);
  });

  it('finds a phrase over the hum of the mains, and in other noise where it is not too loud', async (t) => {
    await using one = await start('wake');
    const count = async (colour: Colour, snr: number) => {
      let found = 0;
      for (const voice of ['slt', 'rms'] as const) {
        const hits = await spot(one.engine, inNoise(await called(PHRASE, voice), colour, snr), [PHRASE]);
        assert.ok(hits.length <= 1);
        found += hits.length;
      }
      t.diagnostic(`${colour} at ${snr} dB: ${found} of 2`);
      return found;
    };
    for (const snr of [20, 10]) assert.equal(await count('hum', snr), 2, `hum at ${snr} dB`);
    // Noise that covers the consonants hides a phrase of four syllables: what is asked for is what was measured.
    assert.ok((await count('pink', 40)) + (await count('white', 40)) >= 2, 'at 40 dB');
    for (const colour of ['white', 'pink'] as const) await count(colour, 20);
  });

  it('tells the strictest threshold that a phrase bears: above it there is none, below it there is one', async () => {
    await using one = await start('wake');
    const signal = new AbortController().signal;
    for (const [text, voice] of [
      [PHRASE, 'slt'],
      [PHRASE, 'rms'],
      ['okay computer games', 'slt'],
    ] as const) {
      const sound = await called(text, voice);
      const phrases = (threshold?: number) => [{ phrase: PHRASE, ...(threshold !== undefined && { threshold }) }];
      const heard = async (threshold: number) =>
        (await collect(one.engine.detect(framesOf(sound), { phrases: phrases(threshold), signal }))).length > 0;
      const signs = await collect(one.engine.detect(framesOf(sound), { phrases: phrases(), trial: true, signal }));
      const strictest = Math.max(-1, ...signs.map((sign) => sign.strictest ?? -1));
      if (strictest < 1) assert.equal(await heard(strictest + 0.01), false, `${text} above ${strictest}`);
      if (strictest > 0.01) assert.equal(await heard(strictest - 0.01), true, `${text} below ${strictest}`);
    }
  });

  it('finds one phrase only where two come at once', async () => {
    const twice = join(silence(600), await say(PHRASE), await say(PHRASE), silence(800));
    for (const [refractoryMs, hits] of [
      [3_000, 1],
      [0, 2],
    ] as const) {
      await using one = await start('wake', { refractoryMs });
      assert.equal((await spot(one.engine, twice, [PHRASE])).length, hits, `${refractoryMs} ms`);
    }
  });

  it('is stricter with a higher threshold', async () => {
    await using one = await start('wake');
    const count = async (threshold: number) => {
      let found = 0;
      for (const like of [PHRASE, 'hey computers', 'hey compute it', 'they computer'])
        found += (await spot(one.engine, await called(like), [PHRASE], { threshold })).length;
      return found;
    };
    const [lenient, strict] = [await count(0), await count(1)];
    assert.ok(lenient > strict && lenient > 0, `${lenient} and ${strict}`);
  });

  it('finds the same whether or not it waits for something loud', async () => {
    for (const gateDb of [0, 12]) {
      await using one = await start('wake', { gateDb });
      assert.deepEqual(namesOf(await spot(one.engine, await called(PHRASE), [PHRASE])), [PHRASE], `${gateDb} dB`);
    }
  });

  it('is asleep in a quiet room, and wakes for the next phrase', async () => {
    await using one = await start('wake');
    const long = join(silence(8_000), await called(PHRASE));
    assert.deepEqual(namesOf(await spot(one.engine, long, [PHRASE])), [PHRASE]);
  });

  it('looks for phrases with words that no dictionary has', async () => {
    await using one = await start('wake');
    const found: string[] = [];
    for (const phrase of ['hello florbanic', 'good morning zyblor', 'hey vindarella'])
      found.push(...namesOf(await spot(one.engine, await called(phrase, 'rms'), [phrase], { threshold: 0.2 })));
    assert.ok(found.length >= 2, JSON.stringify(found));
  });

  it('finds what people say, and nothing else in it', { skip: WITHOUT_RECORDINGS }, async () => {
    await using one = await start('wake');
    const phrase = 'go forward ten meters';
    const said = join(await recording('goforward.raw'), silence(300));
    assert.deepEqual(namesOf(await spot(one.engine, said, [phrase, 'my dear sir'])), [phrase]);
    for (const other of ['numbers.raw', 'something.raw', 'librivox/sense_and_sensibility_01_austen_64kb-0870.wav'])
      assert.deepEqual(await spot(one.engine, await recording(other), [phrase]), [], other);
  });
});
