import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { encodeWav } from '@device-core/plugin-api/audio';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin, tagsOf } from '../../../plugins/voice/tts-espeak/index.ts';
import { WavStream } from '../../../plugins/voice/tts-espeak/wav-stream.ts';
import { spoken, ttsContract } from '../../contracts/tts.ts';
import { without } from '../../fixtures/debian.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { eventually, pace, turns } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/tts-espeak.yaml');
const skip = without('espeak-ng');

async function start(config: object = {}) {
  const registry = new EngineRegistry();
  const host = await createTestHost(plugin, { manifest, services: [registry.service], config });
  return {
    host,
    registry,
    async health(): Promise<ComponentHealth> {
      const all: Record<string, ComponentHealth> = {};
      const report = {
        add: (name: string, health: ComponentHealth) => void Object.assign(all, { [name]: health }),
        bridge: () => undefined,
        warn: () => undefined,
      };
      await host.hook('health.collect').promise(report);
      return all['tts-espeak']!;
    },
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

const until = (what: string, done: () => boolean) => eventually(done, what);

/** A program that does what the script says. */
async function program(script: string) {
  const folder = await mkdtemp(join(tmpdir(), 'espeak-'));
  const command = join(folder, 'espeak-ng');
  const write = async (text: string) => {
    await writeFile(command, `#!/bin/sh\n${text}\n`);
    await chmod(command, 0o755);
  };
  await write(script);
  return { command, write, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const TABLE = 'echo "Pty Language Age/Gender VoiceName"; echo " 5  en-us  M  English"';

describe('tts-espeak', () => {
  describe('is an engine that', { skip }, () =>
    ttsContract(async () => {
      const { host, registry } = await start();
      const { engine } = registry.find('tts');
      const voices = ['en-us', 'de', 'es+f3'];
      return { engine, voices, foreign: 'qx', [Symbol.asyncDispose]: () => host.stop() };
    }),
  );

  it('speaks the language that is asked for, or its nearest relative', { skip }, async () => {
    await using espeak = await start();
    const { engine, description } = espeak.registry.find('tts');
    assert.ok(['de', 'en', 'fr', 'es'].every((tag) => description.languages.includes(tag)));
    for (const language of ['de', 'de-AT', 'en-GB', 'pt'])
      assert.ok((await spoken(engine, 'eins', { language })).length);
  });

  it('waits for a program that is absent, says so, and finds it when it comes', { skip }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'espeak-'));
    const command = join(folder, 'espeak-ng');
    await using espeak = await start({ command, lookMs: 100 });
    assert.deepEqual(espeak.registry.rows, []);
    const { status, message } = await espeak.health();
    assert.equal(status, 'waiting');
    assert.match(message ?? '', /install the Debian package espeak-ng/);
    await symlink(execFileSync('which', ['espeak-ng'], { encoding: 'utf8' }).trim(), command);
    await until('the engine', () => espeak.registry.rows.length === 1);
    assert.equal((await espeak.health()).status, 'okay');
    const { engine } = espeak.registry.find('tts');
    assert.ok((await spoken(engine, 'There I am.')).length > 0);
    await rm(folder, { recursive: true });
    await assert.rejects(spoken(engine, 'Gone.'), { code: 'SPEECH_FAILED' });
    await until('its end', () => espeak.registry.rows.length === 0);
    assert.equal((await espeak.health()).status, 'waiting');
  });

  it('tells what a program says that fails', async () => {
    await using broken = await program(`case "$*" in --voices) ${TABLE};; *) echo "no voice data" >&2; exit 3;; esac`);
    await using espeak = await start({ command: broken.command });
    const { engine } = espeak.registry.find('tts');
    await assert.rejects(spoken(engine, 'Hello.'), { code: 'SPEECH_FAILED', message: /no voice data/ });
    await broken.write('case "$*" in *) head -c 9000 /dev/zero;; esac');
    await assert.rejects(spoken(engine, 'Hello.'), { code: 'SPEECH_FAILED', message: /no WAV file/ });
  });

  it('gives up a program that hangs', async () => {
    await using broken = await program(`case "$*" in --voices) ${TABLE};; *) exec sleep 60;; esac`);
    await using espeak = await start({ command: broken.command });
    const { engine } = espeak.registry.find('tts');
    await assert.rejects(spoken(engine, 'Hello.'), { code: 'TIMEOUT' });
    const stop = new AbortController();
    const hanging = spoken(engine, 'Hello.', { signal: stop.signal });
    await pace(50);
    stop.abort();
    await assert.rejects(hanging, { code: 'CANCELLED' });
  });

  it('starts no more than a few programs at once, and ends them when it stops', async () => {
    await using broken = await program(`case "$*" in --voices) ${TABLE};; *) exec sleep 60;; esac`);
    const espeak = await start({ command: broken.command });
    const { engine } = espeak.registry.find('tts');
    const hanging = [1, 2, 3, 4].map(() => spoken(engine, 'Hello.').catch((error) => error.code));
    await turns();
    await assert.rejects(spoken(engine, 'Hello.'), { code: 'BUSY' });
    await espeak.host.stop();
    assert.equal((await Promise.all(hanging)).length, 4);
    assert.deepEqual(espeak.registry.rows, []);
    assert.deepEqual(espeak.host.leaks(), []);
  });

  it('reads the table of voices', () => {
    const table = 'Pty Language Age/Gender VoiceName\n 5  en-GB  --/M  English\n 5 de --/M German\n\n 5 -- x y\n';
    assert.deepEqual(tagsOf(table), ['de', 'en-gb']);
    assert.deepEqual(tagsOf(''), []);
  });

  it('reads a file that comes in pieces of any size', () => {
    const samples = Int16Array.from({ length: 50 }, (_, index) => index * 100);
    const bytes = encodeWav({ rate: 22_050, samples });
    for (const size of [1, 3, 43, 44, 45, 200]) {
      const wav = new WavStream();
      const seen: number[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        const chunk = wav.push(bytes.subarray(at, at + size));
        if (chunk) {
          assert.equal(chunk.rate, 22_050);
          seen.push(...chunk.samples);
        }
      }
      assert.deepEqual(seen, [...samples], `pieces of ${size}`);
    }
  });
});
