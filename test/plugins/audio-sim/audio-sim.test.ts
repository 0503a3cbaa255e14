import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { decodeWav, encodeWav } from '@device-core/plugin-api/audio';
import { type AudioFrame, audioDevice, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/audio-sim/index.ts';
import { audioDeviceContract, toneSource } from '../../contracts/audio-device.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/audio-sim.yaml');
const RATE = 16_000;

async function start(config: object = {}) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, services: [[operations, table]], config });
  const device = host.service(audioDevice);
  return { host, table, device, [Symbol.asyncDispose]: () => host.stop() };
}

function wav(samples: Int16Array, rate = RATE): string {
  return Buffer.from(encodeWav({ rate, samples })).toString('base64');
}

function loudness(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
}

/** The samples that are not silence: a busy machine is late now and then, and a gap is written down. */
const withoutGaps = (base64: string) =>
  [...decodeWav(Buffer.from(base64, 'base64')).samples].filter((value) => value !== 0);

async function tone(ms: number): Promise<readonly number[]> {
  const samples: number[] = [];
  for await (const block of toneSource(RATE, ms)) samples.push(...block);
  return samples.filter((value) => value !== 0);
}

const constant = (length: number, value: number) => new Int16Array(length).fill(value);

/** Captures in the background. */
function listening(device: { capture(options: { signal: AbortSignal }): AsyncIterable<AudioFrame> }) {
  const stop = new AbortController();
  const frames: AudioFrame[] = [];
  const reading = (async () => {
    for await (const frame of device.capture({ signal: stop.signal })) frames.push(frame);
  })();
  return {
    frames,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}

const until = (what: string, done: () => boolean) => eventually(done, what);

describe('audio-sim', () => {
  describe('is an audio device that', () => audioDeviceContract(() => start()));

  it('is nearly silent until it hears injected sound, whole and at its time', async () => {
    await using sim = await start();
    await using ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 2);
    assert.ok(ear.frames.every(({ samples }) => loudness(samples) < 3));
    const told = (await sim.table.run('audio.inject', { wav: wav(constant(1_600, 5_000)), wait: true })) as {
      ms: number;
      from: number;
      to: number;
    };
    assert.equal(told.ms, 100);
    await until('its end', () => ear.frames.at(-1)!.at > told.to + 20);
    const heard = ear.frames.flatMap(({ samples, at }) =>
      [...samples].map((value, index) => ({ value, at: at - (FRAME_SAMPLES - index) / 16 })),
    );
    const loud = heard.filter(({ value }) => value > 2_500);
    assert.equal(loud.length, 1_600);
    assert.ok(Math.abs(loud[0]!.at - told.from) < 1 && Math.abs(loud.at(-1)!.at - told.to) < 1);
  });

  it('hears one injected sound after the other, at any rate, louder or softer', async () => {
    await using sim = await start();
    await using ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 0);
    const inject = (value: number, rate: number, gain: number) =>
      sim.table.run('audio.inject', { wav: wav(constant(rate / 10, value), rate), gain }) as Promise<{
        from: number;
        to: number;
      }>;
    const first = await inject(4_000, 48_000, 1);
    const second = await inject(1_000, 8_000, 2);
    assert.ok(second.from >= first.to);
    await until('the end', () => ear.frames.at(-1)!.at > second.to + 20);
    const values = ear.frames.flatMap(({ samples }) => [...samples]);
    const near = (level: number) => values.filter((value) => Math.abs(value - level) < 100).length;
    assert.ok(near(4_000) > 1_400 && near(2_000) > 1_400, `${near(4_000)} and ${near(2_000)} samples`);
  });

  it('hears an injected sound over another', async () => {
    await using sim = await start();
    await using ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 0);
    const inject = (samples: number, value: number, over: boolean) =>
      sim.table.run('audio.inject', { wav: wav(constant(samples, value)), over }) as Promise<{
        from: number;
        to: number;
      }>;
    // Long enough for a slow machine to be in the midst of it when the second one comes.
    const noise = await inject(16 * 10_000, 1_000, false);
    const speech = await inject(1_600, 4_000, true);
    assert.ok(speech.from > noise.from && speech.to < noise.to);
    await until('its end', () => ear.frames.at(-1)!.at > speech.to + 20);
    const values = ear.frames.flatMap(({ samples }) => [...samples]);
    assert.equal(values.filter((value) => Math.abs(value - 5_000) < 100).length, 1_600);
    assert.equal(values.filter((value) => Math.abs(value - 4_000) < 100).length, 0);
  });

  const REFUSED = [
    ['what is no WAV file', { wav: 'AAAA' }, 'PARAMS_INVALID'],
    ['what is no base64', { wav: 'a' }, 'PARAMS_INVALID'],
    ['more than a minute', { wav: wav(new Int16Array(61 * 8_000), 8_000) }, 'PARAMS_INVALID'],
    ['what nobody would hear', { wav: wav(new Int16Array(10)) }, 'AUDIO_UNAVAILABLE'],
  ] as const;
  for (const [what, params, code] of REFUSED) {
    it(`does not take ${what}`, async () => {
      await using sim = await start();
      await assert.rejects(sim.table.run('audio.inject', params), { code });
    });
  }

  it('bounds what waits to be heard', async () => {
    await using sim = await start();
    await using ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 0);
    const minute = { wav: wav(new Int16Array(59 * 8_000), 8_000) };
    await sim.table.run('audio.inject', minute);
    await sim.table.run('audio.inject', minute);
    await assert.rejects(sim.table.run('audio.inject', minute), { code: 'BUSY' });
    await sim.table.run('audio.inject', { ...minute, over: true });
    await sim.table.run('audio.inject', { ...minute, over: true });
    await assert.rejects(sim.table.run('audio.inject', { ...minute, over: true }), { code: 'BUSY' });
  });

  it('gives the last sound that was played, and the one before it', async () => {
    await using sim = await start();
    await assert.rejects(sim.table.run('audio.heard', {}), { code: 'AUDIO_UNAVAILABLE' });
    const { signal } = new AbortController();
    await sim.device.play(toneSource(RATE, 100), { signal });
    await sim.device.play(toneSource(RATE, 60), { signal });
    const heard = async (ago: number) =>
      (await sim.table.run('audio.heard', { ago })) as { wav: string; ms: number; playing: boolean; count: number };
    const { wav: newest, ...rest } = await heard(0);
    assert.ok(rest.ms >= 60, `${rest.ms} ms`);
    assert.equal(rest.playing, false);
    assert.equal(rest.count, 2);
    const before = await heard(1);
    assert.deepEqual(withoutGaps(before.wav), await tone(100));
    assert.deepEqual(withoutGaps(newest), await tone(60));
  });

  it('keeps files that are whole while they grow, the last few of them, none longer than it may be', async () => {
    await using sim = await start({ keep: 3, mostSeconds: 1 });
    const folder = join(sim.host.device.paths.var, 'audio-sim');
    const stop = new AbortController();
    const playing = sim.device.play(toneSource(RATE, 1_500), { signal: stop.signal });
    await eventually(async () => {
      const [growing] = await readdir(folder).catch(() => []);
      const bytes = growing === undefined ? Buffer.alloc(44) : await readFile(join(folder, growing));
      const known = bytes.length < 44 ? 0 : bytes.readUInt32LE(40);
      assert.ok(known <= Math.max(0, bytes.length - 44), `${known} of ${bytes.length}`);
      return known > 0;
    }, 'sound in the file');
    assert.equal(((await sim.table.run('audio.heard', {})) as { playing: boolean }).playing, true);
    await playing;
    const lengths = async () => {
      const names = (await readdir(folder)).sort();
      const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
      return files.map((file) => decodeWav(file).samples.length / 16);
    };
    const [full, rest = 0] = await lengths();
    assert.equal(full, 1_000);
    assert.ok(rest >= 500, `${rest} ms`);
    for (const ms of [20, 40]) await sim.device.play(toneSource(RATE, ms), { signal: stop.signal });
    const [first, second = 0, third = 0, ...more] = await lengths();
    assert.deepEqual([first, more], [rest, []]);
    assert.ok(second >= 20 && third >= 40, `${second} and ${third} ms`);
  });

  it('writes down a gap where the sound came late', async () => {
    await using sim = await start();
    const late = (async function* () {
      yield constant(320, 1_000);
      await pace(200);
      yield constant(320, 1_000);
    })();
    await sim.device.play(late, { signal: new AbortController().signal });
    const { ms } = (await sim.table.run('audio.heard', {})) as { ms: number };
    assert.ok(ms > 200, `${ms} ms`);
  });

  it('hears its own speaker where the room has an echo', async () => {
    await using sim = await start({ playRate: 48_000, echo: { gain: 0.5, delayMs: 40 } });
    await using ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 0);
    const begun: number[] = [];
    const options = { signal: new AbortController().signal, started: (at: number) => void begun.push(at) };
    await sim.device.play(toneSource(48_000, 200), options);
    const heard = () => ear.frames.filter(({ samples }) => loudness(samples) > 1_000);
    await until('the echo', () => heard().length >= 8 && loudness(ear.frames.at(-1)!.samples) < 1_000);
    const loud = heard();
    assert.ok(loud.length <= 12, `${loud.length} frames`);
    const delay = loud[0]!.at - begun[0]!;
    assert.ok(delay > 39 && delay < 85, `after ${delay} ms`);
    const [middle] = loud.slice(5);
    assert.ok(Math.abs(loudness(middle!.samples) - 8_000 / Math.SQRT2 / 2) < 300);
  });

  it('leaves nothing behind when it stops while it captures and plays', async () => {
    const sim = await start();
    const ear = listening(sim.device);
    await until('a frame', () => ear.frames.length > 0);
    const playing = sim.device.play(toneSource(RATE, 10_000), { signal: new AbortController().signal });
    const ended = Promise.allSettled([playing]);
    await pace(50);
    await sim.host.stop();
    await ended;
    assert.deepEqual(sim.host.leaks(), []);
    assert.deepEqual(sim.table.names, []);
    await ear[Symbol.asyncDispose]().catch(() => undefined);
  });
});
