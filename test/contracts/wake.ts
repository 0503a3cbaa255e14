/** What every engine of kind `wake` must do, whatever finds the phrases. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_MS, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { WakeEngine, WakeHit } from '@device-core/plugin-api/services/speech';
import { codeOf } from '../fixtures/commands.ts';
import { eventually, pace } from '../fixtures/eventually.ts';
import { collect, framesOf, join, noise, say, silence } from '../fixtures/speech.ts';

export interface WakeUnderTest extends AsyncDisposable {
  readonly engine: WakeEngine;
  /** The plugin stops. */
  leave(): Promise<void>;
}

export interface WakeTraits {
  /** Phrases that it knows; the first is the one that is looked for most. */
  readonly phrases: readonly [string, string];
  /** What it cannot look for. */
  readonly impossible: readonly string[];
  /** How far from the end of a phrase it may say that it was. */
  readonly tellsEndWithinMs: number;
}

const NEVER = new AbortController().signal;
const BEFORE_MS = 600;

/** The phrase between silence. */
export async function called(text: string, voice: 'slt' | 'rms' = 'slt'): Promise<Int16Array> {
  return join(silence(BEFORE_MS), await say(text, voice), silence(800));
}

export function spot(
  engine: WakeEngine,
  frames: Int16Array | AsyncIterable<AudioFrame>,
  phrases: readonly string[],
  { signal = NEVER, threshold }: { readonly signal?: AbortSignal; readonly threshold?: number } = {},
): Promise<WakeHit[]> {
  const source = frames instanceof Int16Array ? framesOf(frames) : frames;
  const wanted = phrases.map((phrase) => ({ phrase, ...(threshold !== undefined && { threshold }) }));
  return collect(engine.detect(source, { phrases: wanted, signal }));
}

export function namesOf(hits: readonly WakeHit[]): readonly string[] {
  return hits.map(({ phrase }) => phrase);
}

