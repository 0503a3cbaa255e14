/** How long the ear waits for the end of a command, in the time of its frames. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Audio, type AudioFrame, FRAME_MS, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { Speech } from '@device-core/plugin-api/services/speech';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { Ear, type EarEvents } from '../../../plugins/voice/voice/ear.ts';
import type { Completeness } from '../../../plugins/voice/voice/utterance.ts';
import { turns } from '../../fixtures/eventually.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const SPEECH_FRAMES = 40;
const FRAMES = 120;
const SETTINGS = {
  preRollMs: 300,
  onsetFrames: 2,
  endpointFastMs: 180,
  endpointNumberMs: 220,
  endpointOpenMs: 360,
  endpointSlowMs: 500,
  leastCommandMs: 100,
  mostCommandMs: 10_000,
  speculateMs: 3_000,
};

/** Milliseconds of silence after which the command is over. */
async function endOf(complete: Completeness): Promise<number> {
  const clock = virtualClock({ turns: 1 });
  const { scope, ...rest } = part(clock);
  const ended = Promise.withResolvers<number>();
  let heard = 0;
  async function* capture(): AsyncGenerator<AudioFrame> {
    for (let seq = 0; seq < FRAMES; seq++) {
      await clock.advance(FRAME_MS);
      yield { seq, at: clock.monotonic(), samples: new Int16Array(FRAME_SAMPLES) };
      await turns(4);
    }
  }
  const detectSpeech: Speech['detectSpeech'] = async function* (frames) {
    for await (const { seq } of frames) {
      heard = seq + 1;
      const speech = seq < SPEECH_FRAMES;
      yield { seq, speech, probability: speech ? 1 : 0 };
    }
  };
  const events: EarEvents = {
    phrases: () => [],
    speculates: () => true,
    transcriber:
      () =>
      async (frames, { partial }) => {
        for await (const { seq } of frames)
          if (seq === SPEECH_FRAMES - 2) partial({ text: 'ten minutes', language: 'en' });
        return { text: 'ten minutes', language: 'en', engine: 'test', stage: 'local' };
      },
    problem: () => undefined,
    wake: () => undefined,
    command: () => undefined,
    partial: () => undefined,
    complete: async () => complete,
    endpoint: () => ended.resolve((heard - SPEECH_FRAMES) * FRAME_MS),
    pause: () => undefined,
  };
  const service = { detectSpeech } as unknown as Speech;
  const audio = { capture } as unknown as Audio;
  const ear = new Ear({ audio, ends: true, speech: service, settings: SETTINGS, events, scope });
  const stop = new AbortController();
  ear.listen('turn');
  const running = ear.run(stop.signal);
  const ms = await Promise.race([ended.promise, running.then(() => Number.NaN)]);
  stop.abort();
  await running;
  await rest[Symbol.asyncDispose]();
  return ms;
}

describe('the end of a command', { timeout: 60_000 }, () => {
  for (const [complete, what, ms] of [
    ['whole', 'a whole sentence', 180],
    ['number', 'a sentence that only numbers may follow', 220],
    ['open', 'a sentence that other words may follow', 360],
    ['part', 'words that are no sentence', 500],
  ] as const)
    it(`comes ${ms} ms after ${what}`, async () => assert.equal(await endOf(complete), ms));
});
