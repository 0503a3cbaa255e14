/** Models that are missing, changed or bad, libraries that are missing or misbehave, and what is not right in the configuration. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { healthOf } from '../../fixtures/native.ts';
import { FAKE, fileOf, hashOf, inFolder, model, silero, skip, start } from './started.ts';

after(leakCheck());

const OFF = { vad: { enabled: false } };
const languages = ['en'];
const phrases = [{ phrase: 'hey computer', tokens: '▁HE Y ▁COM PU TER' }];

async function filesOf(folder: string, names: readonly string[], contents = 'good') {
  const files = names.map(async (name) => [name, await fileOf(folder, name, contents)] as const);
  return Object.fromEntries(await Promise.all(files));
}

describe('a model of sherpa', { skip: silero }, () => {
  it('is not opened when its hash is another, and both hashes are told', async () => {
    const sha256 = 'a'.repeat(64);
    await using target = await start({ vad: { model: { path: model, sha256 } } });
    const health = await target.outcome('vad');
    assert.deepEqual([health.status, health.code], ['error', 'MODEL_INVALID']);
    for (const part of [model, sha256, await hashOf(model)]) assert.ok(health.message?.includes(part), part);
    assert.deepEqual(target.registered(), []);
  });

  it('is waited for, and found when it comes', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'silero.onnx');
      await using target = await start({ vad: { model: { path, sha256: await hashOf(model) } }, lookMs: 100 });
      const health = await target.outcome('vad');
      assert.deepEqual([health.status, health.code], ['waiting', 'ENGINE_MISSING']);
      assert.ok(health.message?.includes(path));
      await copyFile(model, path);
      await target.outcome('vad', 'okay');
      assert.deepEqual(target.registered(), ['vad silero of plugin.sherpa']);
    }));

  it('that was refused is looked at again when its file has changed', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'silero.onnx');
      await writeFile(path, 'half of it');
      await using target = await start({ vad: { model: { path, sha256: await hashOf(model) } }, lookMs: 100 });
      assert.equal((await target.outcome('vad')).code, 'MODEL_INVALID');
      await copyFile(model, path);
      await target.outcome('vad', 'okay');
    }));

  it('that sherpa cannot use ends another process than this one, and the reason is told', () =>
    inFolder(async (folder) => {
      const cut = await fileOf(folder, 'cut.onnx', (await readFile(model)).subarray(0, 100_000));
      await using target = await start({ vad: { model: cut } });
      const health = await target.outcome('vad');
      assert.deepEqual([health.status, health.code], ['error', 'MODEL_INVALID']);
      assert.match(health.message ?? '', /cut\.onnx.*[Pp]rotobuf/);
      assert.deepEqual(target.registered(), []);
    }));

  it('of recognition, wake phrases and voices is tried in the same way', () =>
    inFolder(async (folder) => {
      const files = await filesOf(folder, ['encoder', 'decoder', 'joiner', 'tokens'], 'no model at all');
      const { encoder, tokens } = files;
      await using target = await start({
        ...OFF,
        stt: { kind: 'zipformer', files, languages },
        wake: { files, languages, phrases },
        tts: { kind: 'vits', files: { model: encoder, tokens }, languages },
      });
      for (const kind of ['stt', 'wake', 'tts'] as const) {
        const health = await target.outcome(kind);
        assert.deepEqual([health.status, health.code], ['error', 'MODEL_INVALID'], `${kind}: ${health.message}`);
      }
      assert.deepEqual(target.registered(), []);
    }));
});

describe('the library of sherpa', () => {
  it('is waited for with the reason while it is not installed, and found when it is', { skip: silero }, () =>
    inFolder(async (folder) => {
      const library = join(folder, 'node_modules', 'sherpa-onnx-node');
      await using target = await start({ library, lookMs: 100 });
      const health = await target.outcome('vad');
      assert.deepEqual([health.status, health.code], ['waiting', 'ENGINE_MISSING']);
      assert.ok(health.message?.includes(library));
      await mkdir(dirname(library));
      const { resolve } = createRequire(import.meta.url);
      await symlink(dirname(resolve('sherpa-onnx-node/package.json')), library);
      await target.outcome('vad', 'okay');
    }),
  );

  for (const [behaviour, status, message] of [
    ['good', 'okay', /^$/],
    ['chatter', 'okay', /^$/],
    ['complain', 'error', /Errors in config/],
    ['throw', 'error', /it is no model/],
    ['abort', 'error', /cannot use the model .*encoder/],
  ] as const)
    it(`is asked in a process of its own first: one that does "${behaviour}" is ${status}`, () =>
      inFolder(async (folder) => {
        const files = await filesOf(folder, ['encoder', 'decoder', 'joiner', 'tokens'], behaviour);
        await using target = await start({ ...OFF, library: FAKE, stt: { kind: 'zipformer', files, languages } });
        const health = await target.outcome('stt');
        assert.equal(health.status, status, health.message);
        assert.match(health.message ?? '', message);
        if (status === 'error') assert.equal(health.code, 'MODEL_INVALID');
      }));
});

describe('the configuration of sherpa', () => {
  const sha256 = 'a'.repeat(64);
  const file = { path: '/nowhere/model', sha256 };
  const folder = { path: import.meta.dirname, sha256 };
  const four = { encoder: file, decoder: file, joiner: file, tokens: file };
  const own = import.meta.filename;

  const REFUSED = [
    ['a path that is not absolute', { vad: { model: { path: 'model.onnx', sha256 } } }],
    ['a hash that is none', { vad: { model: { path: '/model.onnx', sha256: 'abc' } } }],
    ['a model without a hash', { vad: { model: { path: '/model.onnx' } } }],
    ['a threshold beyond 1', { vad: { threshold: 1.5 } }],
    ['a kind that nobody knows', { stt: { kind: 'telepathy', files: four, languages } }],
    ['recognition without files', { stt: { kind: 'whisper', languages } }],
    ['recognition with no file at all', { stt: { kind: 'whisper', files: {}, languages } }],
    ['recognition without a language', { stt: { kind: 'whisper', files: four, languages: [] } }],
    ['what is no language', { stt: { kind: 'whisper', files: four, languages: ['English'] } }],
    ['too many threads', { stt: { kind: 'whisper', files: four, languages, threads: 64 } }],
    ['wake phrases without any', { wake: { files: four, languages, phrases: [] } }],
    ['a phrase without its tokens', { wake: { files: four, languages, phrases: [{ phrase: 'hey computer' }] } }],
    ['a voice that is too fast', { tts: { kind: 'vits', files: four, languages, speed: 9 } }],
    ['a setting that nobody knows', { download: true }],
  ] as const;
  for (const [what, config] of REFUSED)
    it(`is refused with ${what}`, async () => {
      await assert.rejects(start(config), (error: { code?: string; message: string }) => {
        assert.match(error.message, /config|valid|must|accept/i);
        return true;
      });
    });

  const TOLD = [
    [
      'stt',
      'a file too few',
      { kind: 'whisper', files: { encoder: file, tokens: file } },
      'PARAMS_INVALID',
      /encoder, decoder, tokens/,
    ],
    [
      'stt',
      'a file too many',
      { kind: 'sense-voice', files: { model: file, tokens: file, joiner: file } },
      'PARAMS_INVALID',
      /sense-voice has the files model, tokens/,
    ],
    ['wake', 'a file too few', { files: { encoder: file }, phrases }, 'PARAMS_INVALID', /joiner, tokens/],
    [
      'tts',
      'a file too few',
      { kind: 'kokoro', files: { model: file, tokens: file } },
      'PARAMS_INVALID',
      /model, voices, tokens/,
    ],
    [
      'tts',
      'a folder that is not there',
      { kind: 'vits', dataDir: '/nowhere/data', files: { model: file, tokens: file } },
      'ENGINE_MISSING',
      /no folder \/nowhere\/data/,
    ],
    [
      'stt',
      'a file that is not there',
      { kind: 'zipformer', files: four },
      'ENGINE_MISSING',
      /no model \/nowhere\/model/,
    ],
    [
      'stt',
      'a folder for a file',
      { kind: 'zipformer', files: { ...four, encoder: folder } },
      'MODEL_INVALID',
      /no file/,
    ],
    [
      'wake',
      'another file than was named',
      { files: { ...four, encoder: { path: own, sha256 } }, phrases },
      'MODEL_INVALID',
      /models\.test\.ts.*aaaa was expected/,
    ],
  ] as const;
  for (const [kind, what, settings, code, message] of TOLD)
    it(`with ${what} for ${kind} is told in the health, and the plugin runs`, {
      skip: skip && code !== 'PARAMS_INVALID',
    }, async () => {
      await using target = await start({ ...OFF, library: FAKE, [kind]: { languages, ...settings } });
      const health = await target.outcome(kind);
      assert.equal(health.code, code, health.message);
      assert.equal(health.status, code === 'ENGINE_MISSING' ? 'waiting' : 'error');
      assert.match(health.message ?? '', message);
      assert.deepEqual(target.registered(), []);
    });

  it('with more names of voices than the model has speakers is told', () =>
    inFolder(async (place) => {
      const files = await filesOf(place, ['model', 'tokens']);
      const tts = { kind: 'vits', files, languages, voices: ['anna', 'ben', 'carl'] };
      await using target = await start({ ...OFF, library: FAKE, tts });
      const health = await target.outcome('tts');
      assert.equal(health.code, 'PARAMS_INVALID');
      assert.match(health.message ?? '', /2 speakers, and 3/);
    }));

  it('may have no engine at all', async () => {
    await using target = await start(OFF);
    assert.equal((await healthOf(target.host, 'sherpa'))?.status, 'okay');
  });
});
