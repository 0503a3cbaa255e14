/** Costs a decoder that hears minutes of sound: that is what is tested. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { speakablePart } from '@device-core/plugin-api/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hear, sttContract, utterance } from '../../contracts/stt.ts';
import { codeOf, grammarOf, HOUSE } from '../../fixtures/commands.ts';
import { join, silence } from '../../fixtures/speech.ts';
import { TITLES } from '../../fixtures/titles.ts';
import { start } from './start.ts';

after(leakCheck());

describe('soundswallower and sentences', { timeout: 300_000 }, () => {
  sttContract(() => start('stt'), { needsGrammar: true, streaming: true, foreign: 'de' });

  it('agrees with its manifest, registers both engines, and leaves with the plugin', async () => {
    const { target } = await start('stt');
    assert.deepEqual([...target.registered].sort(), ['stt soundswallower', 'wake soundswallower']);
    const { languages, stage, streaming, needsGrammar } = target.description;
    assert.deepEqual([languages, stage, streaming, needsGrammar], [['en'], 'local', true, true]);
    assert.equal(target.owner, 'plugin.soundswallower');
    await target.host.stop();
    assert.deepEqual([...target.registered], []);
    assert.deepEqual(target.host.leaks(), []);
  });

  it('says that it is busy where all of its decoders are at work, and serves again when one is free', async () => {
    await using one = await start('stt', { decoders: 2 });
    const stop = new AbortController();
    const held = [1, 2].map(() => codeOf(hear(one.engine, waiting(), { signal: stop.signal })));
    // Whoever comes first has it: the third comes when those two wait for sound.
    let code = '';
    for (let tries = 0; tries < 100 && code !== 'BUSY'; tries++) {
      const work = hear(one.engine, new Int16Array());
      code = await work.then(
        () => '',
        (error: { code: string }) => error.code,
      );
    }
    assert.equal(code, 'BUSY');
    stop.abort();
    assert.deepEqual(await Promise.all(held), ['CANCELLED', 'CANCELLED']);
    assert.equal((await hear(one.engine, await utterance('what time is it'))).text, 'what time is it');
  });

  it('is stricter where the device says so', async () => {
    const taken: number[] = [];
    for (const strictness of [0, 1]) {
      await using one = await start('stt', { strictness });
      let count = 0;
      for (const like of ['turn on the kitchen knife', 'turn up the bedroom light', 'what wine is it'])
        if ((await hear(one.engine, await utterance(like))).text !== '') count++;
      taken.push(count);
    }
    assert.ok(taken[0]! > taken[1]!, JSON.stringify(taken));
  });

  it('names the words that it cannot pronounce, so that a grammar without their sentences is understood', async () => {
    await using one = await start('stt');
    const words = [...HOUSE.words, ...TITLES.map(({ title }) => title.toLowerCase())].sort();
    const lost = await one.engine.unspeakable!(words, 'en');
    assert.deepEqual(
      lost,
      TITLES.filter(({ latin }) => !latin)
        .map(({ title }) => title.toLowerCase())
        .sort(),
    );
    const opens = `public <command> = open (${TITLES.map(({ title }) => title.toLowerCase()).join(' | ')}) | what time is it;`;
    const grammar = speakablePart(grammarOf('titles', opens), (word) => !lost.includes(word));
    for (const said of ['what time is it', 'open agenda'])
      assert.equal((await hear(one.engine, await utterance(said), { grammar })).text, said);
  });

  it('understands the same after minutes of other sound', async () => {
    await using one = await start('stt');
    const said = await utterance('set the volume to fifty percent');
    for (let count = 0; count < 6; count++) await hear(one.engine, join(silence(2_000), said));
    assert.equal((await hear(one.engine, said)).text, 'set the volume to fifty percent');
  });
});

async function* waiting(): AsyncGenerator<never> {
  yield* [];
  await new Promise(() => undefined);
}
