/** How often the simulated microphone wakes the device. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Clock } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { Microphone } from '../../../plugins/voice/audio-sim/microphone.ts';
import { Room } from '../../../plugins/voice/audio-sim/room.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

async function listening(periods: { readonly periodMs: number; readonly quietPeriodMs: number }) {
  const virtual = virtualClock();
  let wakeups = 0;
  const after = (ms: number, fn: () => void) =>
    virtual.after(ms, () => {
      wakeups++;
      fn();
    });
  const clock = new Proxy<Clock>(virtual, {
    get: (of, key) => (key === 'after' ? after : Reflect.get(of, key).bind(of)),
  });
  const { scope, ...rest } = part(clock);
  const room = new Room(60);
  const microphone = new Microphone(scope, room, periods);
  const stop = new AbortController();
  const frames: AudioFrame[] = [];
  const reading = (async () => {
    for await (const frame of microphone.capture(stop.signal)) frames.push(frame);
  })();
  await virtual.settle();
  return {
    clock: virtual,
    microphone,
    room,
    frames,
    /** Timers that ran in so many milliseconds. */
    wakeupsIn: async (ms: number) => {
      const before = wakeups;
      await virtual.advance(ms);
      return wakeups - before;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await virtual.settle();
      await reading;
      await rest[Symbol.asyncDispose]();
    },
  };
}

describe('the simulated microphone', () => {
  it('wakes the device for 80 ms at a time in quiet, and sooner while there is a sound and for 2 s after', async () => {
    await using ear = await listening({ periodMs: 40, quietPeriodMs: 80 });
    assert.ok((await ear.wakeupsIn(8_000)) <= 101, 'in quiet');
    const { from, to } = ear.room.inject(new Int16Array(16_000).fill(5_000), ear.clock.monotonic());
    const told = await ear.wakeupsIn(to - ear.clock.monotonic());
    assert.ok(told >= 23 && told <= 27, `${told} while there is a sound of a second`);
    assert.ok((await ear.wakeupsIn(2_000)) >= 48, 'its end is awaited');
    assert.ok((await ear.wakeupsIn(8_000)) <= 101, 'in quiet again');
    // What is heard is the same, frame by frame.
    assert.deepEqual(
      ear.frames.map(({ seq }) => seq),
      ear.frames.map((_, index) => index),
    );
    assert.ok(ear.frames.every(({ at }, index) => Math.abs(at - (index + 1) * 20) < 0.001));
    const loud = ear.frames.filter(({ samples }) => samples[319]! > 2_500).map(({ at }) => at);
    assert.ok(Math.abs(loud[0]! - from) <= 20 && Math.abs(loud.at(-1)! - to) <= 20, `${loud[0]} ${from}`);
  });

  it('gives nothing of a period that was recorded while it was muted', async () => {
    await using ear = await listening({ periodMs: 40, quietPeriodMs: 80 });
    await ear.wakeupsIn(800);
    ear.microphone.mute(true);
    await ear.wakeupsIn(450);
    ear.microphone.mute(false);
    const since = ear.clock.monotonic();
    await ear.wakeupsIn(800);
    assert.deepEqual(
      ear.frames.filter(({ at }) => at > since - 450 && at - 20 < since),
      [],
    );
    assert.ok(ear.frames.at(-1)!.at > since + 600);
  });

  it('never waits longer in a sound than in quiet, with any configuration', async () => {
    await using ear = await listening({ periodMs: 80, quietPeriodMs: 20 });
    assert.ok((await ear.wakeupsIn(8_000)) <= 101);
  });
});
