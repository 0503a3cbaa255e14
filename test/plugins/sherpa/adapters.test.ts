/** What is around engines for which there is no model to be had here: a library that stands in for sherpa-onnx gives the results. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { WakeHit } from '@device-core/plugin-api/services/speech';
import { leakCheck } from '@device-core/plugin-api/testing';
import { collect, framesOf, silence } from '../../fixtures/speech.ts';
import { FAKE, fileOf, inFolder, startEngine } from './started.ts';

after(leakCheck());

const NEVER = new AbortController().signal;
const languages = ['en-US'];
const phrases = [
  { phrase: 'Hey Computer', tokens: 'A B' },
  { phrase: 'good morning', tokens: 'C D' },
];

/** Starts an engine whose files are all there. */
function engine<K extends 'stt' | 'wake' | 'tts'>(
  kind: K,
  names: readonly string[],
  settings: object,
  work: (target: Awaited<ReturnType<typeof startEngine<K>>>) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    const files: Record<string, object> = {};
    for (const name of names) files[name] = await fileOf(folder, name, 'good');
    const config = { vad: { enabled: false }, library: FAKE, [kind]: { languages, files, ...settings } };
    await using target = await startEngine(kind, config);
    await work(target);
  });
}

/** Never comes, as from a microphone that is muted. */
async function* muted(): AsyncGenerator<AudioFrame> {
  await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
  yield* [];
}

const ZIPFORMER = [['encoder', 'decoder', 'joiner', 'tokens'], { kind: 'zipformer' }] as const;
const WHISPER = [['encoder', 'decoder', 'tokens'], { kind: 'whisper' }] as const;

for (const [names, settings] of [ZIPFORMER, WHISPER])
  describe(`recognition by ${settings.kind}`, () => {
    const stt = (work: (target: Awaited<ReturnType<typeof startEngine<'stt'>>>) => Promise<void>) =>
      engine('stt', names, settings, work);

    it('says what it is, and gives words in lower case, without punctuation and without the wake phrase', () =>
      stt(async ({ engine: { transcribe }, description }) => {
        const streaming = settings.kind === 'zipformer';
        assert.equal(description.streaming, streaming);
        assert.equal(description.models?.length, names.length);
        const partials: string[] = [];
        const { text, language } = await transcribe(framesOf(silence(1_500)), {
          language: 'en',
          prefix: ['good morning', 'hey computer'],
          partial: (transcript) => void partials.push(transcript.text),
          signal: NEVER,
        });
        assert.deepEqual([text, language], ['turn on the light', 'en']);
        if (streaming) assert.deepEqual(partials.slice(0, 3), ['hey', 'hey computer', 'hey computer turn']);
        assert.equal(
          (await transcribe(framesOf(new Int16Array()), { language: 'en', signal: NEVER })).text.length,
          streaming ? 12 : 0,
        );
      }));

    it('refuses a language, and ends at once when it is aborted, though no frame comes', () =>
      stt(async ({ engine: { transcribe } }) => {
        const refused = transcribe(framesOf(silence(100)), { language: 'de', signal: NEVER });
        await assert.rejects(refused, { code: 'LANGUAGE_UNSUPPORTED' });
        const aborted = transcribe(muted(), { language: 'en', signal: AbortSignal.timeout(50) });
        await assert.rejects(aborted, { code: 'CANCELLED' });
      }));
  });

describe('recognition as a whole', () => {
  it('fails with a code where the library does, and for speech without an end', () =>
    engine('stt', ...WHISPER, async ({ engine: { transcribe } }) => {
      const broken = transcribe(framesOf(silence(11_000)), { language: 'en', signal: NEVER });
      await assert.rejects(broken, { code: 'SPEECH_FAILED', message: /out of memory/ });
      const long = transcribe(framesOf(silence(61_000)), { language: 'en', signal: NEVER });
      await assert.rejects(long, { code: 'SPEECH_FAILED', message: /longer than a minute/ });
    }));
});

describe('wake phrases', () => {
  const names = ['encoder', 'decoder', 'joiner', 'tokens'];

  it('are found by the tokens of the configuration, with the time of their end', () =>
    engine('wake', names, { phrases }, async ({ engine: { detect } }) => {
      const frames = await collect(framesOf(silence(2_500)));
      const source = async function* () {
        yield* frames;
      };
      for (const phrase of ['hey computer', 'good  Morning']) {
        const hits: WakeHit[] = await collect(detect(source(), { phrases: [{ phrase }], signal: NEVER }));
        assert.deepEqual(
          hits.map((hit) => [hit.phrase, hit.at]),
          [45, 95].map((index) => [phrase.toLowerCase().replace('  ', ' '), frames[index]!.at]),
        );
      }
    }));

  it('without tokens are refused, and an abort ends it though no frame comes', () =>
    engine('wake', names, { phrases }, async ({ engine: { detect } }) => {
      for (const wanted of [[{ phrase: 'abracadabra' }], []])
        await assert.rejects(collect(detect(framesOf(silence(100)), { phrases: wanted, signal: NEVER })), {
          code: 'PARAMS_INVALID',
        });
      const signal = AbortSignal.timeout(50);
      assert.deepEqual(await collect(detect(muted(), { phrases: [{ phrase: 'hey computer' }], signal })), []);
    }));
});

describe('voices', () => {
  const tts = (work: (target: Awaited<ReturnType<typeof startEngine<'tts'>>>) => Promise<void>) =>
    engine('tts', ['model', 'tokens'], { kind: 'vits', voices: ['anna', 'ben'] }, work);

  it('speak clause by clause, each by its name', () =>
    tts(async ({ engine: { speak }, description }) => {
      assert.deepEqual(description.voices, ['anna', 'ben']);
      for (const [voice, level] of [
        ['anna', 8_192],
        ['ben', 16_384],
      ] as const) {
        const chunks = await collect(speak('One sentence. And another one.', { voice, language: 'en' }));
        const loud = chunks.filter(({ samples }) => samples.some((sample) => sample !== 0));
        assert.equal(loud.length, 2);
        assert.ok(loud.every(({ rate, samples }) => rate === 22_050 && Math.abs(samples[0]! - level) < 3));
      }
      assert.deepEqual(await collect(speak(' ... ', {})), []);
    }));

  for (const [what, text, options, code] of [
    ['a language that it does not know', 'hallo', { language: 'de' }, 'LANGUAGE_UNSUPPORTED'],
    ['a voice that it does not have', 'hello', { voice: 'carl' }, 'PARAMS_INVALID'],
    ['too much text', 'a '.repeat(3_000), {}, 'PARAMS_INVALID'],
    ['a library that fails', 'xyzzy', {}, 'SPEECH_FAILED'],
    ['nobody who listens', 'hello', { signal: AbortSignal.abort() }, 'CANCELLED'],
  ] as const)
    it(`refuse with ${code} for ${what}`, () =>
      tts(async ({ engine: { speak } }) => {
        await assert.rejects(collect(speak(text, options)), { code });
      }));
});
