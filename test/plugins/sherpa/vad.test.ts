/** Costs a model that hears minutes of sound. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { judge, share, vadContract } from '../../contracts/vad.ts';
import { healthOf } from '../../fixtures/native.ts';
import { inNoise, join, noise, recording, say, silence, WITHOUT_RECORDINGS } from '../../fixtures/speech.ts';
import { hashOf, model, silero, startEngine } from './started.ts';

after(leakCheck());

const start = (config = {}) => startEngine('vad', config);

describe('voice activity of sherpa', { skip: silero }, () => {
  vadContract(() => start());

  it('agrees with its manifest, registers Silero with its model, and leaves with the plugin', async () => {
    const target = await start();
    assert.deepEqual(target.registered(), ['vad silero of plugin.sherpa']);
    assert.deepEqual(target.description.models, [{ path: model, sha256: await hashOf(model) }]);
    assert.equal((await healthOf(target.host, 'sherpa.vad'))?.status, 'okay');
    await target.host.stop();
    assert.deepEqual(target.registered(), []);
    assert.deepEqual(target.host.leaks(), []);
  });

  it('takes no noise for speech, however loud', async (t) => {
    await using target = await start();
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      for (const level of [300, 3_000, 9_000]) {
        const wrong = (await judge(target.engine, noise(colour, 4_000, level))).filter(({ speech }) => speech).length;
        assert.equal(wrong, 0, `${colour} at ${level}: ${wrong} of 200 frames`);
      }
    const began = performance.now();
    await judge(target.engine, noise('pink', 10_000, 1_000));
    t.diagnostic(`${((performance.now() - began) / 100).toFixed(2)} % of a core`);
  });

  it('hears speech of several voices, in noise as well, and lets go soon after its end', async (t) => {
    await using target = await start();
    for (const voice of ['slt', 'rms', 'kal16'] as const) {
      const said = await say('turn on the kitchen light please', voice);
      const end = said.findLastIndex((sample) => Math.abs(sample) > 300) / 320;
      const padded = join(silence(1_000), said, silence(1_000));
      for (const [title, samples] of [
        ['in silence', padded],
        ['in white noise, 10 dB', inNoise(padded, 'white', 10)],
        ['in hum, 0 dB', inNoise(padded, 'hum', 0)],
      ] as const) {
        const results = await judge(target.engine, samples);
        assert.equal(share(results.slice(0, 45)), 0, `${voice} ${title}: before`);
        assert.ok(share(results.slice(50, 50 + Math.floor(end))) > 0.6, `${voice} ${title}`);
        const last = results.findLastIndex(({ speech }) => speech) - 50 - end;
        if (title === 'in silence') t.diagnostic(`${voice}: lets go ${(last * 20).toFixed(0)} ms after the end`);
        assert.ok(last < 15, `${voice} ${title}: ${last} frames after its end`);
      }
    }
  });

  it('hears people', { skip: WITHOUT_RECORDINGS }, async () => {
    await using target = await start();
    for (const name of ['goforward.raw', 'cards/005.wav', 'librivox/sense_and_sensibility_01_austen_64kb-0870.wav'])
      assert.ok(share(await judge(target.engine, await recording(name))) > 0.4, name);
  });

  it('goes on in speech that does not end', async () => {
    await using target = await start();
    const said = await say('and then they went on and on about the weather without a pause');
    const results = await judge(target.engine, join(...Array.from({ length: 12 }, () => said)));
    assert.ok(share(results.slice(-100)) > 0.6);
  });
});
