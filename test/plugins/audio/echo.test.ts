/** Frames by way of an echo canceller: when it is asked, what it is told, and what becomes of the sound when it is late, hangs or dies. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  type AudioFrame,
  type CleanFrame,
  type EchoCanceller,
  type EchoFrame,
  echoCanceller,
  monotonicMs,
} from '@device-core/plugin-api/services/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { FarEnd, NearClock } from '../../../plugins/voice/audio/far-end.ts';
import { eventually, pace, stays } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import { runs } from '../../fixtures/runs.ts';
import { level, listening, start, until } from './fixture.ts';

after(leakCheck());

const VOICE = 700;
const SPEAKER = 4_000;
const CLEAN = 9;

/** Marks what it was asked to clean, and does what a test wants. */
class FakeCanceller implements EchoCanceller {
  readonly asked: EchoFrame[] = [];
  streams = 0;
  ended = 0;
  readonly #work: (frame: EchoFrame, count: number) => Promise<CleanFrame | undefined>;

  constructor(work?: (frame: EchoFrame, count: number) => Promise<CleanFrame | undefined>) {
    this.#work = work ?? (async ({ seq }) => ({ seq, samples: new Int16Array(320).fill(CLEAN) }));
  }

  async *clean(
    frames: AsyncIterable<EchoFrame>,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<CleanFrame> {
    this.streams++;
    try {
      for await (const frame of frames) {
        if (signal.aborted) return;
        this.asked.push(frame);
        const result = await this.#work(frame, this.asked.length);
        if (!result) return;
        yield result;
      }
    } finally {
      this.ended++;
    }
  }
}

/** A Core with a microphone that is spoken into and a speaker that plays. */
async function room(canceller: EchoCanceller, echo: object = {}) {
  const core = await start({ config: { echo: { deadlineMs: 1_000, ...echo } } });
  await core.host.appear(echoCanceller, canceller);
  const ear = listening(core.audio);
  await until('capture', () => core.device.capturing);
  const stop = new AbortController();
  let playing: Promise<unknown> = Promise.resolve();
  return {
    ...core,
    ear,
    health: () => healthOf(core.host, 'audio.echo'),
    /** Until the end of the test. */
    async play() {
      const sound = level(SPEAKER, 60_000);
      playing = core.audio.play(sound, { owner: 'plugin:test', signal: stop.signal }).catch(() => undefined);
      await until('sound', () => core.device.heard.length > 3_200);
    },
    async quiet() {
      stop.abort();
      await playing;
    },
    /** So many frames, as they come. */
    async speak(count: number, ms = 5) {
      for (let said = 0; said < count; said++) {
        core.device.say(VOICE);
        await pace(ms);
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await playing;
      await ear[Symbol.asyncDispose]();
      await core[Symbol.asyncDispose]();
    },
  };
}

const valuesOf = (frames: readonly AudioFrame[]) => frames.map(({ samples }) => samples[0]);
const inOrder = (frames: readonly AudioFrame[]) =>
  assert.deepEqual(
    frames.map(({ seq }) => seq),
    frames.map((_, index) => frames[0]!.seq + index),
  );

describe('echo cancellation', () => {
  it('is not asked while nothing is played, and is in health only where a plugin is one', async () => {
    await using core = await start();
    assert.equal(await healthOf(core.host, 'audio.echo'), undefined);
    const canceller = new FakeCanceller();
    await using device = await room(canceller);
    await device.speak(5);
    await until('frames', () => device.ear.frames.length === 5);
    assert.deepEqual(valuesOf(device.ear.frames), Array(5).fill(VOICE));
    assert.equal(canceller.streams, 0);
    assert.deepEqual(await device.health(), { status: 'okay' });
  });

  it('gives cleaned frames to everybody who hears, in one stream over pauses', async () => {
    const canceller = new FakeCanceller();
    await using device = await room(canceller);
    await using other = listening(device.audio, 'app:other');
    await until('both', async () => (await device.audio.state()).capturing.length === 2);
    await device.play();
    await device.speak(10);
    await until('frames', () => device.ear.frames.length === 10 && other.frames.length === 10);
    assert.deepEqual(valuesOf(device.ear.frames), Array(10).fill(CLEAN));
    assert.deepEqual(valuesOf(other.frames), Array(10).fill(CLEAN));
    inOrder(device.ear.frames);
    await device.quiet();
    await until('a frame as it is', async () => {
      await device.speak(1);
      return device.ear.frames.at(-1)?.samples[0] === VOICE;
    });
    assert.equal(canceller.streams, 1);
    assert.equal(canceller.ended, 0);
  });

  it('is told what was heard from the speaker while the frame was captured', async () => {
    const canceller = new FakeCanceller();
    await using device = await room(canceller, { aheadMs: 0 });
    const times: number[] = [];
    const beep = [
      { frequency: 0, ms: 200 },
      { frequency: 500, ms: 300, gain: 1 },
      { frequency: 0, ms: 200 },
    ];
    const playing = device.audio.tones(beep, { owner: 'plugin:test', started: (at) => void times.push(at) });
    await until('the beginning', () => times.length > 0);
    // Of a microphone with an even clock, from before the beep to after it; late, so that a busy machine has mixed it.
    const from = times[0]!;
    const ats: number[] = [];
    for (let at = from + 100; at < from + 700; at += 20) {
      await eventually(() => monotonicMs() >= at + 1_000, 'the time of the frame');
      device.device.say(VOICE, at);
      ats.push(at);
    }
    await playing;
    await until('all of them', () => device.ear.frames.length === ats.length);
    const first = canceller.asked[0]!.seq;
    for (const { seq, near, far } of canceller.asked) {
      const end = ats[seq - device.ear.frames[0]!.seq]! - from;
      const loud = far.some((sample) => Math.abs(sample) > 1_000);
      assert.equal(near[0], VOICE);
      if (end < 198 || end - 20 > 502) assert.ok(!loud, `${end} ms after the beginning: sound`);
      if (end - 20 > 202 && end < 498) assert.ok(loud, `${end} ms after the beginning: silence`);
    }
    assert.ok(canceller.asked.length >= 20 && first >= device.ear.frames[0]!.seq);
  });

  it('that is late now and then costs those frames their cleaning, nothing else', async () => {
    const canceller = new FakeCanceller(async ({ seq }, count) => {
      if (count === 4) await pace(2_000);
      return { seq, samples: new Int16Array(320).fill(CLEAN) };
    });
    await using device = await room(canceller);
    await device.play();
    await device.speak(3);
    await until('three', () => device.ear.frames.length === 3);
    await device.speak(1);
    await until('the late one', () => device.ear.frames.length === 4);
    await until('it was answered', () => canceller.asked.length === 4);
    await pace(1_500);
    await device.speak(3);
    await until('seven', () => device.ear.frames.length === 7);
    const values = valuesOf(device.ear.frames);
    assert.equal(values[3], VOICE);
    assert.equal(values.at(-1), CLEAN);
    inOrder(device.ear.frames);
    const health = await device.health();
    assert.equal(health?.status, 'okay');
    assert.match(health?.message ?? '', /passed on with their echo/);
  });

  it('that hangs never stops capture: frames go by as they are, it is told, and it is not asked for a while', async () => {
    const hanging = Promise.withResolvers<undefined>();
    const canceller = new FakeCanceller(() => hanging.promise);
    await using device = await room(canceller, { deadlineMs: 30 });
    await device.play();
    await device.speak(40, 2);
    await until('all of them', () => device.ear.frames.length === 40);
    assert.deepEqual(valuesOf(device.ear.frames), Array(40).fill(VOICE));
    inOrder(device.ear.frames);
    const health = await device.health();
    assert.deepEqual([health?.status, health?.code], ['error', 'TIMEOUT']);
    const { streams } = canceller;
    await device.speak(10, 2);
    await until('ten more', () => device.ear.frames.length === 50);
    assert.equal(canceller.streams, streams);
    hanging.resolve(undefined);
  });

  const FAILING: readonly (readonly [string, () => Promise<CleanFrame | undefined>, string, string, RegExp])[] = [
    ['dies', async () => Promise.reject(new Error('a filter broke')), 'error', 'INTERNAL', /echo cancellation/],
    ['ends by itself', async () => undefined, 'error', 'UNAVAILABLE', /ended by itself/],
    [
      'cannot work now',
      async () => Promise.reject(new CoreError('AUDIO_UNAVAILABLE', { verb: 'cancel', reason: 'no library' })),
      ...(['waiting', 'AUDIO_UNAVAILABLE', /no library/] as const),
    ],
    [
      'gives what is no frame',
      async () => ({ seq: 0, samples: new Int16Array(3) }),
      ...(['error', 'UNAVAILABLE', /no frame/] as const),
    ],
  ];
  for (const [what, work, status, code, message] of FAILING)
    it(`that ${what} is told, and no frame is lost; it is asked again later`, async () => {
      let broken = true;
      const canceller = new FakeCanceller(async ({ seq }) =>
        broken ? work() : { seq, samples: new Int16Array(320).fill(CLEAN) },
      );
      await using device = await room(canceller);
      await device.play();
      await device.speak(5);
      await until('five', () => device.ear.frames.length === 5);
      assert.deepEqual(valuesOf(device.ear.frames), Array(5).fill(VOICE));
      const health = await device.health();
      assert.deepEqual([health?.status, health?.code], [status, code]);
      assert.match(health?.message ?? '', message);
      broken = false;
      await until('cleaned again', async () => {
        await device.speak(1);
        return device.ear.frames.at(-1)?.samples[0] === CLEAN;
      });
      assert.equal((await device.health())?.status, 'okay');
      inOrder(device.ear.frames);
    });

  it('may go in the middle: what it held is passed on', async () => {
    const hanging = Promise.withResolvers<undefined>();
    const canceller = new FakeCanceller(() => hanging.promise);
    await using device = await room(canceller);
    await device.play();
    await device.speak(5);
    await until('a question', () => canceller.asked.length === 1);
    await device.host.disappear(echoCanceller);
    await until('five', () => device.ear.frames.length === 5);
    await device.speak(2);
    await until('seven', () => device.ear.frames.length === 7);
    assert.deepEqual(valuesOf(device.ear.frames), Array(7).fill(VOICE));
    assert.equal(await device.health(), undefined);
    hanging.resolve(undefined);
  });

  it('does not carry a frame over a mute', async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const canceller = new FakeCanceller(async ({ seq }) => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return { seq, samples: new Int16Array(320).fill(CLEAN) };
    });
    await using device = await room(canceller);
    await device.play();
    await device.speak(1);
    await until('a question', () => gates.length === 1);
    await device.audio.setMuted(true);
    gates[0]!.resolve();
    await stays(() => device.ear.frames.length === 0, 'no frame comes', { ms: 100 });
    await device.audio.setMuted(false);
    assert.equal(device.ear.frames.length, 0);
    device.device.say(VOICE, monotonicMs() + 30);
    await until('another', () => gates.length === 2);
    gates[1]!.resolve();
    await until('its frame', () => device.ear.frames.length === 1);
    assert.equal(device.ear.frames[0]!.samples[0], CLEAN);
  });
});

