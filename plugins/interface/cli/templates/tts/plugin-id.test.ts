import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions } from '@device-core/plugin-api/services/speech';
import { checkManifest, createTestHost } from '@device-core/plugin-api/testing';
import { FakeSpeech } from './fakes.ts';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');

async function start() {
  const speech = new FakeSpeech();
  const host = await createTestHost(plugin, { manifest, services: [speech.service()] });
  await host.settle();
  const { engine, description } = speech.engines.get('tts plugin-id')!;
  const speak = async (text: string, options: SpeakOptions = {}) => {
    const chunks: PcmChunk[] = [];
    for await (const chunk of engine.speak(text, options)) chunks.push(chunk);
    return chunks;
  };
  return { host, speech, engine, description, speak };
}

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

for (const { title, text, dots } of [
  // E is one dot, with three of pause; a word ends with four more.
  { title: 'a letter', text: 'e', dots: [1 + 3 + 4] },
  { title: 'a word', text: 'SOS', dots: [5 + 3 + 11 + 3 + 5 + 3 + 4] },
  { title: 'a piece for each word', text: 'e e', dots: [8, 8] },
  { title: 'digits', text: '5', dots: [9 + 3 + 4] },
  { title: 'nothing for signs', text: '... ?', dots: [] },
]) {
  test(`speaks ${title}`, async () => {
    const { host, speak } = await start();
    await using _host = host;
    const chunks = await speak(text);
    assert.deepEqual(
      chunks.map(({ rate, samples }) => samples.length / rate),
      dots.map((count) => count * 0.06),
    );
    for (const { samples } of chunks) assert.ok(samples.some((sample) => sample > 8_000));
  });
}

test('has two voices, and no third', async () => {
  const { host, speak, description } = await start();
  await using _host = host;
  assert.deepEqual(description.voices, ['high', 'low']);
  assert.notDeepEqual(await speak('e', { voice: 'high' }), await speak('e', { voice: 'low' }));
  await assert.rejects(speak('e', { voice: 'squeaky' }), { code: 'PARAMS_INVALID' });
});

test('stops when nobody wants to hear it, and refuses a text without end', async () => {
  const { host, speak, engine } = await start();
  await using _host = host;
  await assert.rejects(speak('e', { signal: AbortSignal.abort() }), { code: 'CANCELLED' });
  await assert.rejects(speak('e'.repeat(2_001)), { code: 'PARAMS_INVALID' });
  for await (const { samples } of engine.speak('e e e', {})) {
    assert.ok(samples.length > 0);
    break;
  }
});

test('leaves nothing behind', async () => {
  const { host, speech } = await start();
  await host.stop();
  assert.equal(speech.engines.size, 0);
  assert.deepEqual(host.leaks(), []);
});
