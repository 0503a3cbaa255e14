/** What every engine of kind `vad` must do, whatever is behind it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { VadEngine, VadResult } from '@device-core/plugin-api/services/speech';
import { collect, framesOf, inNoise, join, noise, say, silence } from '../fixtures/speech.ts';

export interface EngineUnderTest<T> extends AsyncDisposable {
  readonly engine: T;
}

const NEVER = new AbortController().signal;

export async function judge(engine: VadEngine, samples: Int16Array): Promise<readonly VadResult[]> {
  return collect(engine.detect(framesOf(samples), { signal: NEVER }));
}

export function share(results: readonly VadResult[]): number {
  return results.filter(({ speech }) => speech).length / results.length;
}

/** Declares the tests; call it inside a `describe`. */
export function vadContract(open: () => Promise<EngineUnderTest<VadEngine>>): void {
  it('judges each frame, in order, and ends with the frames', async () => {
    await using target = await open();
    const results = await judge(target.engine, join(silence(500), await say('good morning'), silence(200)));
    assert.deepEqual(
      results.map(({ seq }) => seq),
      results.map((_, index) => index),
    );
    assert.ok(results.every(({ probability }) => probability >= 0 && probability <= 1));
    assert.deepEqual(await judge(target.engine, new Int16Array()), []);
  });

  it('hears speech, and neither silence nor quiet noise', async () => {
    await using target = await open();
    const said = await say('turn on the kitchen light please');
    const frames = Math.floor(said.length / 320);
    const results = await judge(target.engine, join(silence(1_000), said, silence(1_000)));
    assert.ok(share(results.slice(50, 50 + frames)) > 0.6, 'speech');
    assert.ok(share(results.slice(0, 48)) === 0, 'silence before');
    assert.ok(share(results.slice(-25)) === 0, 'silence after');
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      assert.ok(share((await judge(target.engine, noise(colour, 4_000, 100))).slice(50)) < 0.05, colour);
  });

  it('serves several streams at once, each by itself', async () => {
    await using target = await open();
    const said = join(silence(400), await say('what time is it'), silence(400));
    const [first, quiet, second] = await Promise.all([
      judge(target.engine, said),
      judge(target.engine, silence(1_000)),
      judge(target.engine, said),
    ]);
    assert.deepEqual(first, second);
    assert.equal(share(quiet), 0);
  });

  it('ends when it is aborted', async () => {
    await using target = await open();
    const stop = new AbortController();
    let count = 0;
    for await (const _ of target.engine.detect(endless(), { signal: stop.signal })) {
      count++;
      if (count === 10) stop.abort();
      assert.ok(count < 200, 'it goes on');
    }
  });
}

/** For engines that tell speech from loud noise, too. */
export function loudVadContract(start: () => Promise<EngineUnderTest<VadEngine>>): void {
  it('does not take loud noise for speech that never ends', async () => {
    await using target = await start();
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      assert.ok(share(await judge(target.engine, noise(colour, 4_000, 3_000))) < 0.1, colour);
  });

  it('hears speech in noise', async () => {
    await using target = await start();
    const said = await say('turn on the kitchen light please');
    const frames = Math.floor(said.length / 320);
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const) {
      const results = await judge(target.engine, inNoise(join(silence(1_000), said), colour, 20));
      assert.ok(share(results.slice(50, 50 + frames)) > 0.5, colour);
    }
  });
}

async function* endless(): AsyncGenerator<AudioFrame> {
  for (;;) yield* framesOf(silence(200));
}
