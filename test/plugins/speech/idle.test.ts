/** A device listens for months: nothing may stay of a frame that has been heard. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type AudioFrame, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech, type VadEngine, type WakeEngine } from '@device-core/plugin-api/services/speech';
import { createTestHost, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/speech/index.ts';

after(leakCheck());

/** Sets of objects that are kept for other reasons have their size by then. */
const WARM = 2_000;
const FRAMES = 10_000;
/** A race of promises per frame kept 1,100; without one a few are measured, up and down. */
const MOST_BYTES = 150;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** The test runner forgets what it knows of promises that are gone in the next turns. */
async function settledHeap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await turn();
  }
  return process.memoryUsage().heapUsed;
}

const vad: VadEngine = {
  async *detect(frames) {
    for await (const { seq } of frames) yield { seq, speech: false, probability: 0 };
  },
};
const wake: WakeEngine = {
  // biome-ignore lint/correctness/useYield: it hears nothing that is meant for it
  async *detect(frames) {
    for await (const _ of frames);
  },
};

for (const kind of ['vad', 'wake'] as const) {
  it(`keeps nothing of ${FRAMES} frames that a ${kind} engine has heard`, async () => {
    const table = new TestOperations();
    const manifest = 'manifests/plugins/voice/speech.yaml';
    const clock = virtualClock();
    await using host = await createTestHost(plugin, { manifest, clock, services: [[operations, table]] });
    const service = host.service(speech);
    const engine = { id: kind, title: kind, languages: ['en'], stage: 'local' } as const;
    const register = service.register.bind(service);
    await using _engine = register(kind, engine, kind === 'vad' ? vad : wake, 'plugin.test');
    const heap: number[] = [];
    async function* frames(): AsyncGenerator<AudioFrame> {
      const samples = new Int16Array(FRAME_SAMPLES);
      for (let seq = 0; seq <= WARM + FRAMES; seq++) {
        if (seq === WARM || seq === WARM + FRAMES) {
          heap.push(await settledHeap());
        }
        if (seq % 100 === 0) await turn();
        yield { seq, at: seq * 20, samples };
      }
    }
    const { signal } = new AbortController();
    const items =
      kind === 'vad'
        ? service.detectSpeech(frames(), { signal })
        : service.detectWake(frames(), { signal, phrases: [{ phrase: 'computer' }] });
    for await (const _ of items);
    const perFrame = (heap[1]! - heap[0]!) / FRAMES;
    assert.ok(perFrame < MOST_BYTES, `${Math.round(perFrame)} bytes per frame stay`);
  });
}
