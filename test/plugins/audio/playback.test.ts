import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import { encodeWav, factorOf } from '@device-core/plugin-api/audio';
import { audioDevice, monotonicMs, type PcmChunk } from '@device-core/plugin-api/services/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { KeptSettings } from '../../../plugins/voice/audio/settings.ts';
import { pace } from '../../fixtures/eventually.ts';
import { part } from '../../fixtures/scope.ts';
import { FakeDevice, level, RATE, start, until } from './fixture.ts';

after(leakCheck());

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: CoreError) => error.code,
  );
const near = (values: readonly number[], wanted: number) =>
  values.filter((value) => Math.abs(value - wanted) <= Math.abs(wanted) * 0.03 + 2).length;

describe('playback', () => {
  it('plays a sound as it is, tells when it is heard, and resolves when it was', async () => {
    await using core = await start();
    const times: number[] = [];
    const began = monotonicMs();
    await core.audio.play(level(5_000, 200), { owner: 'plugin:test', started: (at) => void times.push(at) });
    const took = monotonicMs() - times[0]!;
    assert.equal(times.length, 1);
    assert.ok(times[0]! - began < 250, `it began after ${times[0]! - began} ms`);
    assert.ok(took > 190 && took < 600, `it took ${took} ms`);
    assert.equal(near(core.device.heard, 5_000), 3_200);
    assert.deepEqual((await core.audio.state()).playing, []);
  });

  it('brings every rate to that of the speaker', async () => {
    await using core = await start({ device: new FakeDevice(48_000) });
    const sound = (async function* (): AsyncGenerator<PcmChunk> {
      yield* level(3_000, 100, 22_050);
      yield* level(3_000, 100, 8_000);
    })();
    await core.audio.play(sound, { owner: 'plugin:test' });
    // A step at the beginning and the end of each rings a little.
    const loud = near(core.device.heard, 3_000);
    assert.ok(loud > 9_000 && core.device.heard.length <= 9_600 + 960, `${loud} of ${core.device.heard.length}`);
  });

  it('mixes, softens sound below speech by 18 dB without a click, and lets it come back', async () => {
    await using core = await start();
    const stop = new AbortController();
    const media = core.audio.play(level(10_000, 5_000), { owner: 'app:a', priority: 'media', signal: stop.signal });
    await until('media', () => near(core.device.heard, 10_000) > 1_000);
    await core.audio.play(level(2_000, 600), { owner: 'plugin:voice', priority: 'speech' });
    const ducked = 10_000 * factorOf(-18) + 2_000;
    assert.ok(near(core.device.heard, ducked) > 5_000, `${near(core.device.heard, ducked)} samples`);
    const spoken = core.device.heard.length;
    await until('media again', () => near(core.device.heard.slice(spoken), 10_000) > 500);
    stop.abort();
    assert.equal(await codeOf(media), 'CANCELLED');
    const steps = core.device.heard.slice(1).map((value, index) => Math.abs(value - core.device.heard[index]!));
    // The second sound itself begins and ends with a step of its own.
    assert.ok(steps.filter((step) => step > 300).length <= 4, `${steps.filter((step) => step > 300).length} steps`);
  });

  it('puts an alarm above speech', async () => {
    await using core = await start();
    const stop = new AbortController();
    const { signal } = stop;
    const spoken = codeOf(core.audio.play(level(8_000, 5_000), { owner: 'a', priority: 'speech', signal }));
    await until('speech', () => near(core.device.heard, 8_000) > 500);
    const alarm = codeOf(core.audio.play(level(1_000, 5_000), { owner: 'b', priority: 'alarm', signal }));
    await until('an alarm above', () => near(core.device.heard, 8_000 * factorOf(-18) + 1_000) > 500);
    stop.abort();
    assert.deepEqual(await Promise.all([spoken, alarm]), ['CANCELLED', 'CANCELLED']);
  });

  it('never goes beyond full scale, however much is played', async () => {
    await using core = await start();
    await Promise.all([1, 2, 3, 4].map((one) => core.audio.play(level(30_000, 100), { owner: `app:${one}` })));
    assert.ok(core.device.heard.every((value) => value >= -32_768 && value <= 32_767));
    assert.ok(core.device.heard.some((value) => value > 31_000));
  });

  it('plays at most so many, in all and of one owner', async () => {
    await using core = await start({ config: { sounds: 3, soundsPerOwner: 2 } });
    const stop = new AbortController();
    const play = (owner: string) => codeOf(core.audio.play(level(1, 5_000), { owner, signal: stop.signal }));
    const playing = [play('a'), play('a')];
    assert.equal(await play('a'), 'BUSY');
    playing.push(play('b'));
    assert.equal(await play('c'), 'BUSY');
    await until('three', async () => (await core.audio.state()).playing.length === 3);
    stop.abort();
    assert.deepEqual(await Promise.all(playing), ['CANCELLED', 'CANCELLED', 'CANCELLED']);
    assert.deepEqual((await core.audio.state()).playing, []);
  });

  it('stops a sound at once and softly, and plays the others on', async () => {
    await using core = await start();
    const stop = new AbortController();
    const long = core.audio.play(level(9_000, 20_000), { owner: 'a', signal: stop.signal });
    await until('sound', () => core.device.heard.length > 3_200);
    const other = core.audio.play(level(100, 400), { owner: 'b' });
    const asked = monotonicMs();
    stop.abort();
    assert.equal(await codeOf(long), 'CANCELLED');
    assert.ok(monotonicMs() - asked < 100);
    await other;
    const { heard } = core.device;
    const end = heard.findLastIndex((value) => value > 8_900);
    assert.ok(end < heard.length - 4_000, 'the other one went on');
    const falling = heard.slice(end, end + 240);
    assert.ok(falling.every((value, index) => index === 0 || Math.abs(value - falling[index - 1]!) < 1_000));
    assert.equal(await codeOf(core.audio.play(level(1, 50), { owner: 'a', signal: stop.signal })), 'CANCELLED');
  });

  it('ends a sound with the error of its source, or because it has nothing to give for too long', async () => {
    await using core = await start({ config: { stallMs: 200 } });
    const failing = (async function* (): AsyncGenerator<PcmChunk> {
      yield* level(1_000, 60);
      throw new TypeError('out of paper');
    })();
    await assert.rejects(core.audio.play(failing, { owner: 'a' }), /out of paper/);
    const silent = (async function* (): AsyncGenerator<PcmChunk> {
      yield* level(1_000, 60);
      await new Promise(() => undefined);
    })();
    assert.equal(await codeOf(core.audio.play(silent, { owner: 'a' })), 'TIMEOUT');
    await core.audio.play(level(0, 0), { owner: 'a' });
    await core.audio.play(level(1, 40), { owner: 'a' });
  });

  it('keeps the speaker through a gap in the middle of a sound', async () => {
    await using core = await start();
    const halting = (async function* (): AsyncGenerator<PcmChunk> {
      yield* level(1_000, 100);
      await pace(300);
      yield* level(1_000, 100);
    })();
    const times: number[] = [];
    await core.audio.play(halting, { owner: 'a', started: (at) => void times.push(at) });
    assert.equal(core.device.runs.length, 1);
    assert.equal(near(core.device.heard, 1_000), 3_200);
    assert.ok(core.device.heard.length > 3_200 + 2_000, 'the gap is silence');
    assert.equal(times.length, 1);
  });

  it('says why there is no sound, and plays again with another device', async () => {
    await using core = await start({ device: false });
    assert.equal(await codeOf(core.audio.play(level(1, 100), { owner: 'a' })), 'AUDIO_UNAVAILABLE');
    const device = new FakeDevice();
    device.broken = 'it is on fire';
    await core.host.appear(audioDevice, device);
    await assert.rejects(core.audio.play(level(1, 100), { owner: 'a' }), /cannot play: it is on fire/);
    device.broken = undefined;
    const playing = codeOf(core.audio.play(level(1, 20_000), { owner: 'a' }));
    await until('sound', () => device.heard.length > 1_000);
    await core.host.disappear(audioDevice);
    assert.equal(await playing, 'AUDIO_UNAVAILABLE');
    await core.host.appear(audioDevice, new FakeDevice(48_000));
    await core.audio.play(level(1, 60), { owner: 'a' });
  });

  it('leaves nothing behind when it stops in the middle of a sound', async () => {
    const core = await start();
    const playing = codeOf(core.audio.play(level(1, 20_000), { owner: 'a' }));
    await until('sound', () => core.device.heard.length > 1_000);
    await core.host.stop();
    assert.match(await playing, /CANCELLED|SERVICE_REVOKED|UNAVAILABLE/);
    assert.deepEqual(core.host.leaks(), []);
    assert.deepEqual(core.table.names, []);
  });
});

