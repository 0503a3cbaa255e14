import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { audioDevice, monotonicMs } from '@device-core/plugin-api/services/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { FakeDevice, listening, start, until } from './fixture.ts';

after(leakCheck());

const values = (frames: readonly { readonly samples: Int16Array }[]) => frames.map(({ samples }) => samples[0]);

describe('capture', () => {
  it('gives every reader every frame, from the moment it came, and listens only for a reader', async () => {
    await using core = await start();
    assert.equal(core.device.captures, 0);
    const one = listening(core.audio, 'app:one');
    await until('capture', () => core.device.capturing);
    core.device.say(1);
    await until('a frame', () => one.frames.length === 1);
    const two = listening(core.audio, 'app:two');
    await until('both', async () => (await core.audio.state()).capturing.length === 2);
    core.device.say(2);
    await until('the second', () => one.frames.length === 2 && two.frames.length === 1);
    await one[Symbol.asyncDispose]();
    core.device.say(3);
    await until('the third', () => two.frames.length === 2);
    assert.deepEqual(values(one.frames), [1, 2]);
    assert.deepEqual(values(two.frames), [2, 3]);
    assert.equal(core.device.captures, 1);
    await two[Symbol.asyncDispose]();
    await until('the end', () => !core.device.capturing);
    assert.deepEqual((await core.audio.state()).capturing, []);
  });

  it('tells who hears, at once and on each change, to everybody and on the bus', async () => {
    await using core = await start();
    const told: string[] = [];
    using _state = core.audio.onState(({ capturing, muted }) => void told.push(`${capturing.join()} ${muted}`));
    await using one = listening(core.audio, 'app:one');
    await until('a reader', async () => (await core.audio.state()).capturing.length === 1);
    const again = listening(core.audio, 'app:one');
    await pace(20);
    await again[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
    await until('nobody', async () => (await core.audio.state()).capturing.length === 0);
    await core.audio.setMuted(true);
    await core.host.settle();
    assert.deepEqual(
      core.host.published.filter(({ topic }) => topic === 'audio.capture').map(({ payload }) => payload),
      [
        { capturing: [], muted: false },
        { capturing: ['app:one'], muted: false },
        { capturing: [], muted: false },
        { capturing: [], muted: true },
      ],
    );
    assert.deepEqual(told, [' false', 'app:one false', ' false', ' true']);
  });

  it('drops the oldest for a reader who is slow, leaves the gap in seq, and keeps no other reader waiting', async () => {
    await using core = await start({ config: { queueMs: 100 } });
    await using quick = listening(core.audio, 'app:quick');
    const stop = new AbortController();
    const slow = core.audio.capture({ owner: 'app:slow', signal: stop.signal })[Symbol.asyncIterator]();
    const first = slow.next();
    await until('both', async () => core.device.capturing && (await core.audio.state()).capturing.length === 2);
    // Beyond what a border between plugins reads ahead.
    for (let value = 0; value < 60; value++) {
      core.device.say(value);
      if (value % 5 === 4) await until('quick', () => quick.frames.length === value + 1);
    }
    assert.deepEqual(
      values(quick.frames),
      Array.from({ length: 60 }, (_, index) => index),
    );
    const seen = [(await first).value!.seq];
    while (seen.at(-1)! < 59) seen.push((await slow.next()).value!.seq);
    assert.ok(seen.length < 60 && seen.length >= 5, `${seen.length} frames: ${seen}`);
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
    stop.abort();
    assert.equal((await slow.next()).done, true);
    assert.ok(core.host.logged.some(({ message }) => /app:slow hears too slowly/.test(message)));
  });

  it('mutes hard: no frame, not even one that waits, until it is let go', async () => {
    await using core = await start();
    await using one = listening(core.audio);
    await until('capture', () => core.device.capturing);
    core.device.say(1);
    await until('a frame', () => one.frames.length === 1);
    await core.audio.setMuted(true);
    assert.deepEqual(core.device.mutes, [true]);
    core.device.say(2);
    await pace(50);
    await core.audio.setMuted(false);
    assert.deepEqual(core.device.mutes, [true, false]);
    core.device.say(3, monotonicMs() - 1_000); // it was captured while nobody was to hear it
    core.device.say(4, monotonicMs() + 30);
    await until('a frame', () => one.frames.length === 2);
    assert.deepEqual(values(one.frames), [1, 4]);
  });

  it('stays muted over a restart, and mutes a device before it is heard', async () => {
    await using core = await start();
    await core.audio.setMuted(true);
    const other = new FakeDevice();
    await core.host.disappear(audioDevice);
    await core.host.appear(audioDevice, other);
    await using _one = listening(core.audio);
    await until('capture', () => other.capturing);
    assert.deepEqual(other.mutes, [true]);
  });

  it('waits for a microphone, and for one that fails, and says why meanwhile', async () => {
    await using core = await start({ device: false });
    await using one = listening(core.audio);
    assert.match((await core.audio.state()).problem ?? '', /no plugin/);
    const device = new FakeDevice();
    device.broken = 'it is unplugged';
    await core.host.appear(audioDevice, device);
    await until('an attempt', () => device.captures > 0);
    await until('the reason', async () => /unplugged/.test((await core.audio.state()).problem ?? ''));
    device.broken = undefined;
    await until('another attempt', () => device.capturing);
    device.say(1);
    device.say(2);
    await until('frames', () => one.frames.length === 2);
    device.lose();
    await until('a new start', () => device.captures > 2 && device.capturing);
    device.say(3);
    await until('a frame', () => one.frames.length === 3);
    assert.equal((await core.audio.state()).problem, undefined);
    const [first, second, third] = one.frames.map(({ seq }) => seq);
    assert.equal(second, first! + 1);
    assert.ok(third! > second! + 1, 'what was lost leaves a gap');
  });

  it('streams 20 ms pieces to apps', async () => {
    await using core = await start({ grants: { 'app.com.example.ear': ['audio.capture'] } });
    const sent: Uint8Array[] = [];
    const over = new AbortController();
    const incoming = (async function* (): AsyncGenerator<Uint8Array> {
      yield* [];
    })();
    const channel = {
      id: 's',
      signal: over.signal,
      incoming,
      send: async (chunk: Uint8Array) => void sent.push(chunk),
    };
    const caller = { kind: 'app', id: 'com.example.ear' } as const;
    const { done } = await core.table.openStream('audio.capture', {}, channel, { caller });
    await until('capture', () => core.device.capturing);
    assert.deepEqual(((await core.table.run('audio.state', {})) as { capturing: string[] }).capturing, [
      'app:com.example.ear',
    ]);
    core.device.say(258);
    await until('a piece', () => sent.length === 1);
    assert.equal(sent[0]!.length, 640);
    assert.deepEqual([...sent[0]!.subarray(0, 4)], [2, 1, 2, 1]);
    over.abort();
    await assert.rejects(done, { code: 'CANCELLED' });
  });
});
