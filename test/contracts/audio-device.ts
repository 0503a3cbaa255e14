/** What every provider of `audio-device` must do, whatever microphone and loudspeaker are behind it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  type AudioDevice,
  type AudioFrame,
  FRAME_MS,
  FRAME_SAMPLES,
  monotonicMs,
} from '@device-core/plugin-api/services/audio';
import { eventually, pace } from '../fixtures/eventually.ts';

export interface DeviceUnderTest extends AsyncDisposable {
  readonly device: AudioDevice;
}

/** A machine that does something else as well is late now and then. */
const LATE_MS = 400;

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, `it should have failed with an error of the table, not ${error}`);
  return error.code;
}

export async function framesOf(device: AudioDevice, count: number): Promise<AudioFrame[]> {
  const stop = new AbortController();
  const frames: AudioFrame[] = [];
  for await (const frame of device.capture({ signal: stop.signal })) {
    frames.push(frame);
    if (frames.length === count) break;
  }
  stop.abort();
  return frames;
}

/** Blocks of 20 ms, and how many of them were asked for. */
export function toneSource(rate: number, ms: number): AsyncIterable<Int16Array> & { readonly pulled: () => number } {
  let pulled = 0;
  const block = (rate * FRAME_MS) / 1_000;
  const blocks = async function* () {
    for (let from = 0; from < ms / FRAME_MS; from++) {
      pulled++;
      yield Int16Array.from({ length: block }, (_, index) =>
        Math.round(8_000 * Math.sin((2 * Math.PI * 440 * (from * block + index)) / rate)),
      );
    }
  };
  return { [Symbol.asyncIterator]: blocks, pulled: () => pulled };
}

/** Declares the tests; call it inside a `describe`. */
export function audioDeviceContract(open: () => Promise<DeviceUnderTest>): void {
  const signal = () => new AbortController().signal;

  it('says what it is', async () => {
    await using target = await open();
    const { driver, source, sink, playRate } = await target.device.info();
    assert.ok(driver.length > 0 && source !== undefined && sink !== undefined);
    assert.ok(playRate >= 8_000 && playRate <= 192_000);
  });

  it('gives 20 ms of sound every 20 ms, without drift', async () => {
    await using target = await open();
    const began = monotonicMs();
    const frames = await framesOf(target.device, 30);
    const ms = monotonicMs() - began;
    assert.ok(frames.every(({ samples }) => samples instanceof Int16Array && samples.length === FRAME_SAMPLES));
    assert.deepEqual(
      frames.map(({ seq }) => seq),
      frames.map((_, index) => index),
    );
    assert.ok(ms > 400 && ms < 600 + 2 * LATE_MS, `30 frames took ${ms} ms`);
    for (const [index, { at }] of frames.entries()) {
      const off = at - frames[0]!.at - index * FRAME_MS;
      assert.ok(Math.abs(off) < LATE_MS, `frame ${index} is ${off} ms off`);
      assert.ok(at > began && at < monotonicMs());
    }
  });

  it('captures for one at a time, until the signal, and again from the beginning', async () => {
    await using target = await open();
    const stop = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { seq } of target.device.capture({ signal: stop.signal })) seen.push(seq);
    })();
    await eventually(() => seen.length > 0, 'a frame');
    assert.equal(await codeOf(framesOf(target.device, 1)), 'AUDIO_UNAVAILABLE');
    stop.abort();
    await reading;
    assert.deepEqual(
      (await framesOf(target.device, 2)).map(({ seq }) => seq),
      [0, 1],
    );
  });

  it('lets no frame out while it is muted', async () => {
    await using target = await open();
    const stop = new AbortController();
    const frames: AudioFrame[] = [];
    const reading = (async () => {
      for await (const frame of target.device.capture({ signal: stop.signal })) frames.push(frame);
    })();
    await eventually(() => frames.length >= 3, 'frames');
    await target.device.mute(true);
    const from = monotonicMs();
    await pace(200);
    const to = monotonicMs(); // before the answer, which may come long after the first frame
    await target.device.mute(false);
    await eventually(() => frames.some(({ at }) => at > to), 'frames again');
    stop.abort();
    await reading;
    // What ended just before the mute may be on its way still; a device may wake up for two frames at once.
    const slack = 3 * FRAME_MS;
    assert.deepEqual(
      frames.filter(({ at }) => at > from + slack && at < to - slack).map(({ at }) => [at - from, to - at]),
      [],
    );
  });

  it('plays as long as the sound lasts, and tells when it begins', async () => {
    await using target = await open();
    const { playRate } = await target.device.info();
    const began = monotonicMs();
    const times: number[] = [];
    await target.device.play(toneSource(playRate, 400), { signal: signal(), started: (at) => void times.push(at) });
    const ended = monotonicMs();
    assert.ok(times.length >= 1, 'it told nothing');
    assert.ok(times[0]! >= began && times[0]! < began + LATE_MS, `it began after ${times[0]! - began} ms`);
    assert.ok(ended - times[0]! > 390 && ended - times[0]! < 400 + LATE_MS, `it took ${ended - times[0]!} ms`);
  });

  it('asks for sound when it is due, not before', async () => {
    await using target = await open();
    const { playRate } = await target.device.info();
    const source = toneSource(playRate, 2_000);
    const stop = new AbortController();
    const began = monotonicMs();
    const playing = target.device.play(source, { signal: stop.signal });
    await pace(300);
    // A border between plugins reads some ahead.
    const most = (monotonicMs() - began) / FRAME_MS + 2 + 17;
    assert.ok(source.pulled() <= most, `${source.pulled()} blocks were asked for`);
    stop.abort();
    await playing;
  });

  it('stops at once, and plays again', async () => {
    await using target = await open();
    const { playRate } = await target.device.info();
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const playing = target.device.play(toneSource(playRate, 20_000), {
      signal: stop.signal,
      started: () => begun.resolve(),
    });
    await begun.promise;
    const second = target.device.play(toneSource(playRate, 20), { signal: signal() });
    assert.equal(await codeOf(second), 'AUDIO_UNAVAILABLE');
    const asked = monotonicMs();
    stop.abort();
    await playing;
    assert.ok(monotonicMs() - asked < LATE_MS * 2, `it went on for ${monotonicMs() - asked} ms`);
    await target.device.play(toneSource(playRate, 40), { signal: signal() });
  });

  it('ends with what its source fails with, and plays again', async () => {
    await using target = await open();
    const { playRate } = await target.device.info();
    const failing = (async function* () {
      yield new Int16Array(playRate / 50);
      throw new CoreError('SPEECH_FAILED', { engine: 'test', reason: 'it ran dry' });
    })();
    assert.equal(await codeOf(target.device.play(failing, { signal: signal() })), 'SPEECH_FAILED');
    await target.device.play(toneSource(playRate, 0), { signal: signal() });
    await target.device.play(toneSource(playRate, 40), { signal: signal() });
  });

  it('gives up a source that never answers', async () => {
    await using target = await open();
    const stop = new AbortController();
    const silent = (async function* (): AsyncGenerator<Int16Array> {
      await new Promise(() => undefined);
    })();
    const playing = target.device.play(silent, { signal: stop.signal });
    await pace(50);
    stop.abort();
    await playing;
  });
}
