/** The chain of sound in a Core: an engine that speaks, the mixer, the speaker of the simulator, and its echo in the microphone. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { decodeWav, encodeWav } from '@device-core/plugin-api/audio';
import { audio, monotonicMs } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { leakCheck } from '@device-core/plugin-api/testing';
import { OPERATOR } from '../../fixtures/bus-core.ts';
import { startCore } from '../../fixtures/core.ts';
import { listening, until } from './fixture.ts';

after(leakCheck());

const loudness = (samples: Int16Array) =>
  Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / Math.max(1, samples.length));

async function start() {
  const core = await startCore({
    plugins: {
      operations: '^1.0.0',
      system: '^1.0.0',
      'audio-sim': { version: '^1.0.0', config: { playRate: 48_000, echo: { gain: 0.3 } } },
      audio: { version: '^1.0.0', config: { volume: 1 } },
      speech: '^1.0.0',
      'tts-flite': '^1.0.0',
    },
  });
  const table = core.service(operations);
  const call = async <T>(name: string, params: object) => {
    const { signal } = new AbortController();
    return (await table.invoke(name, params, { caller: OPERATOR, signal, deadline: Date.now() + 20_000 })) as T;
  };
  return { core, call, [Symbol.asyncDispose]: () => core.stop() };
}

describe('sound in a Core', () => {
  it('speaks through the mixer, softens music meanwhile, and is heard by its own microphone', async () => {
    await using device = await start();
    const sound = device.core.service(audio);
    const ear = listening(sound);
    await until('a frame', () => ear.frames.length > 3);
    const stop = new AbortController();
    const tone = [{ frequency: 300, ms: 10_000, gain: 0.6 }];
    const music = sound.tones(tone, { owner: 'plugin:test', signal: stop.signal }).catch((error) => error.code);
    await until('music', async () => (await sound.state()).playing.length === 1);
    const times: number[] = [];
    const asked = monotonicMs();
    await sound.play(device.core.service(speech).speak('Dinner is ready, and the oven is off.', {}), {
      owner: 'plugin:test',
      priority: 'speech',
      started: (at) => void times.push(at),
    });
    assert.ok(times[0]! - asked < 20_000, `the first word came after ${times[0]! - asked} ms`);
    stop.abort();
    assert.equal(await music, 'CANCELLED');
    await until('silence', async () => (await sound.state()).playing.length === 0);
    const { wav, ms } = await device.call<{ wav: string; ms: number }>('audio.heard', {});
    const heard = decodeWav(Buffer.from(wav, 'base64'));
    assert.equal(heard.rate, 48_000);
    assert.ok(ms > 1_500 && loudness(heard.samples) > 500);
    assert.ok(
      ear.frames.some(({ samples }) => loudness(samples) > 300),
      'the microphone hears the speaker',
    );
    await ear[Symbol.asyncDispose]();
  });

  it('hands injected sound to its listeners, until it is muted', async () => {
    await using device = await start();
    const sound = device.core.service(audio);
    await using ear = listening(sound);
    await until('a frame', () => ear.frames.length > 3);
    const wav = Buffer.from(encodeWav({ rate: 8_000, samples: new Int16Array(1_600).fill(4_000) })).toString('base64');
    await device.call('audio.inject', { wav, wait: true });
    await until('the sound', () => ear.frames.filter(({ samples }) => loudness(samples) > 2_000).length >= 9);
    await device.call('audio.mute', { muted: true });
    const count = ear.frames.length;
    await device.call('audio.inject', { wav, wait: true });
    assert.equal(ear.frames.length, count);
    await device.call('audio.mute', { muted: false });
    await until('frames', () => ear.frames.length > count + 3);
    const { capturing, muted } = await device.call<{ capturing: string[]; muted: boolean }>('audio.state', {});
    assert.deepEqual([capturing, muted], [['plugin:test'], false]);
  });
});
