/**
 * Days of listening, without their time: the ear of the voice, the service `speech` and the detector that comes with npm hear a quiet room in which there
 * is a noise now and then. What they hold afterwards is what they held before.
 * Costs 10^5 frames, half an hour of sound, where full counts are wanted.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Audio, AudioFrame } from '@device-core/plugin-api/services/audio';
import { FRAME_MS, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { Speech, WakeEngine } from '@device-core/plugin-api/services/speech';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import createFvad from '@echogarden/fvad-wasm';
import { Room } from '../../../plugins/voice/audio-sim/room.ts';
import { Chain } from '../../../plugins/voice/speech/chain.ts';
import { Registry } from '../../../plugins/voice/speech/registry.ts';
import { fvadEngine } from '../../../plugins/voice/vad-fvad/detector.ts';
import { Ear, type EarEvents } from '../../../plugins/voice/voice/ear.ts';
import { turns } from '../../fixtures/eventually.ts';
import { heapUsed } from '../../fixtures/heap.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';
import { say } from '../../fixtures/speech.ts';

after(leakCheck());

const MIB = 1 << 20;
const FRAMES = runs(100_000);
/** Somebody says something every ten seconds. */
const SPEECH_EVERY = 10_000 / FRAME_MS;

describe('a device that listens for long', { timeout: 600_000 }, () => {
  it('holds no more after it than before, and hears all of it', async () => {
    const clock = virtualClock({ turns: 1 });
    const { scope, log, ...rest } = part(clock);
    const registry = new Registry(scope, log, { order: {}, disabled: [], leastPauseMs: 1_000, mostPauseMs: 1_000 });
    const chain = new Chain(registry, scope, { resultMs: 10_000, utterance: 1_500 });
    const description = { id: 'a', title: 'A', languages: [], stage: 'local' } as const;
    const vad = fvadEngine(await createFvad(), { aggressiveness: 2, highPassHz: 80, marginDb: 5 });
    let heardByWake = 0;
    const wake: WakeEngine = {
      // biome-ignore lint/correctness/useYield: there is never a phrase
      async *detect(frames) {
        for await (const _ of frames) heardByWake++;
      },
    };
    registry.register('vad', description, vad, 'plugin.test');
    registry.register('wake', description, wake, 'plugin.test');

    const room = new Room(120);
    const speech = await say('good morning', 'slt');
    const sizes: number[] = [];
    let judged = 0;
    async function* capture(): AsyncGenerator<AudioFrame> {
      for (let seq = 0; seq < FRAMES; seq++) {
        const at = clock.monotonic() + FRAME_MS;
        if (seq % SPEECH_EVERY === 0) room.inject(speech, at);
        await clock.advance(FRAME_MS);
        yield { seq, at, samples: room.hear(at, FRAME_SAMPLES) };
        await turns(1);
        if (seq === Math.floor(FRAMES / 5) || seq === FRAMES - 1) sizes.push(await heapUsed());
      }
    }
    const detectSpeech: Speech['detectSpeech'] = async function* (frames, options) {
      for await (const result of chain.detectSpeech(frames, options)) {
        judged++;
        yield result;
      }
    };
    const stop = new AbortController();
    const never = (): never => assert.fail('nobody called');
    const events: EarEvents = {
      phrases: () => [{ phrase: 'hey computer' }],
      speculates: () => false,
      transcriber: () => undefined,
      problem: (_, reason) => assert.equal(reason, undefined),
      wake: never,
      command: never,
      partial: never,
      complete: never,
      endpoint: never,
      pause: never,
    };
    const settings = {
      preRollMs: 300,
      onsetFrames: 3,
      endpointFastMs: 150,
      endpointOpenMs: 300,
      endpointNumberMs: 200,
      endpointSlowMs: 600,
      leastCommandMs: 100,
      mostCommandMs: 10_000,
      speculateMs: 3_000,
    };
    const service = { detectSpeech, detectWake: chain.detectWake.bind(chain) } as unknown as Speech;
    const ear = new Ear({ audio: { capture } as unknown as Audio, speech: service, settings, events, scope });
    // The microphone ends with the last frame.
    await assert.rejects(ear.run(stop.signal), { code: 'AUDIO_UNAVAILABLE' });

    const [before = 0, atEnd = 0] = sizes;
    assert.deepEqual([judged, ear.lost], [FRAMES, 0]);
    assert.ok(heardByWake > (FRAMES / SPEECH_EVERY) * 20, `${heardByWake} frames were searched`);
    assert.ok(heardByWake < FRAMES / 2, 'silence is not searched');
    assert.ok(atEnd - before <= 2 * MIB, `${((atEnd - before) / MIB).toFixed(2)} MiB more`);
    await rest[Symbol.asyncDispose]();
  });
});
