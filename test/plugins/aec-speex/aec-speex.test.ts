import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, describe, it } from 'node:test';
import { type EchoFrame, echoCanceller, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/aec-speex/index.ts';
import { without } from '../../fixtures/debian.ts';
import { echoFrames, echoOf, loudnessOf, mixed } from '../../fixtures/echo-room.ts';
import { pace } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import { collect, join, say, silence } from '../../fixtures/speech.ts';

const MANIFEST = joinPath(import.meta.dirname, '../../../manifests/plugins/voice/aec-speex.yaml');
const NAME = 'libspeexdsp.so.1';
const skip = without('libspeexdsp1');
const NEVER = new AbortController().signal;
const SECOND = 16_000;
after(leakCheck());

async function start(config: object = {}) {
  const host = await createTestHost(plugin, { manifest: MANIFEST, config });
  const clean = (frames: AsyncIterable<EchoFrame>, signal = NEVER) =>
    host.service(echoCanceller).clean(frames, { signal });
  /** What is left of `near`. */
  const cleaned = async (near: Int16Array, far: Int16Array) =>
    join(...(await collect(clean(echoFrames(near, far)))).map(({ samples }) => samples));
  return { host, clean, cleaned, [Symbol.asyncDispose]: () => host.stop() };
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(joinPath(tmpdir(), 'speex-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Five seconds of speech of a device. */
async function story(): Promise<Int16Array> {
  const sentence = await say('The weather is fine today, and it will stay so until the end of the week.');
  return join(sentence, silence(300), await say('The first appointment is at nine.'));
}

/** How much softer the echo is, in decibels. */
function erle(near: Int16Array, clean: Int16Array, from: number, to: number): number {
  return loudnessOf(near.subarray(from, to)) - loudnessOf(clean.subarray(from, to));
}

describe('echo cancellation by libspeexdsp', { skip }, () => {
  it('agrees with its manifest, is well, and leaves nothing behind', async () => {
    const target = await start();
    assert.equal((await healthOf(target.host, 'aec-speex'))?.status, 'okay');
    await target.host.stop();
    assert.deepEqual(target.host.leaks(), []);
  });

  for (const [room, options] of [
    ['a small room', {}],
    ['a room with a long way and a long tail', { delayMs: 80, reverbMs: 110, seed: 11 }],
    ['a case whose speaker is beside the microphone', { delayMs: 5, lossDb: 0, reverbMs: 30, seed: 5 }],
  ] as const)
    it(`takes 15 dB and more of the echo out of ${room}`, async (t) => {
      await using target = await start();
      const said = await story();
      const far = join(said, said).map((sample) => sample / 2);
      const near = mixed(echoOf(far, options), new Int16Array());
      const began = performance.now();
      const clean = await target.cleaned(near, far);
      const spent = performance.now() - began;
      assert.equal(clean.length, near.length - (near.length % FRAME_SAMPLES));
      const first = erle(near, clean, SECOND, 3 * SECOND);
      const later = erle(near, clean, said.length, clean.length);
      t.diagnostic(`${first.toFixed(1)} dB in the first seconds, then ${later.toFixed(1)} dB`);
      t.diagnostic(`${((spent / (near.length / 16)) * 100).toFixed(2)} % of a core`);
      assert.ok(later >= 15, `${later.toFixed(1)} dB`);
    });

  it('leaves who speaks at the same time to be understood, and goes on to cancel', async (t) => {
    await using target = await start();
    const said = await story();
    const far = join(said, said, said).map((sample) => sample / 2);
    const echo = echoOf(far);
    const voice = (await say('be quiet please, and tell me what time it is', 'rms')).map((sample) => sample * 0.6);
    const from = said.length + SECOND;
    const to = from + voice.length - (voice.length % FRAME_SAMPLES);
    const near = mixed(echo, voice, from);
    const clean = await target.cleaned(near, far);
    // The same voice alone, by the same way: the library takes out what is below the voice, too.
    const alone = await target.cleaned(mixed(new Int16Array(far.length), voice, from), new Int16Array(far.length));
    const rest = clean.map((sample, index) => sample - alone[index]!);
    const part = (samples: Int16Array) => loudnessOf(samples.subarray(from, to));
    const before = part(alone) - part(echo);
    const behind = part(alone) - part(rest);
    t.diagnostic(`voice over echo: ${before.toFixed(1)} dB before, ${behind.toFixed(1)} dB after`);
    assert.ok(Math.abs(part(clean) - part(alone)) < 3, 'the voice is as loud as it was');
    assert.ok(behind >= before + 8, `${behind.toFixed(1)} dB`);
    const again = erle(near, clean, 2 * said.length + SECOND, clean.length);
    assert.ok(again >= 15, `${again.toFixed(1)} dB after it`);
  });

  it('passes on a voice as it is while nothing is played', async () => {
    await using target = await start();
    const voice = await say('turn on the light in the kitchen', 'rms');
    const clean = await target.cleaned(voice, new Int16Array(voice.length));
    assert.ok(Math.abs(loudnessOf(clean) - loudnessOf(voice)) < 1.5);
  });

  for (const [what, before, behind] of [
    ['longer', 30, 70],
    ['shorter', 70, 25],
  ] as const)
    it(`learns the room again when the way becomes ${what}`, async (t) => {
      await using target = await start();
      const said = await story();
      const far = join(said, said, said).map((sample) => sample / 2);
      const [one, other] = [echoOf(far, { delayMs: before }), echoOf(far, { delayMs: behind })];
      const change = said.length;
      const near = mixed(
        one.map((sample, index) => (index < change ? sample : other[index]!)),
        new Int16Array(),
      );
      const clean = await target.cleaned(near, far);
      const later = erle(near, clean, 2 * said.length, clean.length);
      t.diagnostic(`${later.toFixed(1)} dB`);
      assert.ok(later >= 15, `${later.toFixed(1)} dB`);
    });

  it('serves several streams, each by itself, and no more than it may', async () => {
    await using target = await start();
    const said = await say('good morning');
    const near = mixed(echoOf(said), new Int16Array());
    const [one, quiet, other] = await Promise.all([
      target.cleaned(near, said),
      target.cleaned(silence(600), silence(600)),
      target.cleaned(near, said),
    ]);
    assert.deepEqual(one, other);
    assert.ok(loudnessOf(quiet) < 0);
    const open = Array.from({ length: 4 }, () => endless(target));
    for (const stream of open) assert.equal((await stream.next()).value?.seq, 0);
    await assert.rejects(endless(target).next(), { code: 'BUSY' });
    for (const stream of open) await stream.return?.();
    assert.equal((await endless(target, AbortSignal.timeout(100)).next()).value?.seq, 0);
  });

  it('ends with its signal, and with the plugin', async () => {
    const target = await start();
    const stop = new AbortController();
    const stream = endless(target, stop.signal);
    await stream.next();
    stop.abort();
    let most = 0;
    while (!(await stream.next()).done) assert.ok(++most < 100, 'it goes on');
    const other = endless(target);
    await other.next();
    await target.host.stop();
    assert.deepEqual(target.host.leaks(), []);
    const rest = async () => {
      for (let count = 0; count < 100; count++) if ((await other.next()).done) return 'the end';
      return 'it goes on';
    };
    assert.equal(await rest().catch(() => 'the end'), 'the end');
  });

  for (const [what, frame] of [
    ['a short frame', { seq: 0, near: new Int16Array(319), far: new Int16Array(320) }],
    ['a long far end', { seq: 0, near: new Int16Array(320), far: new Int16Array(640) }],
    ['no samples', { seq: 0, near: new Int16Array(320), far: undefined }],
    ['bytes', { seq: 0, near: new Uint8Array(320), far: new Int16Array(320) }],
  ] as const)
    it(`does not take ${what}`, async () => {
      await using target = await start();
      const frames = (async function* () {
        yield frame as EchoFrame;
      })();
      await assert.rejects(collect(target.clean(frames)), { code: 'PARAMS_INVALID' });
    });

  it('waits for the library, tells which package has it, and finds it when it comes', () =>
    inFolder(async (folder) => {
      const library = joinPath(folder, NAME);
      await using target = await start({ library, lookMs: 100 });
      const health = await healthOf(target.host, 'aec-speex');
      assert.deepEqual([health?.status, health?.code], ['waiting', 'AUDIO_UNAVAILABLE']);
      assert.match(health?.message ?? '', /libspeexdsp1/);
      await assert.rejects(collect(target.clean(echoFrames(silence(40), silence(40)))), { code: 'AUDIO_UNAVAILABLE' });
      await symlink(placeOf(NAME), library);
      for (let waited = 0; waited < 10_000; waited += 50) {
        if ((await healthOf(target.host, 'aec-speex'))?.status === 'okay') break;
        await pace(50);
      }
      assert.equal((await target.cleaned(silence(40), silence(40))).length, 640);
    }));
});

describe('a file that is no such library', () => {
  it('is named, and ends nothing', () =>
    inFolder(async (folder) => {
      const library = joinPath(folder, NAME);
      await writeFile(library, 'no library at all');
      await using target = await start({ library });
      const health = await healthOf(target.host, 'aec-speex');
      assert.equal(health?.status, 'waiting');
      assert.ok(health?.message?.includes(library));
    }));

  it('nor is a library of another kind', async () => {
    await using target = await start({ library: 'libc.so.6' });
    assert.match((await healthOf(target.host, 'aec-speex'))?.message ?? '', /speex_echo_state_init/);
  });
});

function endless(
  target: { clean(frames: AsyncIterable<EchoFrame>, signal?: AbortSignal): AsyncIterable<{ readonly seq: number }> },
  signal?: AbortSignal,
) {
  const frames = async function* (): AsyncGenerator<EchoFrame> {
    for (let seq = 0; ; seq++) {
      yield { seq, near: new Int16Array(FRAME_SAMPLES), far: new Int16Array(FRAME_SAMPLES) };
      await pace(5);
    }
  };
  return target.clean(frames(), signal)[Symbol.asyncIterator]();
}

/** Where the system has it. */
function placeOf(library: string): string {
  for (const folder of ['/usr/lib', '/lib'])
    for (const entry of ['', ...readdirSync(folder).filter((name) => name.endsWith('-linux-gnu'))]) {
      const place = joinPath(folder, entry);
      if (readdirSync(place).includes(library)) return joinPath(place, library);
    }
  throw new Error(`nobody knows where ${library} is`);
}
