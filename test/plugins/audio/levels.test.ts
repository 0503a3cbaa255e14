import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type Audio, type AudioPriority, monotonicMs, type PcmChunk } from '@device-core/plugin-api/services/audio';
import type { AudioLevel } from '@device-core/plugin-api/services/renderer';
import { leakCheck } from '@device-core/plugin-api/testing';
import { FakeDevice, RATE, start, until } from './fixture.ts';

after(leakCheck());

/** Levels in the background. */
function watching(audio: Audio, priority?: AudioPriority) {
  const stop = new AbortController();
  const levels: AudioLevel[] = [];
  const reading = (async () => {
    const options = { signal: stop.signal, ...(priority && { priority }) };
    for await (const level of audio.levels(options)) levels.push(level);
  })();
  return {
    levels,
    silent: () => levels.at(-1)?.rms === 0,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}

async function* wave(frequency: number, ms: number, gain = 0.5, rate = RATE): AsyncGenerator<PcmChunk> {
  const samples = new Int16Array(Math.round((rate * ms) / 1_000));
  for (let index = 0; index < samples.length; index++)
    samples[index] = Math.round(Math.sin((2 * Math.PI * frequency * index) / rate) * gain * 32_767);
  yield { rate, samples };
}

describe('levels of sound', () => {
  it('come 25 times a second on the clock of the speaker, ahead of the sound, and end with one silence', async () => {
    await using core = await start();
    await using watch = watching(core.audio);
    let began = 0;
    const late: number[] = [];
    await core.audio.play(wave(400, 1_000), {
      owner: 'plugin:test',
      started: (at) => {
        began = at;
        late.push(monotonicMs());
      },
    });
    await until('silence', watch.silent);
    const sounding = watch.levels.filter(({ rms }) => rms > 0);
    assert.equal(sounding.length, 25);
    assert.equal(watch.levels.filter(({ rms }) => rms === 0).length, 1);
    for (const [index, { at }] of sounding.entries()) assert.ok(Math.abs(at - began - index * 40) < 0.01, `${at}`);
    const end = watch.levels.at(-1)!.at - began;
    assert.ok(end >= 1_000 && end <= 1_020, `${end}`);
  });

  it('are as loud as the sound and its gain, at any volume of the device', async () => {
    await using core = await start({ config: { volume: 0.1 } });
    await using watch = watching(core.audio);
    await core.audio.play(wave(400, 200, 0.8), { owner: 'plugin:test', gain: 0.5 });
    await until('silence', watch.silent);
    for (const { rms } of watch.levels.slice(1, 4)) assert.ok(Math.abs(rms - 0.4 / Math.SQRT2) < 0.01, `${rms}`);
  });

  it('are dark for low tones and bright for high ones, at any rate of the speaker', async () => {
    for (const rate of [16_000, 48_000]) {
      await using core = await start({ device: new FakeDevice(rate) });
      const brightness = async (frequency: number) => {
        await using watch = watching(core.audio);
        await core.audio.play(wave(frequency, 200, 0.5, rate), { owner: 'plugin:test' });
        await until('silence', watch.silent);
        return watch.levels[2]!.brightness;
      };
      const [low, middle, high] = [await brightness(200), await brightness(1_000), await brightness(4_000)];
      assert.ok(low < 0.1 && middle > 0.3 && middle < 0.7 && high > 0.85, `${low} ${middle} ${high}`);
    }
  });

  it('are those of one priority where that is asked for: music moves no mouth', async () => {
    await using core = await start();
    await using mouth = watching(core.audio, 'speech');
    await using meter = watching(core.audio);
    const music = core.audio.play(wave(300, 600), { owner: 'app:a', priority: 'media' });
    await until('music', () => meter.levels.length > 3);
    assert.deepEqual(mouth.levels, []);
    await core.audio.play(wave(500, 120), { owner: 'plugin:voice', priority: 'speech' });
    await music;
    await until('silence of both', () => mouth.silent() && meter.silent());
    assert.equal(mouth.levels.filter(({ rms }) => rms > 0).length, 3);
    assert.ok(meter.levels.length > 14);
  });

  it('fall silent where a sound is broken off', async () => {
    await using core = await start();
    await using watch = watching(core.audio);
    const stop = new AbortController();
    const play = core.audio
      .play(wave(400, 60_000), { owner: 'plugin:test', signal: stop.signal })
      .catch((error) => error.code);
    await until('sound', () => watch.levels.length > 4);
    stop.abort();
    assert.equal(await play, 'CANCELLED');
    await until('silence', watch.silent);
  });

  it('cost nothing without a listener, and a reader who comes later hears the rest', async () => {
    await using core = await start();
    const stop = new AbortController();
    const sound = core.audio
      .play(wave(400, 60_000), { owner: 'plugin:test', signal: stop.signal })
      .catch(() => undefined);
    await until('sound', () => core.device.heard.length > 3_000);
    await using watch = watching(core.audio);
    await until('levels', () => watch.levels.length > 3);
    const [first, second] = watch.levels;
    assert.ok(Math.abs(second!.at - first!.at - 40) < 0.01);
    assert.ok(first!.at > monotonicMs() - 60_000);
    stop.abort();
    await sound;
  });

  it('a reader who sleeps loses the oldest, and it is told', async () => {
    await using core = await start();
    const stop = new AbortController();
    const iterator = core.audio.levels({ signal: stop.signal })[Symbol.asyncIterator]();
    const first = iterator.next();
    await core.audio.play(wave(400, 6_000), { owner: 'plugin:test' });
    assert.ok((await first).value);
    let last: AudioLevel | undefined;
    let count = 0;
    stop.abort();
    for (let item = await iterator.next(); !item.done; item = await iterator.next()) {
      last = item.value;
      count++;
    }
    assert.ok(count <= 126, `${count} waited`);
    assert.equal(last!.rms, 0);
  });
});
