import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AudioFrame, CAPTURE_RATE, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { Transcript } from '@device-core/plugin-api/services/speech';
import { checkManifest, createTestHost } from '@device-core/plugin-api/testing';
import { FakeSpeech } from './fakes.ts';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');
const NEVER = new AbortController().signal;

/** Frames of tones, each with its frequencies and milliseconds; none are silence. */
async function* tones(
  ...parts: readonly (readonly [ms: number, ...frequencies: readonly number[]])[]
): AsyncGenerator<AudioFrame> {
  const sound = parts.flatMap(([ms, ...frequencies]) =>
    Array.from({ length: (ms * CAPTURE_RATE) / 1_000 }, (_, at) =>
      frequencies.reduce((sum, one) => sum + 6_000 * Math.sin((2 * Math.PI * one * at) / CAPTURE_RATE), 0),
    ),
  );
  for (let seq = 0; seq * FRAME_SAMPLES < sound.length; seq++) {
    const samples = new Int16Array(FRAME_SAMPLES);
    samples.set(sound.slice(seq * FRAME_SAMPLES, (seq + 1) * FRAME_SAMPLES));
    yield { seq, at: (seq + 1) * 20, samples };
  }
}

async function start() {
  const speech = new FakeSpeech();
  const host = await createTestHost(plugin, { manifest, services: [speech.service()] });
  await host.settle();
  const { engine, description } = speech.engines.get('stt plugin-id')!;
  return { host, speech, engine, description };
}

const ONE = [100, 697, 1209] as const;
const NINE = [100, 852, 1477] as const;
const PAUSE = [60] as const;

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

for (const { title, sound, text } of [
  { title: 'keys are words', sound: [PAUSE, ONE, PAUSE, NINE, PAUSE], text: 'one nine' },
  { title: 'a key twice is two words', sound: [ONE, PAUSE, ONE], text: 'one one' },
  { title: 'a long key is one word', sound: [[900, 697, 1209] as const], text: 'one' },
  { title: 'silence is nothing', sound: [[500] as const], text: '' },
  { title: 'one tone is no key', sound: [[500, 697] as const], text: '' },
  { title: 'a click is no key', sound: [PAUSE, [20, 697, 1209] as const, PAUSE], text: '' },
]) {
  test(title, async () => {
    const { host, engine } = await start();
    await using _host = host;
    const partials: string[] = [];
    const partial = ({ text: heard }: Transcript) => void partials.push(heard);
    const heard = await engine.transcribe(tones(...sound), { language: 'en', partial, signal: NEVER });
    assert.deepEqual(heard, { text, language: 'en' });
    await host.settle();
    assert.deepEqual(partials.at(-1) ?? '', text);
  });
}

test('refuses a language that it does not know, and stops when nobody waits', async () => {
  const { host, engine } = await start();
  await using _host = host;
  const asked = (language: string, signal: AbortSignal) => engine.transcribe(tones(ONE), { language, signal });
  await assert.rejects(asked('fr', NEVER), { code: 'LANGUAGE_UNSUPPORTED' });
  await assert.rejects(asked('en', AbortSignal.abort()), { code: 'CANCELLED' });
});

test('says what it is, and leaves nothing behind', async () => {
  const { host, speech, description } = await start();
  assert.deepEqual([description.id, description.stage, description.languages], ['plugin-id', 'local', ['en']]);
  await host.stop();
  assert.equal(speech.engines.size, 0);
  assert.deepEqual(host.leaks(), []);
});