describe('volume', () => {
  it('changes softly, and is kept', async () => {
    await using core = await start();
    const stop = new AbortController();
    const playing = codeOf(core.audio.play(level(20_000, 20_000), { owner: 'a', signal: stop.signal }));
    await until('sound', () => core.device.heard.length > 3_000);
    await core.audio.setVolume(0.5);
    const soft = 20_000 * 0.25;
    await until('softer', () => near(core.device.heard, soft) > 1_000);
    stop.abort();
    await playing;
    const turned = core.device.heard.slice(
      0,
      core.device.heard.findLastIndex((value) => value > soft * 0.9),
    );
    assert.ok(turned.every((value, index) => index === 0 || Math.abs(value - turned[index - 1]!) < 200));
    const file = join(core.host.device.paths.var, 'audio', 'state.json');
    assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { format: 1, volume: 0.5, muted: false });
    const events = core.host.published.filter(({ topic }) => topic === 'audio.volume');
    assert.deepEqual(
      events.map(({ payload }) => payload),
      [{ volume: 0.5 }],
    );
    for (const wrong of [-0.1, 1.1, Number.NaN])
      assert.equal(await codeOf(core.audio.setVolume(wrong)), 'PARAMS_INVALID');
  });

  it('comes back after a restart, and is what it was before where the file is broken', async () => {
    await using core = await start();
    const file = join(core.host.device.paths.var, 'kept', 'state.json');
    const defaults = { volume: 0.8, muted: false };
    await using parts = part();
    const { scope, log } = parts;
    const first = await KeptSettings.open(file, defaults, scope, log);
    await Promise.all([0.1, 0.2, 0.3].map((volume) => first.set({ volume })));
    await first.set({ muted: true });
    assert.deepEqual((await KeptSettings.open(file, defaults, scope, log)).value, { volume: 0.3, muted: true });
    for (const broken of ['', '{', '[]', 'null', '{"volume":2,"muted":false}', '{"volume":"1","muted":false}']) {
      for (const [lastGood, value] of [
        ['{', defaults],
        ['{"volume":0.25,"muted":true}', { volume: 0.25, muted: true }],
      ] as const) {
        await writeFile(file, broken);
        await writeFile(`${file}.last-good`, lastGood);
        const kept = await KeptSettings.open(file, defaults, scope, log);
        assert.deepEqual(kept.value, value, broken);
        const warned: string[] = [];
        kept.tell({
          add: () => assert.fail(),
          bridge: () => assert.fail(),
          warn: (code, message) => warned.push(code, message),
        });
        assert.equal(warned[0], 'STATE_CORRUPT');
        assert.equal(await readFile(/set aside as (\S+),/.exec(warned[1]!)![1]!, 'utf8'), broken);
        await kept.set({ volume: 0.4 });
        assert.equal((await KeptSettings.open(file, defaults, scope, log)).value.volume, 0.4);
      }
    }
  });
});

