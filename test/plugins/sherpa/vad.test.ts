import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkManifest, createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/sherpa/index.ts';
import { judge, share, vadContract } from '../../contracts/vad.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { healthOf } from '../../fixtures/native.ts';
import { inNoise, join, noise, recording, say, silence, WITHOUT_RECORDINGS } from '../../fixtures/speech.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

const MANIFEST = 'manifests/plugins/sherpa.yaml';
const { resolve } = createRequire(import.meta.url);
const has = (name: string) => {
  try {
    return existsSync(resolve(name));
  } catch {
    return false;
  }
};
const skip = has('sherpa-onnx-node') ? false : 'optional npm package sherpa-onnx-node is not installed';
const silero =
  skip || (has('@ricky0123/vad-web/package.json') ? false : 'optional npm package @ricky0123/vad-web is not installed');
const model = silero ? '' : joinPath(resolve('@ricky0123/vad-web/package.json'), '../dist/silero_vad_v6.onnx');
after(leakCheck());

const start = (config = {}) => startEngine(plugin, MANIFEST, 'vad', config);
const hashOf = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

async function withConfig(config: object) {
  const registry = new EngineRegistry();
  const host = await createTestHost(plugin, { manifest: MANIFEST, config, services: [registry.service] });
  return { host, registry, [Symbol.asyncDispose]: () => host.stop() };
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(joinPath(tmpdir(), 'models-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('voice activity of sherpa', { skip: silero }, () => {
  vadContract(() => start());

  it('agrees with its manifest, registers Silero with its model, and leaves with the plugin', async () => {
    assert.deepEqual(checkManifest(MANIFEST, plugin), []);
    const target = await start();
    assert.deepEqual([...target.registered], ['vad silero']);
    assert.equal(target.owner, 'plugin.sherpa');
    assert.deepEqual(target.description.models, [{ path: model, sha256: await hashOf(model) }]);
    assert.equal((await healthOf(target.host, 'sherpa.vad'))?.status, 'okay');
    await target.host.stop();
    assert.deepEqual([...target.registered], []);
    assert.deepEqual(target.host.leaks(), []);
  });

  it('takes no noise for speech, however loud', async (t) => {
    await using target = await start();
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      for (const level of [300, 3_000, 9_000]) {
        const wrong = (await judge(target.engine, noise(colour, 4_000, level))).filter(({ speech }) => speech).length;
        assert.equal(wrong, 0, `${colour} at ${level}: ${wrong} of 200 frames`);
      }
    const began = performance.now();
    await judge(target.engine, noise('pink', 10_000, 1_000));
    t.diagnostic(`${((performance.now() - began) / 100).toFixed(2)} % of a core`);
  });

  it('hears speech of several voices, in noise as well, and lets go soon after its end', async (t) => {
    await using target = await start();
    for (const voice of ['slt', 'rms', 'kal16'] as const) {
      const said = await say('turn on the kitchen light please', voice);
      const end = said.findLastIndex((sample) => Math.abs(sample) > 300) / 320;
      const padded = join(silence(1_000), said, silence(1_000));
      for (const [title, samples] of [
        ['in silence', padded],
        ['in white noise, 10 dB', inNoise(padded, 'white', 10)],
        ['in hum, 0 dB', inNoise(padded, 'hum', 0)],
      ] as const) {
        const results = await judge(target.engine, samples);
        assert.equal(share(results.slice(0, 45)), 0, `${voice} ${title}: before`);
        assert.ok(share(results.slice(50, 50 + Math.floor(end))) > 0.6, `${voice} ${title}`);
        const last = results.findLastIndex(({ speech }) => speech) - 50 - end;
        if (title === 'in silence') t.diagnostic(`${voice}: lets go ${(last * 20).toFixed(0)} ms after the end`);
        assert.ok(last < 15, `${voice} ${title}: ${last} frames after its end`);
      }
    }
  });

  it('hears people', { skip: WITHOUT_RECORDINGS ?? false }, async () => {
    await using target = await start();
    for (const name of ['goforward.raw', 'cards/005.wav', 'librivox/sense_and_sensibility_01_austen_64kb-0870.wav'])
      assert.ok(share(await judge(target.engine, await recording(name))) > 0.4, name);
  });

  it('goes on in speech that does not end', async () => {
    await using target = await start();
    const said = await say('and then they went on and on about the weather without a pause');
    const results = await judge(target.engine, join(...Array.from({ length: 12 }, () => said)));
    assert.ok(share(results.slice(-100)) > 0.6);
  });
});

describe('models of sherpa', { skip: silero }, () => {
  it('are not opened when their hash is another, and both hashes are told', async () => {
    const sha256 = 'a'.repeat(64);
    await using target = await withConfig({ vad: { model: { path: model, sha256 } } });
    const health = await healthOf(target.host, 'sherpa.vad');
    assert.deepEqual([health?.status, health?.code], ['error', 'MODEL_INVALID']);
    assert.ok(health?.message?.includes(model) && health.message.includes(sha256));
    assert.ok(health?.message?.includes(await hashOf(model)));
    assert.deepEqual(target.registry.rows, []);
  });

  it('are waited for, and found when they come', () =>
    inFolder(async (folder) => {
      const path = joinPath(folder, 'silero.onnx');
      await using target = await withConfig({ vad: { model: { path, sha256: await hashOf(model) } }, lookMs: 100 });
      const health = await healthOf(target.host, 'sherpa.vad');
      assert.deepEqual([health?.status, health?.code], ['waiting', 'ENGINE_MISSING']);
      assert.ok(health?.message?.includes(path));
      await copyFile(model, path);
      for (let waited = 0; target.registry.rows.length === 0 && waited < 10_000; waited += 50) await wait(50);
      assert.equal((await healthOf(target.host, 'sherpa.vad'))?.status, 'okay');
      assert.equal(target.registry.find('vad').description.id, 'silero');
    }));

  it('that sherpa cannot use end another process than this one, and the reason is told', () =>
    inFolder(async (folder) => {
      const path = joinPath(folder, 'cut.onnx');
      await writeFile(path, (await readFile(model)).subarray(0, 100_000));
      await using target = await withConfig({ vad: { model: { path, sha256: await hashOf(path) } } });
      const health = await healthOf(target.host, 'sherpa.vad');
      assert.deepEqual([health?.status, health?.code], ['error', 'MODEL_INVALID']);
      assert.match(health?.message ?? '', /cut\.onnx.*[Pp]rotobuf/);
      assert.deepEqual(target.registry.rows, []);
    }));

  it('of recognition, wake phrases and voices are checked and tried in the same way', () =>
    inFolder(async (folder) => {
      const file = async (name: string) => {
        const path = joinPath(folder, name);
        await writeFile(path, `no model at all: ${name}\n`);
        return { path, sha256: await hashOf(path) };
      };
      const [encoder, decoder, joiner, tokens] = await Promise.all(
        ['encoder', 'decoder', 'joiner', 'tokens'].map(file),
      );
      const files = { encoder, decoder, joiner, tokens };
      const languages = ['en'];
      const phrases = [{ phrase: 'hey computer', tokens: '▁HE Y ▁COM PU TER' }];
      await using target = await withConfig({
        vad: { enabled: false },
        stt: { kind: 'zipformer', files, languages },
        wake: { files, languages, phrases },
        tts: { kind: 'vits', files: { model: encoder, tokens }, languages },
      });
      for (const kind of ['stt', 'wake', 'tts']) {
        const health = await healthOf(target.host, `sherpa.${kind}`);
        assert.deepEqual([health?.status, health?.code], ['error', 'MODEL_INVALID'], `${kind}: ${health?.message}`);
      }
      assert.deepEqual(target.registry.rows, []);
    }));

  it('of a kind have the files of that kind', async () => {
    const file = { path: model, sha256: 'a'.repeat(64) };
    await using target = await withConfig({
      vad: { enabled: false },
      stt: { kind: 'whisper', files: { encoder: file, joiner: file }, languages: ['en'] },
    });
    const health = await healthOf(target.host, 'sherpa.stt');
    assert.equal(health?.code, 'PARAMS_INVALID');
    assert.match(health?.message ?? '', /encoder, decoder, tokens/);
  });

  it('are not looked for when no engine is configured', async () => {
    await using target = await withConfig({ vad: { enabled: false } });
    assert.equal((await healthOf(target.host, 'sherpa'))?.status, 'okay');
  });
});
