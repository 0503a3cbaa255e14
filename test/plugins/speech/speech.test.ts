import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import {
  type EngineDescription,
  type SttEngine,
  speech,
  type TtsEngine,
  type VadEngine,
  type WakeEngine,
} from '@device-core/plugin-api/services/speech';
import {
  createTestHost,
  leakCheck,
  TestOperations,
  type VirtualClock,
  virtualClock,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/speech/index.ts';
import { grammarOf } from '../../fixtures/commands.ts';
import { pace, turns } from '../../fixtures/eventually.ts';
import { collect, framesOf, silence } from '../../fixtures/speech.ts';
import { TITLES } from '../../fixtures/titles.ts';

const MANIFEST = 'manifests/plugins/voice/speech.yaml';
after(leakCheck());

const NEVER = new AbortController().signal;
const HI = { language: 'en', signal: NEVER };

const named = (id: string, more: Partial<EngineDescription> = {}): EngineDescription => ({
  id,
  title: id,
  languages: ['en'],
  stage: 'local',
  ...more,
});

async function start(config: object = {}, clock?: VirtualClock) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    ...(clock ? { clock } : {}),
    manifest: MANIFEST,
    services: [[operations, table]],
    config: { leastPauseMs: 40, mostPauseMs: 100, resultMs: 150, ...config },
  });
  const service = host.service(speech);
  const register = service.register.bind(service);
  return { host, service, register, table, [Symbol.asyncDispose]: () => host.stop() };
}

/** Counts frames and answers with how many there were, or fails after `failAt` of them. */
function counting(failAt?: number): SttEngine & { readonly heard: number[][] } {
  const heard: number[][] = [];
  return {
    heard,
    async transcribe(frames) {
      const seqs: number[] = [];
      heard.push(seqs);
      for await (const { seq } of frames) {
        seqs.push(seq);
        if (seqs.length === failAt) throw new Error('out of tune');
      }
      if (failAt === 0) throw new Error('out of tune');
      return { text: `${seqs.length} frames`, language: 'en' };
    },
  };
}

async function code(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, String(error));
  return error.code;
}