describe('operations of sound', () => {
  const CALLER = { caller: { kind: 'app', id: 'com.example.a' } } as const;
  const GRANTS = { 'app.com.example.a': ['audio.playback'] };
  const wav = (ms: number, rate = RATE) =>
    Buffer.from(encodeWav({ rate, samples: new Int16Array((rate * ms) / 1_000).fill(700) })).toString('base64');

  it('play a file, tones and feedback for an app', async () => {
    await using core = await start({ grants: GRANTS });
    assert.deepEqual(await core.table.run('audio.play', { wav: wav(100), gain: 0.5 }, CALLER), { ms: 100 });
    assert.equal(near(core.device.heard, 350), 1_600);
    const tones = [
      { frequency: 440, ms: 60, wave: 'square' },
      { frequency: 0, ms: 20 },
    ] as const;
    assert.deepEqual(await core.table.run('audio.tones', { tones }, CALLER), { ms: 80 });
    assert.deepEqual(await core.table.run('audio.feedback', { sound: 'done' }, CALLER), { ms: 120 });
    const ms = (core.device.heard.length / RATE) * 1_000;
    assert.ok(ms >= 100 + 80 + 120, `${ms} ms were heard`);
  });

  it('change volume and mute, and tell the state to everybody', async () => {
    await using core = await start();
    assert.equal(await codeOf(core.table.run('audio.setVolume', { volume: 1.5 })), 'PARAMS_INVALID');
    assert.deepEqual(await core.table.run('audio.setVolume', { volume: 0.3 }), { volume: 0.3 });
    assert.deepEqual(await core.table.run('audio.volume', {}, CALLER), { volume: 0.3 });
    assert.deepEqual(await core.table.run('audio.mute', { muted: true }), { muted: true });
    const state = { volume: 0.3, muted: true, capturing: [], playing: [] };
    assert.deepEqual(await core.table.run('audio.state', {}, CALLER), state);
  });

  const REFUSED = [
    ['audio.play', { wav: 'AAAA' }, 'PARAMS_INVALID'],
    ['audio.play', { wav: wav(61_000, 8_000) }, 'PARAMS_INVALID'],
    ['audio.play', { wav: wav(20), priority: 'alarm' }, 'CAPABILITY_DENIED'],
    ['audio.play', { wav: wav(20), gain: 2 }, 'PARAMS_INVALID'],
    ['audio.tones', { tones: [] }, 'PARAMS_INVALID'],
    ['audio.tones', { tones: [{ frequency: 3, ms: 10 }] }, 'PARAMS_INVALID'],
    ['audio.tones', { tones: Array(7).fill({ frequency: 0, ms: 10_000 }) }, 'PARAMS_INVALID'],
    ['audio.feedback', { sound: 'toString' }, 'PARAMS_INVALID'],
    ['audio.setVolume', { volume: 0.5 }, 'CAPABILITY_DENIED'],
  ] as const;
  for (const [name, params, code] of REFUSED) {
    it(`refuse ${name} ${JSON.stringify(params).slice(0, 60)} with ${code}`, async () => {
      await using core = await start({ grants: GRANTS });
      assert.equal(await codeOf(core.table.run(name, params, CALLER)), code);
    });
  }

  it('end a sound when its caller goes away', async () => {
    await using core = await start({ grants: GRANTS });
    const gone = new AbortController();
    const playing = codeOf(core.table.run('audio.play', { wav: wav(5_000) }, { ...CALLER, signal: gone.signal }));
    await until('sound', () => core.device.heard.length > 500);
    gone.abort();
    assert.equal(await playing, 'CANCELLED');
  });

  it('play what an app streams, in chunks that end anywhere, to the end', async () => {
    await using core = await start({ grants: GRANTS });
    const bytes = Buffer.alloc(3_200 * 2);
    for (let index = 0; index < 3_200; index++) bytes.writeInt16LE(1_234, index * 2);
    const chunks = [bytes.subarray(0, 1_001), bytes.subarray(1_001, 1_002), bytes.subarray(1_002)];
    await core.table.stream('audio.playback', { rate: RATE }, chunks, CALLER);
    assert.equal(near(core.device.heard, 1_234), 3_200);
  });
});
