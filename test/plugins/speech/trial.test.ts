/** Phrases in a WAV file, with the threshold that each bears. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { encodeWav } from '@device-core/plugin-api/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech, type WakeEngine, type WakeHit } from '@device-core/plugin-api/services/speech';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/speech/index.ts';

after(leakCheck());

const MANIFEST = 'manifests/plugins/voice/speech.yaml';
const wav = (seconds: number) =>
  Buffer.from(encodeWav({ rate: 16_000, samples: new Int16Array(seconds * 16_000).fill(1_000) })).toString('base64');

/** Finds what the test says, at frames of the sound. */
const finds = (hits: readonly (readonly [ms: number, strictest: number])[], asked: boolean[] = []): WakeEngine => ({
  async *detect(frames, { phrases, trial }): AsyncGenerator<WakeHit> {
    asked.push(trial === true);
    for await (const { at } of frames)
      for (const [ms, strictest] of hits)
        if (ms === at) yield { phrase: phrases[0]!.phrase, score: 0.9, strictest, at };
  },
});

async function start(engine: WakeEngine, scores: boolean) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest: MANIFEST, services: [[operations, table]] });
  const about = { id: 'ear', title: 'An ear', languages: ['en'], stage: 'local', scores } as const;
  host.service(speech).register('wake', about, engine, 'plugin.test');
  const run = (params: object) => table.run('speech.phrases', params);
  return { host, run, [Symbol.asyncDispose]: () => host.stop() };
}

describe('phrases in a WAV file', () => {
  it('are each told once, by the strictest threshold that they bear, in the time of the file', async () => {
    const asked: boolean[] = [];
    const engine = finds(
      [
        [400, 0.2],
        [420, 0.7],
        [440, 0.5],
        [2_400, 0.1],
      ],
      asked,
    );
    await using device = await start(engine, true);
    assert.deepEqual(await device.run({ wav: wav(3), phrases: ['hey device'] }), {
      ms: 3_000,
      hits: [
        { phrase: 'hey device', strictest: 0.7, at: 420 },
        { phrase: 'hey device', strictest: 0.1, at: 2_400 },
      ],
    });
    assert.deepEqual(asked, [true]);
  });

  it('are none in sound without them', async () => {
    await using device = await start(finds([]), true);
    assert.deepEqual(await device.run({ wav: wav(1), phrases: ['hey device'] }), { ms: 1_000, hits: [] });
  });

  it('are not looked for by an engine that cannot tell a threshold', async () => {
    await using device = await start(finds([[400, 0.2]]), false);
    await assert.rejects(device.run({ wav: wav(1), phrases: ['hey device'] }), {
      code: 'ENGINE_MISSING',
      message: /that tells how strict a threshold a hit bears/,
    });
  });

  it('are not looked for in more than a minute, nor in other bytes than a WAV file', async () => {
    await using device = await start(finds([]), true);
    const fails = (sound: string) =>
      assert.rejects(device.run({ wav: sound, phrases: ['hey device'] }), { code: 'PARAMS_INVALID' });
    await fails(wav(61));
    await fails('UklGRg==');
  });
});