describe('speech', () => {
  it('agrees with its manifest and leaves nothing behind', async () => {
    await using device = await start();
    device.register('stt', named('one'), counting(), 'plugin.test');
    await device.host.stop();
    assert.deepEqual(device.table.names, []);
    assert.deepEqual(device.host.leaks(), []);
  });

  it('asks in the configured order, the others by id, and never those that are disabled', async () => {
    await using device = await start({ order: { stt: ['zeta', 'absent'] }, disabled: ['off'] });
    for (const id of ['beta', 'off', 'zeta', 'alpha']) device.register('stt', named(id), counting(), 'plugin.test');
    const ranks = (await device.service.list('stt')).map(({ id, rank }) => [id, rank]);
    assert.deepEqual(ranks, [
      ['zeta', 0],
      ['alpha', 1],
      ['beta', 2],
      ['off', undefined],
    ]);
    const { engine, stage, text } = await device.service.transcribe(framesOf(silence(100)), HI);
    assert.deepEqual({ engine, stage, text }, { engine: 'zeta', stage: 'local', text: '5 frames' });
    const answer = (await device.table.run('speech.engines', { kind: 'stt' })) as { engines: { id: string }[] };
    assert.deepEqual(
      answer.engines.map(({ id }) => id),
      ['zeta', 'alpha', 'beta', 'off'],
    );
  });

  it('chooses by language, stage and name', async () => {
    await using device = await start();
    device.register('stt', named('cloud', { stage: 'cloud' }), counting(), 'plugin.test');
    device.register('stt', named('french', { languages: ['fr'] }), counting(), 'plugin.test');
    device.register('stt', named('local', { languages: ['en-US'] }), counting(), 'plugin.test');
    const ask = async (more: object) =>
      (await device.service.transcribe(framesOf(silence(20)), { ...HI, ...more })).engine;
    assert.equal(await ask({}), 'local');
    assert.equal(await ask({ language: 'en-GB' }), 'local');
    assert.equal(await ask({ language: 'fr' }), 'french');
    assert.equal(await ask({ stage: 'cloud' }), 'cloud');
    assert.equal(await ask({ engine: 'cloud' }), 'cloud');
    for (const wrong of [{ language: 'de' }, { engine: 'none' }, { engine: 'cloud', stage: 'local' }])
      assert.equal(await code(ask(wrong)), 'ENGINE_MISSING');
  });

  it('gives the next engine all that the one before it had heard, and puts that one aside for a while', async () => {
    const clock = virtualClock();
    await using device = await start({ order: { stt: ['first'] }, leastPauseMs: 500, mostPauseMs: 5_000 }, clock);
    const first = counting(3);
    const second = counting();
    device.register('stt', named('first'), first, 'plugin.test');
    device.register('stt', named('second'), second, 'plugin.test');
    let changes = 0;
    using _listening = device.service.onChange(() => void changes++);
    const ask = () => device.service.transcribe(framesOf(silence(200)), HI);
    assert.equal((await ask()).engine, 'second');
    assert.deepEqual(first.heard, [[0, 1, 2]]);
    assert.deepEqual(second.heard, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
    await ask();
    assert.equal(first.heard.length, 1, 'it was asked while it was put aside');
    const info = (await device.service.list('stt'))[0]!;
    assert.deepEqual([info.uses, info.failures], [1, 1]);
    assert.match(info.problem!, /out of tune/);
    await clock.advance(700);
    await ask();
    assert.equal(first.heard.length, 2, 'it was asked again');
    await clock.advance(550);
    await ask();
    assert.equal(first.heard.length, 2, 'the second pause is longer');
    await device.host.settle();
    assert.ok(changes >= 3);
  });

  it('says why there is none when all have failed, and takes one back that works', async () => {
    const clock = virtualClock();
    await using device = await start({ leastPauseMs: 500, mostPauseMs: 5_000 }, clock);
    let broken = true;
    const engine: SttEngine = {
      async transcribe() {
        if (broken) throw new CoreError('SPEECH_FAILED', { engine: 'only', reason: 'no model' });
        return { text: 'fine', language: 'en' };
      },
    };
    device.register('stt', named('only'), engine, 'plugin.test');
    const ask = () => device.service.transcribe(framesOf(silence(20)), HI);
    assert.equal(await code(ask()), 'SPEECH_FAILED');
    await assert.rejects(ask(), /put aside: .*no model/);
    broken = false;
    await clock.advance(600);
    assert.equal((await ask()).text, 'fine');
    assert.equal((await device.service.list())[0]!.problem, undefined);
  });

  it('does not put aside an engine that was asked for what it cannot know, or whose caller or microphone is at fault', async () => {
    await using device = await start();
    const engine: SttEngine = {
      async transcribe(frames, { signal, language }) {
        if (language === 'en-XX') throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: 'only', language });
        for await (const _ of frames) if (signal.aborted) break;
        return { text: '', language };
      },
    };
    device.register('stt', named('only'), engine, 'plugin.test');
    const ask = (frames: AsyncIterable<AudioFrame>, more: object = {}) =>
      device.service.transcribe(frames, { ...HI, ...more });
    assert.equal(await code(ask(framesOf(silence(20)), { language: 'en-XX' })), 'LANGUAGE_UNSUPPORTED');
    assert.equal(await code(ask(unplugged())), 'AUDIO_UNAVAILABLE');
    const stop = new AbortController();
    const running = code(ask(framesOf(silence(60_000), true), { signal: stop.signal }));
    await pace(40);
    stop.abort();
    assert.equal(await running, 'CANCELLED');
    assert.equal((await device.service.list())[0]!.failures, 0);
  });

  it('passes over an engine that gives no result in time', async () => {
    await using device = await start({ order: { stt: ['hung'] } });
    const hung: SttEngine = { transcribe: () => new Promise(() => undefined) };
    const deaf: SttEngine = {
      async transcribe(frames) {
        await collect(frames);
        return new Promise(() => undefined);
      },
    };
    device.register('stt', named('deaf'), deaf, 'plugin.test');
    device.register('stt', named('works'), counting(), 'plugin.test');
    assert.equal((await device.service.transcribe(framesOf(silence(100)), HI)).engine, 'works');
    assert.match((await device.service.list('stt'))[0]!.problem!, /gave nothing for 150 ms/);
    device.register('stt', named('hung'), hung, 'plugin.test');
    assert.equal((await device.service.transcribe(framesOf(silence(100)), HI)).engine, 'works');
  });

  for (const [answer, reason] of [
    [{ text: 'yes', confidence: 17 }, 'its confidence of 17 is not 0 to 1'],
    [{ text: 'yes', confidence: Number.NaN }, 'its confidence of NaN is not 0 to 1'],
    [{ text: undefined }, 'it gave no text of at most 4000 characters'],
    [{ text: 'na '.repeat(2_000) }, 'it gave no text of at most 4000 characters'],
  ] as const)
    it(`passes over an engine whose answer is none: ${reason}`, async () => {
      await using device = await start({ order: { stt: ['odd', 'even'] } });
      const odd = { transcribe: async () => ({ language: 'en', ...answer }) } as SttEngine;
      device.register('stt', named('odd'), odd, 'plugin.test');
      device.register('stt', named('even'), counting(), 'plugin.test');
      const { text, engine } = await device.service.transcribe(framesOf(silence(40)), HI);
      assert.deepEqual([text, engine], ['2 frames', 'even']);
      const [first] = await device.service.list('stt');
      assert.match(first?.problem ?? '', new RegExp(reason));
    });

  it('goes on with another VAD before the first result, and fails after it', async () => {
    await using device = await start({ order: { vad: ['mute'] } });
    const mute: VadEngine = {
      async *detect(frames) {
        for await (const { seq } of frames) if (seq > 4) throw new Error('lost');
        yield* [];
      },
    };
    const works = (upTo: number): VadEngine => ({
      async *detect(frames) {
        for await (const { seq } of frames) {
          if (seq === upTo) throw new Error('worn out');
          yield { seq, speech: true, probability: 1 };
        }
      },
    });
    device.register('vad', named('mute', { languages: [] }), mute, 'plugin.test');
    const working = device.register('vad', named('works', { languages: [] }), works(1_000), 'plugin.test');
    const detect = () => collect(device.service.detectSpeech(framesOf(silence(400)), { signal: NEVER }));
    assert.deepEqual(
      (await detect()).map(({ seq }) => seq),
      Array.from({ length: 20 }, (_, index) => index),
    );
    await working[Symbol.asyncDispose]();
    device.register('vad', named('tires', { languages: [] }), works(7), 'plugin.test');
    assert.equal(await code(detect()), 'SPEECH_FAILED');
  });

  it('passes over a VAD that takes frames and says nothing', async () => {
    await using device = await start({ order: { vad: ['silent'] } });
    const silent: VadEngine = {
      async *detect(frames) {
        for await (const _ of frames) await turns(1);
        yield* [];
      },
    };
    const works: VadEngine = {
      async *detect(frames) {
        for await (const { seq } of frames) yield { seq, speech: false, probability: 0 };
      },
    };
    device.register('vad', named('silent', { languages: [] }), silent, 'plugin.test');
    device.register('vad', named('works', { languages: [] }), works, 'plugin.test');
    const results = await collect(device.service.detectSpeech(framesOf(silence(6_000)), { signal: NEVER }));
    assert.ok(results.length >= 298 && results.at(-1)?.seq === 299, `${results.length} results`);
  });

  it('hears the wake phrase with the next engine when the first fails without a hit', async () => {
    await using device = await start({ order: { wake: ['fails'] } });
    const fails: WakeEngine = {
      async *detect(frames) {
        for await (const { seq } of frames) if (seq === 5) throw new Error('lost');
        yield* [];
      },
    };
    const works: WakeEngine = {
      async *detect(frames, { phrases }) {
        for await (const { seq, at } of frames) if (seq === 3) yield { phrase: phrases[0]!.phrase, score: 1, at };
      },
    };
    device.register('wake', named('fails'), fails, 'plugin.test');
    device.register('wake', named('works'), works, 'plugin.test');
    const phrases = [{ phrase: 'hey computer' }];
    const hits = await collect(device.service.detectWake(framesOf(silence(400)), { phrases, signal: NEVER }));
    assert.deepEqual(
      hits.map(({ phrase }) => phrase),
      ['hey computer'],
    );
  });

  it('does not blame a voice for a text of a script that it has no sound for', async () => {
    await using device = await start({ order: { tts: ['latin', 'any'] } });
    const chunk = { rate: 16_000, samples: new Int16Array(160) };
    const speak = (knows: RegExp) =>
      async function* (text: string) {
        if (knows.test(text)) yield chunk;
      };
    device.register('tts', named('latin'), { speak: speak(/[a-z]/i) } as never, 'plugin.test');
    for (const { title, latin } of TITLES)
      assert.equal((await collect(device.service.speak(title, { language: 'en' }))).length, latin ? 1 : 0, title);
    device.register('tts', named('any'), { speak: speak(/./) } as never, 'plugin.test');
    for (const { title } of TITLES)
      assert.equal((await collect(device.service.speak(title, { language: 'en' }))).length, 1, title);
    for (const { id, failures, problem } of await device.service.list('tts'))
      assert.deepEqual([failures, problem], [0, undefined], id);
  });

  it('speaks with the next voice when the first gives no sound', async () => {
    await using device = await start({ order: { tts: ['empty', 'hangs'] } });
    const chunk = { rate: 16_000, samples: new Int16Array(160) };
    const voices: Record<string, TtsEngine> = {
      async *empty() {
        yield* [];
      },
      async *hangs() {
        await new Promise(() => undefined);
        yield chunk;
      },
      async *works() {
        yield chunk;
        yield chunk;
      },
    } as never;
    for (const [id, speak] of Object.entries(voices))
      device.register('tts', named(id), { speak } as never, 'plugin.test');
    const chunks = await collect(device.service.speak('good morning', { language: 'en' }));
    assert.equal(chunks.length, 2);
    const problems = (await device.service.list('tts')).map(({ problem }) => problem !== undefined);
    assert.deepEqual(problems, [true, true, false]);
  });

  it('tells health which kinds have no engine and which engines fail', async () => {
    await using device = await start();
    const health = async () => {
      const told = new Map<string, { status: string; message?: string }>();
      await device.host.hook('health.collect').promise({
        add: (component, said) => void told.set(component, said),
        bridge: () => undefined,
        warn: () => undefined,
      });
      await device.host.settle();
      return told.get('speech')!;
    };
    assert.deepEqual([(await health()).status], ['waiting']);
    device.register('stt', named('only'), counting(0), 'plugin.test');
    assert.match((await health()).message!, /vad, wake, tts/);
    await code(device.service.transcribe(framesOf(silence(20)), HI));
    assert.equal((await health()).status, 'error');
    assert.match((await health()).message!, /out of tune/);
  });

  it('refuses an engine that it cannot take', async () => {
    await using device = await start();
    const register = async (kind: string, description: object) => {
      const registered = device.register(kind as 'stt', description as EngineDescription, counting(), 'plugin.test');
      await (registered as unknown as Promise<unknown>); // across a border it answers later
    };
    await register('stt', named('one'));
    const cases: readonly (readonly [string, object])[] = [
      ['stt', named('one')],
      ['nose', named('two')],
      ['stt', named('No')],
      ['stt', { ...named('two'), stage: 'moon' }],
      ['stt', { ...named('two'), title: '' }],
      ['stt', { ...named('two'), languages: 'en' }],
    ];
    for (const [kind, description] of cases) assert.equal(await code(register(kind, description)), 'PARAMS_INVALID');
  });

  it('gives an engine the sentences and phrases that it can pronounce, and health names the others', async () => {
    await using device = await start();
    const isLatin = (word: string) => /^[a-z ]+$/.test(word);
    const asked: unknown[] = [];
    const unspeakable = async (words: readonly string[]) => words.filter((word) => !isLatin(word));
    const stt: SttEngine = {
      unspeakable,
      async transcribe(_frames, { grammar, prefix }) {
        asked.push([grammar?.words, prefix]);
        return { text: '', language: 'en' };
      },
    };
    const wake: WakeEngine = {
      unspeakable,
      async *detect(frames, { phrases }) {
        asked.push(phrases.map(({ phrase }) => phrase));
        for await (const _ of frames);
      },
    };
    device.register('stt', named('one'), stt, 'plugin.test');
    device.register('wake', named('one'), wake, 'plugin.test');
    const grammar = grammarOf('test', 'public <command> = stop | open (tea | 日本語);');
    await device.service.transcribe(framesOf(silence(20)), { ...HI, grammar, prefix: ['hey device', 'やあ'] });
    const spot = async (...phrases: readonly string[]) =>
      await collect(
        device.service.detectWake(framesOf(silence(20)), {
          phrases: phrases.map((phrase) => ({ phrase })),
          signal: NEVER,
        }),
      );
    await spot('hey device', 'やあ');
    assert.deepEqual(asked.splice(0), [[['open', 'stop', 'tea'], ['hey device']], ['hey device']]);
    assert.deepEqual(await device.service.unspeakable(grammar.words, 'en'), ['日本語']);
    assert.deepEqual(await device.service.unspeakable(grammar.words, 'xx'), []);
    const warned = async () => {
      const warnings: string[] = [];
      await device.host.hook('health.collect').promise({
        add: () => undefined,
        bridge: () => undefined,
        warn: (code, message) => void warnings.push(`${code} ${message}`),
      });
      return warnings.filter((warning) => warning.startsWith('PHRASES_LEFT_OUT'));
    };
    assert.match((await warned())[0] ?? '', /"やあ".*wake engine one/);
    // The phrase is not asked for any more: the warning goes with it.
    await spot('hey device');
    assert.deepEqual(await warned(), []);
    // A phrase alone that cannot be heard is the engine's to refuse.
    await spot('やあ');
    assert.deepEqual(asked.at(-1), ['やあ']);
  });
});

async function* unplugged(): AsyncGenerator<AudioFrame> {
  yield* framesOf(silence(60));
  throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'it was unplugged' });
}
