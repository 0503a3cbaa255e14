import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError, Secret } from '@device-core/plugin-api';
import { decodeWav } from '@device-core/plugin-api/audio';
import { type AudioFrame, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { type EngineDescription, type SttEngine, speech } from '@device-core/plugin-api/services/speech';
import { createTestHost, type GivenService, given, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/stt-cloud/index.ts';
import { command } from '../../../plugins/voice/stt-cloud/words.ts';
import { pace } from '../../fixtures/eventually.ts';
import { CUT, MALFORMED } from '../../fixtures/malformed-answers.ts';
import { type Fault, Stub } from './stub.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/stt-cloud.yaml');
const SECRET = 'sk-test-4711-do-not-tell';
const CALM = new AbortController().signal;

async function* frames(count: number): AsyncGenerator<AudioFrame> {
  for (let seq = 0; seq < count; seq++) yield { seq, at: seq * 20, samples: new Int16Array(FRAME_SAMPLES).fill(seq) };
}

async function start(stub: Stub, config: object = {}, more: readonly GivenService[] = []) {
  let registered: [EngineDescription, SttEngine] | undefined;
  const host = await createTestHost(plugin, {
    manifest,
    config: { endpoint: stub.base, keyFile: 'cloud.key', connectMs: 400, answerMs: 800, ...config },
    services: [
      given(speech, {
        register: (_, description, engine) => {
          registered = [description, engine as SttEngine];
          return { [Symbol.asyncDispose]: async () => undefined };
        },
      }),
      ...more,
    ],
  });
  const { paths } = await host.service(device).info();
  const key = join(paths.etc, 'secrets', 'cloud.key');
  await mkdir(join(paths.etc, 'secrets'), { recursive: true });
  await writeFile(key, `${SECRET}\n`, { mode: 0o600 });
  const [description, engine] = registered!;
  return { host, key, description, engine };
}

const hear = (engine: SttEngine, options: object = {}, count = 10) =>
  engine.transcribe(frames(count), { language: 'en-GB', signal: CALM, ...options });

describe('speech to text in the cloud', { timeout: 300_000 }, () => {
  it('tells a host of a trace only where the SKU trusts it with that', async () => {
    await using stub = await Stub.start();
    const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: false };
    for (const protocol of ['http', 'websocket'])
      for (const trusted of [undefined, false, true]) {
        const { host, engine } = await start(stub, { protocol, ...(trusted !== undefined && { trace: trusted }) });
        await using _host = host;
        await hear(engine, { trace });
        const { traceparent } = stub.seen.at(-1)!;
        assert.equal(traceparent, trusted ? `00-${trace.traceId}-${trace.spanId}-00` : undefined, protocol);
      }
  });

  it('sends a WAV file in a form, with its key, and takes the wake phrase out of the answer', async () => {
    await using stub = await Stub.start();
    const { host, engine, description } = await start(stub);
    await using _host = host;
    assert.deepEqual([description.stage, description.title], ['cloud', `Transcription at ${new URL(stub.base).host}`]);
    stub.text = 'Hey, Computer! What is next?';
    const began = performance.now();
    assert.deepEqual(await hear(engine, { prefix: ['hey computer'] }), { text: 'what is next', language: 'en-GB' });
    const took = performance.now() - began;
    assert.ok(took >= 299 && took < 800, `${took}`);
    const [seen] = stub.seen;
    assert.equal(seen!.url, '/v1/audio/transcriptions');
    assert.equal(seen!.authorization, `Bearer ${SECRET}`);
    assert.match(seen!.body, /name="model"\r\n\r\nwhisper-1\r\n/);
    assert.match(seen!.body, /name="language"\r\n\r\nen\r\n/);
    const wav = Buffer.from(seen!.body, 'latin1').subarray(seen!.body.indexOf('RIFF'));
    const { rate, samples } = decodeWav(wav);
    assert.deepEqual([rate, samples.length >= 3_200, samples[3_199]], [16_000, true, 9]);
  });

  it('streams to the realtime endpoint while one speaks, and tells partial words', async () => {
    await using stub = await Stub.start();
    const { host, engine } = await start(stub, { protocol: 'websocket' });
    await using _host = host;
    const partials: string[] = [];
    const partial = ({ text }: { readonly text: string }) => partials.push(text);
    assert.deepEqual(await hear(engine, { partial }), { text: 'what is next?', language: 'en-GB' });
    assert.deepEqual(partials, ['what is']);
    assert.deepEqual(
      [stub.seen[0]!.url, stub.seen[0]!.authorization],
      ['/v1/realtime?intent=transcription', `Bearer ${SECRET}`],
    );
    const sent = stub.told.filter(({ type }) => type === 'input_audio_buffer.append');
    const bytes = sent.reduce((sum, { audio }) => sum + Buffer.from(String(audio), 'base64').length, 0);
    assert.equal(bytes, 10 * 480 * 2, '24 kHz');
  });

  const faults: readonly (readonly [fault: Exclude<Fault, undefined>, http: RegExp, socket: RegExp])[] = [
    ['refuse', /it answered 401$/, /the connection (failed|was closed)/],
    ['hang', /did not answer within 1200 ms/, /did not answer within 800 ms/],
    ['bad-json', /its answer is not a transcription/, /its answer is no JSON/],
    ['no-text', /its answer is not a transcription/, /its answer is not a transcription/],
    ['huge', /its answer exceeds/, /it refused the sound/],
    ['redirect', /it answered 307/, /./],
    ['drop', /it cannot be reached/, /the connection (failed|was closed)/],
  ];
  for (const protocol of ['http', 'websocket'] as const)
    for (const [fault, http, socket] of faults) {
      if (protocol === 'websocket' && fault === 'redirect') continue;
      it(`tells a failure by its name and nothing of the key: ${fault}, ${protocol}`, async () => {
        await using stub = await Stub.start();
        const { host, engine } = await start(stub, { protocol });
        await using _host = host;
        stub.fault = fault;
        stub.latencyMs = 10;
        await assert.rejects(hear(engine), (error: Error & { code?: string }) => {
          assert.equal(error.code, 'SPEECH_FAILED');
          assert.match(error.message, protocol === 'http' ? http : socket);
          assert.ok(!JSON.stringify([error.message, host.logged]).includes(SECRET));
          return true;
        });
        stub.fault = undefined;
        assert.equal((await hear(engine)).text, 'what is next?', 'and the next one works');
      });
    }

  for (const protocol of ['http', 'websocket'] as const)
    it(`a malformed answer is an error of the engine, and never of the plugin: ${protocol}`, async () => {
      await using stub = await Stub.start();
      const { host, engine } = await start(stub, { protocol, connectMs: 150, answerMs: 150 });
      await using _host = host;
      stub.latencyMs = 0;
      const rows = protocol === 'http' ? [...MALFORMED, ...CUT] : MALFORMED;
      for (const { title, bytes } of rows) {
        stub.raw = bytes;
        await hear(engine).then(
          ({ text }) => assert.equal(text, '', title),
          (error: Error & { code?: string }) => assert.equal(error.code, 'SPEECH_FAILED', `${title}: ${error.message}`),
        );
      }
      stub.raw = undefined;
      assert.equal((await hear(engine)).text, 'what is next?', 'and the next one works');
    });

  const FRAMES: readonly (readonly [title: string, bytes: readonly number[]])[] = [
    ['a reserved operation', [0x83, 0]],
    ['reserved bits', [0xf1, 0]],
    ['a mask, which no server has', [0x81, 0x81, 0, 0, 0, 0, 0x7b]],
    ['text that is not UTF-8', [0x81, 2, 0xff, 0xfe]],
    ['a continuation of nothing', [0x80, 1, 0x7b]],
    ['a ping that is too long', [0x89, 126, 0, 200]],
    ['a close with half a code', [0x88, 1, 3]],
    ['a close with a code that is none', [0x88, 2, 0, 1]],
    ['a length beyond every number', [0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['bytes', [0x82, 2, 1, 2]],
    ['null', [0x81, 4, ...Buffer.from('null')]],
    [
      'a number for words',
      [
        0x81,
        126,
        0,
        78,
        ...Buffer.from(
          JSON.stringify({ type: `${'conversation.item.input_audio_transcription.completed'}`, transcript: 7 }).padEnd(
            78,
          ),
        ),
      ],
    ],
  ];
  it('malformed frames are an error of the engine, and never of the plugin', async () => {
    await using stub = await Stub.start();
    const { host, engine } = await start(stub, { protocol: 'websocket', connectMs: 400, answerMs: 150 });
    await using _host = host;
    stub.latencyMs = 0;
    for (const [title, bytes] of FRAMES) {
      stub.frames = Uint8Array.from(bytes);
      await assert.rejects(hear(engine), { code: 'SPEECH_FAILED' }, title);
    }
    stub.frames = undefined;
    stub.told.length = 0;
    assert.equal((await hear(engine)).text, 'what is next?', 'and the next one works');
  });

  for (const protocol of ['http', 'websocket'] as const)
    it(`ends at once when its caller leaves: ${protocol}`, async () => {
      await using stub = await Stub.start();
      const { host, engine } = await start(stub, { protocol });
      await using _host = host;
      stub.latencyMs = 5_000;
      const stop = new AbortController();
      void pace(100).then(() => stop.abort());
      await assert.rejects(hear(engine, { signal: stop.signal }), { code: 'CANCELLED' });
    });

  it('sends no key that others may read, and none that is no key, and says which file is missing', async () => {
    await using stub = await Stub.start();
    const { host, engine, key } = await start(stub);
    await using _host = host;
    await chmod(key, 0o644);
    await assert.rejects(hear(engine), { code: 'SPEECH_FAILED', message: /may be read by others/ });
    await chmod(key, 0o600);
    await writeFile(key, `${SECRET}\r\nx-evil: 1`);
    await assert.rejects(hear(engine), { code: 'SPEECH_FAILED', message: /holds no key/ });
    assert.deepEqual(stub.seen, []);
  });

  it('takes its key from the secrets, anew for each request, and names it alone where there is none', async () => {
    await using stub = await Stub.start();
    let text: string | undefined;
    const missing = new CoreError('SECRET_NOT_FOUND', {
      name: 'stt.key',
      suggestion: '; set it with "devicectl secret set stt.key"',
    });
    const vault = given(secrets, {
      get: async (name) => {
        assert.deepEqual(name, { secret: 'stt.key' });
        if (text === undefined) throw missing;
        return new Secret('stt.key', async () => text!);
      },
    });
    const { host, engine } = await start(stub, { key: { secret: 'stt.key' }, keyFile: undefined }, [vault]);
    await using _host = host;
    const said = async () => {
      const told: unknown[] = [];
      const report: HealthReport = {
        add: (name, health) => void (name === 'stt-cloud' && told.push([name, health.status, health.message])),
        bridge: () => undefined,
        warn: (code) => void told.push(code),
      };
      await host.hook('health.collect').promise(report);
      return told;
    };
    assert.deepEqual(await said(), [['stt-cloud', 'waiting', missing.message]]);
    await assert.rejects(hear(engine), { code: 'SPEECH_FAILED', message: /devicectl secret set stt\.key/ });
    for (text of [SECRET, `${SECRET}-rotated`]) await hear(engine);
    assert.deepEqual(
      stub.seen.map(({ authorization }) => authorization),
      [`Bearer ${SECRET}`, `Bearer ${SECRET}-rotated`],
    );
    assert.deepEqual(await said(), [['stt-cloud', 'okay', undefined]]);
    text = `${SECRET}\r\nx-evil: 1`;
    await assert.rejects(hear(engine), { code: 'SPEECH_FAILED', message: /secret stt\.key holds no key$/ });
    assert.ok(!JSON.stringify(host.logged).includes(SECRET));
  });

  it('tells that a key in a file is old, and takes it all the same', async () => {
    await using stub = await Stub.start();
    const { host, engine } = await start(stub);
    await using _host = host;
    await hear(engine);
    const warned: string[] = [];
    const report = { add: () => undefined, bridge: () => undefined, warn: (code: string) => void warned.push(code) };
    await host.hook('health.collect').promise(report);
    assert.deepEqual(warned, ['SETTING_OLD']);
    assert.ok(host.logged.some((line) => /keyFile is old/.test(JSON.stringify(line))));
  });

  it('sends nothing that is longer than it may be', async () => {
    await using stub = await Stub.start();
    const { host, engine } = await start(stub, { mostSeconds: 1 });
    await using _host = host;
    await assert.rejects(hear(engine, {}, 51), { code: 'SPEECH_FAILED', message: /longer than 1 s/ });
    assert.deepEqual(stub.seen, []);
  });

  it('takes the longest phrase that it was called by, and only from the beginning', () => {
    assert.equal(command('Hey computer, stop.', ['hey', 'hey computer']), 'stop');
    assert.equal(command('Stop, hey computer.', ['hey computer']), 'stop, hey computer.');
    assert.equal(command('Heyday', ['hey']), 'heyday');
  });
});