describe('times of microphone and speaker', () => {
  it('go on evenly however the times of frames jitter, and follow a clock that drifts', () => {
    const jitter = fc.array(fc.double({ min: 0, max: 8, noNaN: true }), { minLength: 400, maxLength: 400 });
    fc.assert(
      fc.property(jitter, fc.constantFrom(-0.002, 0, 0.002), (late, slower) => {
        const clock = new NearClock();
        let before: number | undefined;
        for (const [seq, ms] of late.entries()) {
          const true_ = 1_000 + seq * 20 * (1 + slower);
          const at = clock.follow({ seq, at: true_ + ms });
          if (before !== undefined) assert.ok(Math.abs(at - before - 20) < 0.07, `a step of ${at - before} ms`);
          assert.ok(Math.abs(at - true_) < 20, `${at - true_} ms beside it`);
          before = at;
        }
      }),
      { numRuns: runs(30) },
    );
  });

  it('leave out what was lost, and begin anew after a jump', () => {
    const clock = new NearClock();
    assert.equal(clock.follow({ seq: 0, at: 1_000 }), 1_000);
    assert.equal(clock.follow({ seq: 5, at: 1_100 }), 1_100);
    assert.equal(clock.follow({ seq: 6, at: 1_500 }), 1_500);
  });

  it('put played sound where it is heard, in any order and with any gap', () => {
    const end = new FarEnd();
    end.wanted = true;
    const run = end.run(16_000);
    const at = monotonicMs() + 50;
    const block = (value: number) => new Int16Array(320).fill(value);
    run.add(block(1), 0);
    assert.deepEqual([...end.take(at + 20, 320)], [...block(0)]);
    run.started(at);
    run.add(block(2), 320);
    run.add(block(3), 640);
    assert.deepEqual([...end.take(at + 20, 320)], [...block(1)]);
    assert.deepEqual([...end.take(at + 60, 320)], [...block(3)]);
    run.started(at + 100);
    run.add(block(4), 960);
    assert.deepEqual([...end.take(at + 60, 320)], [...block(0)]);
    assert.deepEqual([...end.take(at + 120, 320)], [...block(1)]);
    assert.deepEqual([...end.take(at + 180, 320)], [...block(4)]);
    assert.ok(end.echoes(at + 500) && !end.echoes(at + 5_000));
    assert.deepEqual([...end.take(at + 50_000, 320)], [...block(0)]);
    assert.deepEqual([...end.take(at - 50_000, 320)], [...block(0)]);
  });

  it('cost nothing without a reader', () => {
    const end = new FarEnd();
    const run = end.run(48_000);
    run.started(1_000);
    run.add(new Int16Array(960).fill(5), 0);
    assert.equal(end.echoes(1_000), false);
  });
});
