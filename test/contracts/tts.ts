/** What every engine that speaks must do, whatever voice it has. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { bytesOfSamples, concatSamples, msOf } from '@device-core/plugin-api/audio';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

export interface TtsUnderTest extends AsyncDisposable {
  readonly engine: TtsEngine;
  readonly voices: readonly string[];
  /** One that it does not know. */
  readonly foreign: string;
}

const SENTENCE = 'It is seven minutes past nine.';
const LONG = 'First there is a meeting with the others, then a walk by the river, and lunch at noon. '.repeat(3);

export async function spoken(engine: TtsEngine, text: string, options: SpeakOptions = {}): Promise<PcmChunk[]> {
  const chunks: PcmChunk[] = [];
  for await (const chunk of engine.speak(text, options)) chunks.push(chunk);
  return chunks;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, `it should have failed with an error of the table, not ${error}`);
  return error.code;
}

function loudness(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / Math.max(1, samples.length));
}

/** Declares the tests; call it inside a `describe`. */
export function ttsContract(open: () => Promise<TtsUnderTest>): void {
  it('speaks a sentence: as long as it takes, loud enough, and without silence before it', async () => {
    await using target = await open();
    const chunks = await spoken(target.engine, SENTENCE);
    const rate = chunks[0]!.rate;
    assert.ok(rate >= 8_000 && rate <= 48_000);
    assert.ok(chunks.every((chunk) => chunk.samples instanceof Int16Array && chunk.rate === rate));
    const all = concatSamples(chunks.map(({ samples }) => samples));
    const ms = msOf(all.length, rate);
    assert.ok(ms > 900 && ms < 4_000, `it took ${ms} ms`);
    assert.ok(loudness(all) > 500, `its loudness is ${loudness(all)}`);
    const silence = msOf(
      all.findIndex((value) => Math.abs(value) > 300),
      rate,
    );
    assert.ok(silence < 80, `it begins after ${silence} ms`);
  });

  it('speaks with every voice that it names, each in its own way', async () => {
    await using target = await open();
    const sounds = new Set<string>();
    for (const voice of target.voices) {
      const chunks = await spoken(target.engine, 'Good morning.', { voice });
      // All of it: where it is cut into chunks is the pipe's business, and the first may hold nothing but a breath.
      const sound = concatSamples(chunks.map(({ samples }) => samples));
      assert.ok(loudness(sound) > 300, voice);
      sounds.add(createHash('sha256').update(bytesOfSamples(sound)).digest('hex'));
    }
    assert.equal(sounds.size, target.voices.length);
  });

  it('says the same again, and longer texts longer', async () => {
    await using target = await open();
    const length = async (text: string) =>
      (await spoken(target.engine, text)).reduce((n, c) => n + c.samples.length, 0);
    const once = await length(SENTENCE);
    assert.equal(await length(SENTENCE), once);
    assert.ok((await length(`${SENTENCE} ${SENTENCE}`)) > once * 1.6);
  });

  it('gives the beginning of a long text before all of it is made', async () => {
    await using target = await open();
    let first: number | undefined;
    let pieces = 0;
    const began = performance.now();
    for await (const { samples } of target.engine.speak(LONG, {})) {
      first ??= performance.now() - began;
      if (samples.length > 0) pieces++;
    }
    assert.ok(pieces > 2, `${pieces} pieces`);
    assert.ok(first! < performance.now() - began);
  });

  for (const nothing of ['', ' \n ', '...', '🙂', '-']) {
    it(`has nothing to say to ${JSON.stringify(nothing)}`, async () => {
      await using target = await open();
      const chunks = await spoken(target.engine, nothing);
      assert.ok(loudness(concatSamples(chunks.map(({ samples }) => samples))) < 50);
    });
  }

  it('ends when nobody wants to hear it, and speaks again', async () => {
    await using target = await open();
    const stop = new AbortController();
    const work = (async () => {
      for await (const _ of target.engine.speak(LONG.repeat(3), { signal: stop.signal })) stop.abort();
    })();
    assert.equal(await codeOf(work), 'CANCELLED');
    assert.equal(await codeOf(spoken(target.engine, SENTENCE, { signal: stop.signal })), 'CANCELLED');
    assert.ok((await spoken(target.engine, SENTENCE)).length > 0);
  });

  it('lets a listener leave in the middle', async () => {
    await using target = await open();
    for await (const _ of target.engine.speak(LONG, {})) break;
    assert.ok((await spoken(target.engine, SENTENCE)).length > 0);
  });

  it('speaks for two at a time', async () => {
    await using target = await open();
    const [one, other] = await Promise.all([spoken(target.engine, SENTENCE), spoken(target.engine, LONG)]);
    assert.ok(one.length > 0 && other.length > 0);
  });

  it('refuses a language and a voice that it does not know, and a text without end', async () => {
    await using target = await open();
    const { engine, foreign } = target;
    assert.equal(await codeOf(spoken(engine, SENTENCE, { language: foreign })), 'LANGUAGE_UNSUPPORTED');
    assert.equal(await codeOf(spoken(engine, SENTENCE, { voice: 'no such voice' })), 'PARAMS_INVALID');
    assert.equal(await codeOf(spoken(engine, 'a '.repeat(5_000))), 'PARAMS_INVALID');
  });

  it('says any text or refuses it with a reason', async () => {
    await using target = await open();
    const parts = fc.constantFrom(
      'a',
      '9',
      '-voice ',
      '<speak>',
      '\0',
      '\x1b[2J',
      "'",
      '"',
      '$(x)',
      'é',
      '漢',
      '%',
      '/',
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: parts, maxLength: 12 }), async (text) => {
        try {
          await spoken(target.engine, text);
        } catch (error) {
          assert.ok(error instanceof CoreError, String(error));
        }
      }),
      { numRuns: runs(12), examples: [['--help'], ['-o /tmp/x'], ['a'.repeat(400)]] },
    );
  });
}
