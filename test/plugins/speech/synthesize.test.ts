import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { decodeWav } from '@device-core/plugin-api/audio';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech, type TtsEngine } from '@device-core/plugin-api/services/speech';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/speech/index.ts';

after(leakCheck());

const MANIFEST = 'manifests/plugins/voice/speech.yaml';

/** 100 ms for each word; the first is the number of the voice. */
const says = (rate: number): TtsEngine => ({
  async *speak(text, { voice }): AsyncGenerator<PcmChunk> {
    for (const word of text.split(' '))
      if (/\w/.test(word)) yield { rate, samples: new Int16Array(rate / 10).fill(voice === 'two' ? 2 : 1) };
  },
});

async function start(...engines: readonly (readonly [id: string, stage: 'local' | 'cloud', engine: TtsEngine])[]) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest: MANIFEST, services: [[operations, table]] });
  for (const [id, stage, engine] of engines) {
    const description = { id, title: id, languages: ['en'], stage, voices: ['one', 'two'] };
    await host.service(speech).register('tts', description, engine, 'plugin.test');
  }
  const run = (params: object) => table.run('speech.synthesize', params) as Promise<{ wav: string; ms: number }>;
  return { run, [Symbol.asyncDispose]: () => host.stop() };
}

describe('a text as a WAV file', () => {
  it('is spoken by the engine of the device, in the voice that is asked for', async () => {
    await using device = await start(['mouth', 'local', says(16_000)]);
    const { wav, ms } = await device.run({ text: 'one two three', voice: 'two' });
    assert.equal(ms, 300);
    const { rate, samples } = decodeWav(Buffer.from(wav, 'base64'));
    assert.deepEqual([rate, samples.length, samples[0]], [16_000, 4_800, 2]);
  });

  it('has one rate where its pieces have two', async () => {
    const changing: TtsEngine = {
      async *speak(text, options) {
        yield* says(16_000).speak(text, options);
        yield* says(8_000).speak(text, options);
      },
    };
    await using device = await start(['mouth', 'local', changing]);
    const { wav, ms } = await device.run({ text: 'one' });
    assert.equal(ms, 200);
    assert.equal(decodeWav(Buffer.from(wav, 'base64')).samples.length, 3_200);
  });

  it('is never made in the cloud', async () => {
    await using device = await start(['far', 'cloud', says(16_000)]);
    await assert.rejects(device.run({ text: 'one' }), { code: 'ENGINE_MISSING' });
  });

  for (const [title, text] of [
    ['there is nothing to say', '...'],
    ['it takes too long', 'a '.repeat(210)],
  ] as const)
    it(`is refused where ${title}`, async () => {
      await using device = await start(['mouth', 'local', says(8_000)]);
      await assert.rejects(device.run({ text }), { code: 'PARAMS_INVALID' });
    });
});
