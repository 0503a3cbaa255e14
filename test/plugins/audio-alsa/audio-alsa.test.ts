import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import { bytesOfSamples, samplesOfBytes } from '@device-core/plugin-api/audio';
import { audioDevice } from '@device-core/plugin-api/services/audio';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/audio-alsa/index.ts';
import { audioDeviceContract, framesOf, toneSource } from '../../contracts/audio-device.ts';
import { without } from '../../fixtures/debian.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/audio-alsa.yaml');
const skip = without('alsa-utils');
const { signal } = new AbortController();
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: CoreError) => error.code,
  );

/** A sound card of files: ALSA's `file` plugin over `null`, which both have no clock. */
async function start(options: { readonly config?: object; readonly scripts?: Readonly<Record<string, string>> } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'alsa-'));
  const input = join(folder, 'in.raw');
  const output = join(folder, 'out.raw');
  const alsaConfig = join(folder, 'asoundrc');
  await writeFile(input, bytesOfSamples(new Int16Array(16_000).fill(1_000)));
  await writeFile(
    alsaConfig,
    `pcm.speaker { type file slave.pcm "null" file "${output}" format "raw" }
pcm.microphone { type file slave.pcm "null" file "/dev/null" infile "${input}" format "raw" }
pcm.null { type null }
`,
  );
  const scripts = Object.fromEntries(Object.keys(options.scripts ?? {}).map((name) => [name, join(folder, name)]));
  const script = async (name: string, text: string) => {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(folder, name), 0o755);
  };
  for (const [name, text] of Object.entries(options.scripts ?? {})) await script(name, text);
  const config = { source: 'microphone', sink: 'speaker', alsaConfig, ...scripts, ...options.config };
  const host = await createTestHost(plugin, { manifest, config });
  return {
    host,
    script,
    device: host.service(audioDevice),
    written: async () => samplesOfBytes(await readFile(output)),
    async health(): Promise<ComponentHealth> {
      const all: Record<string, ComponentHealth> = {};
      const add = (name: string, health: ComponentHealth) => void Object.assign(all, { [name]: health });
      await host.hook('health.collect').promise({ add, bridge: () => undefined, warn: () => undefined });
      return all['audio-alsa']!;
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Half a second of sound that is paced like a card, and then its end. */
const VERSION = 'case "$*" in --version) exit 0;; esac';

describe('audio-alsa', () => {
  describe('is an audio device that', { skip }, () => audioDeviceContract(() => start()));

  it('captures what the card gives', { skip }, async () => {
    await using alsa = await start();
    const frames = await framesOf(alsa.device, 10);
    assert.ok(frames.every(({ samples }) => samples.every((value) => value === 1_000)));
    assert.equal((await alsa.health()).status, 'okay');
  });

  it('writes all of the played sound to the card', { skip }, async () => {
    await using alsa = await start({ config: { playRate: 16_000 } });
    const wanted: number[] = [];
    for await (const block of toneSource(16_000, 300)) wanted.push(...block);
    await alsa.device.play(toneSource(16_000, 300), { signal });
    const written = await alsa.written();
    // The card takes whole periods.
    assert.deepEqual([...written.subarray(0, wanted.length)], wanted);
    assert.ok(written.subarray(wanted.length).every((value) => value === 0));
  });

  it('says why a card does not work, and goes on', { skip }, async () => {
    await using alsa = await start({ config: { source: 'nowhere', sink: 'nowhere' } });
    await assert.rejects(framesOf(alsa.device, 1), { code: 'AUDIO_UNAVAILABLE', message: /No such file/ });
    await assert.rejects(alsa.device.play(toneSource(48_000, 4_000), { signal }), { code: 'AUDIO_UNAVAILABLE' });
    const { status, message } = await alsa.health();
    assert.equal(status, 'waiting');
    assert.match(message ?? '', /microphone: .*No such file/);
  });

  it('waits for programs that are absent, says so, and finds them when they come', async () => {
    const arecord = '/nowhere/arecord';
    await using alsa = await start({ config: { arecord, aplay: '/nowhere/aplay', lookMs: 100 } });
    assert.equal(await codeOf(framesOf(alsa.device, 1)), 'AUDIO_UNAVAILABLE');
    assert.equal(await codeOf(alsa.device.play(toneSource(48_000, 100), { signal })), 'AUDIO_UNAVAILABLE');
    const { status, message } = await alsa.health();
    assert.equal(status, 'waiting');
    assert.match(message ?? '', /install the Debian package alsa-utils/);
  });

  it('starts a recorder again that ends, and leaves a gap in seq', async () => {
    await using alsa = await start({ scripts: { arecord: `${VERSION}\nhead -c 6400 /dev/zero` } });
    const frames = await framesOf(alsa.device, 15);
    const seqs = frames.map(({ seq }) => seq);
    assert.deepEqual(
      seqs.slice(0, 10),
      seqs.slice(0, 10).map((_, index) => index),
    );
    assert.ok(seqs[10]! > 10, `${seqs}`);
  });

  it('gives up a recorder that gives nothing any more', async () => {
    const script = `${VERSION}\nif [ -e "$0.once" ]; then echo unplugged >&2; exit 1; fi\ntouch "$0.once"\nhead -c 6400 /dev/zero`;
    await using alsa = await start({ scripts: { arecord: script, aplay: VERSION } });
    await assert.rejects(framesOf(alsa.device, 100), { code: 'AUDIO_UNAVAILABLE', message: /unplugged/ });
    await alsa.script('arecord', 'exec cat /dev/zero');
    assert.equal((await framesOf(alsa.device, 3)).length, 3);
    await eventually(async () => (await alsa.health()).status === 'okay', 'a device that is well again');
  });

  it('ends a recorder that hangs', async () => {
    await using alsa = await start({ scripts: { arecord: `${VERSION}\nexec sleep 60` } });
    await assert.rejects(framesOf(alsa.device, 1), { code: 'AUDIO_UNAVAILABLE', message: /no sound came/ });
  });

  it('plays on through a player that ends in the middle', async () => {
    const script = `${VERSION}\nif [ -e "$0.once" ]; then exec cat > /dev/null; fi\ntouch "$0.once"\nhead -c 4000 > /dev/null; exit 1`;
    await using alsa = await start({ scripts: { aplay: script } });
    await alsa.device.play(toneSource(48_000, 800), { signal });
  });

  it('leaves nothing behind when it stops while it captures and plays', { skip }, async () => {
    const alsa = await start();
    const capturing = codeOf(framesOf(alsa.device, 10_000));
    const playing = codeOf(alsa.device.play(toneSource(48_000, 60_000), { signal }));
    await pace(200); // both programs run
    await alsa[Symbol.asyncDispose]();
    await Promise.all([capturing, playing]);
    assert.deepEqual(alsa.host.leaks(), []);
  });
});