/** Declares the tests; call it inside a `describe`. */
export function wakeContract(open: () => Promise<WakeUnderTest>, traits: WakeTraits): void {
  const [phrase, other] = traits.phrases;
  const fresh = (test: (engine: WakeEngine, target: WakeUnderTest) => Promise<void>) => async () => {
    await using target = await open();
    await test(target.engine, target);
  };
  const finds = async (engine: WakeEngine) =>
    assert.deepEqual(namesOf(await spot(engine, await called(phrase), [phrase])), [phrase]);

  it(
    'finds a phrase once, where it ends, and ends with the frames',
    fresh(async (engine) => {
      for (const voice of ['slt', 'rms'] as const) {
        const samples = await called(phrase, voice);
        const frames = await collect(framesOf(samples));
        const hits = await spot(engine, given(frames), [phrase]);
        assert.deepEqual(namesOf(hits), [phrase], voice);
        const { at, score } = hits[0]!;
        assert.ok(score >= 0 && score <= 1, `score ${score}`);
        const end = samples.findLastIndex((sample) => Math.abs(sample) > 300) / FRAME_SAMPLES;
        const late = at - frames[Math.floor(end)]!.at;
        assert.ok(Math.abs(late) <= traits.tellsEndWithinMs, `${voice}: ${late} ms after its end`);
      }
    }),
  );

  it(
    'finds nothing in silence, noise and no frames at all',
    fresh(async (engine) => {
      const quiet = [new Int16Array(), silence(20), silence(3_000)];
      const loud = (['white', 'pink', 'brown', 'hum'] as const).map((colour) => noise(colour, 2_000, 2_000));
      for (const samples of [...quiet, ...loud]) assert.deepEqual(await spot(engine, samples, [phrase]), []);
    }),
  );

  it(
    'finds a phrase again and again, each of them once',
    fresh(async (engine) => {
      const said = join(await called(phrase), silence(1_500));
      assert.deepEqual(namesOf(await spot(engine, join(said, said, said), [phrase])), [phrase, phrase, phrase]);
    }),
  );

  it(
    'tells the phrases apart, and those of one caller from those of the next',
    fresh(async (engine) => {
      const both = join(await called(phrase), silence(1_500), await called(other));
      assert.deepEqual(namesOf(await spot(engine, both, [phrase, other])), [phrase, other]);
      assert.deepEqual(namesOf(await spot(engine, both, [other])), [other]);
      assert.deepEqual(namesOf(await spot(engine, both, [phrase])), [phrase]);
    }),
  );

  it(
    'serves several streams at once, each by itself',
    fresh(async (engine) => {
      const said = await called(phrase);
      const streams = [said, silence(2_000), said].map((samples) => spot(engine, samples, [phrase]));
      const hits = await Promise.all([...streams, spot(engine, await called(other), [other])]);
      assert.deepEqual(hits.map(namesOf), [[phrase], [], [phrase], [other]]);
    }),
  );

  it(
    'tells a phrase while the sound goes on',
    fresh(async (engine) => {
      const stop = new AbortController();
      const said = await called(phrase);
      async function* forever(): AsyncGenerator<AudioFrame> {
        yield* framesOf(said);
        yield* muted();
      }
      for await (const hit of engine.detect(forever(), { phrases: [{ phrase }], signal: stop.signal })) {
        assert.equal(hit.phrase, phrase);
        break;
      }
      stop.abort();
      await finds(engine);
    }),
  );

  it(
    'does not find what is cut off before its end',
    fresh(async (engine) => {
      const said = await say(phrase);
      assert.deepEqual(await spot(engine, join(silence(600), said.subarray(0, said.length * 0.4)), [phrase]), []);
      await finds(engine);
    }),
  );

  it(
    'hears frames that no microphone gives: gaps, other sizes, clipping',
    fresh(async (engine) => {
      const odd: AudioFrame[] = [0, 1, 160, 320, 1_000].map((size, index) => ({
        seq: index * 7,
        at: index,
        samples: noise('white', 200, 3_000, index + 1).subarray(0, size),
      }));
      assert.deepEqual(await spot(engine, given(odd), [phrase]), []);
      const square = Int16Array.from({ length: 16_000 }, (_, index) => (index % 100 < 50 ? 32_767 : -32_768));
      assert.deepEqual(await spot(engine, square, [phrase]), []);
      await finds(engine);
    }),
  );

  it(
    'ends when nobody waits any more: before, in the middle, and while the microphone gives nothing',
    fresh(async (engine) => {
      const ends = async (frames: AsyncIterable<AudioFrame>, signal: AbortSignal) => {
        const work = spot(engine, frames, [phrase], { signal }).catch((error: unknown) => {
          if (!(error instanceof CoreError) || error.code !== 'CANCELLED') throw error;
        });
        await work;
      };
      await ends(framesOf(silence(1_000)), AbortSignal.abort());
      for (const manner of [endless, muted]) {
        const stop = new AbortController();
        const midst = Promise.withResolvers<void>();
        const ended = ends(manner(midst.resolve), stop.signal);
        await Promise.race([midst.promise, ended]);
        stop.abort();
        await ended;
      }
      await finds(engine);
    }),
  );

  it(
    'reads on no more when the listener leaves',
    fresh(async (engine) => {
      const stop = new AbortController();
      let left = false;
      const said = await called(phrase);
      async function* watched(): AsyncGenerator<AudioFrame> {
        try {
          for (;;) {
            yield* framesOf(said);
            await pace(5);
          }
        } finally {
          left = true;
        }
      }
      for await (const _ of engine.detect(watched(), { phrases: [{ phrase }], signal: stop.signal })) break;
      await eventually(() => left, 'the end of its reading');
      stop.abort();
      assert.ok(left, 'it reads on');
      await finds(engine);
    }),
  );

  it(
    'fails with the microphone, and goes on with the next stream',
    fresh(async (engine) => {
      async function* unplugged(): AsyncGenerator<AudioFrame> {
        yield* framesOf(silence(100));
        throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'it was unplugged' });
      }
      const code = await codeOf(spot(engine, unplugged(), [phrase]));
      assert.ok(['AUDIO_UNAVAILABLE', 'SPEECH_FAILED'].includes(code), code);
      await finds(engine);
    }),
  );

  it(
    'leaves nobody waiting when it leaves in the middle',
    fresh(async (engine, target) => {
      const midst = Promise.withResolvers<void>();
      const work = spot(engine, muted(midst.resolve), [phrase]).then(
        () => undefined,
        (error: unknown) => error,
      );
      await Promise.race([midst.promise, work]);
      await target.leave();
      const error = await work;
      assert.ok(error === undefined || error instanceof CoreError, `it was ${String(error)}`);
    }),
  );

  it(
    'refuses phrases that it cannot know, and no phrases at all',
    fresh(async (engine) => {
      const wrong = [[], ...traits.impossible.map((one) => [one]), [phrase, traits.impossible[0] ?? '']];
      for (const phrases of wrong)
        assert.equal(await codeOf(spot(engine, silence(100), phrases)), 'PARAMS_INVALID', JSON.stringify(phrases));
      await finds(engine);
    }),
  );

  it(
    'names the phrases that it cannot know among those that it can',
    fresh(async (engine) => {
      if (!engine.unspeakable) return;
      assert.deepEqual(await engine.unspeakable([phrase, ...traits.impossible, other]), traits.impossible);
    }),
  );
}

async function* given(frames: readonly AudioFrame[]): AsyncGenerator<AudioFrame> {
  yield* frames;
}

/** Tells when the engine is in the midst of it. */
async function* endless(midst?: () => void): AsyncGenerator<AudioFrame> {
  for (let seq = 0; ; seq++) {
    if (seq === 10) midst?.();
    await pace(5);
    yield { seq, at: seq * FRAME_MS, samples: new Int16Array(FRAME_SAMPLES) };
  }
}

/** Tells when the engine waits for what never comes. */
async function* muted(midst?: () => void): AsyncGenerator<AudioFrame> {
  yield* framesOf(silence(100));
  midst?.();
  await new Promise(() => undefined);
}
