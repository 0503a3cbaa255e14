import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type {
  SpeechGrammar,
  SttEngine,
  TranscribeOptions,
  Transcript,
  WakeEngine,
} from '@device-core/plugin-api/services/speech';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/stt-pocketsphinx/index.ts';
import { sttContract } from '../../contracts/stt.ts';
import { wakeContract } from '../../contracts/wake.ts';
import { without } from '../../fixtures/debian.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { pace } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import {
  collect,
  framesOf,
  inNoise,
  join,
  noise,
  recording,
  say,
  silence,
  WITHOUT_RECORDINGS,
} from '../../fixtures/speech.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

const MANIFEST = 'manifests/plugins/voice/stt-pocketsphinx.yaml';
const MODEL = '/usr/share/pocketsphinx/model/en-us/en-us';
const NEVER = new AbortController().signal;
const skip = without('libpocketsphinx3', 'pocketsphinx-en-us');
const human = skip || WITHOUT_RECORDINGS;
after(leakCheck());

const start = <K extends 'stt' | 'wake'>(kind: K, config = {}) => startEngine(plugin, MANIFEST, kind, config);

const COMMANDS: SpeechGrammar = {
  id: 'commands',
  language: 'en',
  jsgf: [
    '#JSGF V1.0 UTF-8;',
    'grammar commands;',
    'public <command> = turn (on | off) the (kitchen | bedroom) light | set the volume to <level> percent',
    '  | what time is it | set a timer for <level> minutes | stop | play zyblorious music;',
    '<level> = ten | twenty | fifty;',
    '',
  ].join('\n'),
  words:
    'a bedroom fifty for is it kitchen light minutes music off on percent play set stop ten the time timer to turn twenty volume what zyblorious'.split(
      ' ',
    ),
};
const SAID = [
  'turn on the kitchen light',
  'turn off the bedroom light',
  'set the volume to fifty percent',
  'what time is it',
  'set a timer for twenty minutes',
  'play zyblorious music',
];
const NOT_SAID = [
  'where did I leave my umbrella',
  'the weather is lovely this afternoon',
  'please remember the milk',
  'my brother lives in another city',
];

function hear(engine: SttEngine, samples: Int16Array, options: Partial<TranscribeOptions> = {}): Promise<Transcript> {
  const asked = { language: 'en', grammar: COMMANDS, signal: NEVER, ...options };
  return engine.transcribe(framesOf(samples), asked);
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, `it should have failed with an error of the table, not ${error}`);
  return error.code;
}

const spot = (engine: WakeEngine, samples: Int16Array, ...phrases: string[]) =>
  collect(engine.detect(framesOf(samples), { phrases: phrases.map((phrase) => ({ phrase })), signal: NEVER }));

describe('stt-pocketsphinx as an engine for sentences', { skip }, () => {
  const open = async () => {
    const { engine, host } = await start('stt', { decoders: 4 });
    const leave = () => host.stop();
    return { engine, leave, [Symbol.asyncDispose]: leave };
  };
  sttContract(open, { needsGrammar: true, streaming: true, foreign: 'de' });
});

describe('stt-pocketsphinx as an engine for phrases', { skip }, () => {
  const open = async () => {
    const { engine, host } = await start('wake', { decoders: 4 });
    const leave = () => host.stop();
    return { engine, leave, [Symbol.asyncDispose]: leave };
  };
  wakeContract(open, {
    phrases: ['hey computer', 'good morning device'],
    impossible: ['', '  ', '42', 'x\ny <z>'],
    tellsEndWithinMs: 250,
  });
});

describe('stt-pocketsphinx', { skip }, () => {
  it('agrees with its manifest, registers both engines, and leaves with the plugin', async () => {
    const target = await start('stt');
    assert.deepEqual([...target.registered].sort(), ['stt pocketsphinx', 'wake pocketsphinx']);
    assert.equal(target.owner, 'plugin.stt-pocketsphinx');
    assert.equal(target.description.needsGrammar, true);
    assert.equal((await healthOf(target.host, 'stt-pocketsphinx'))?.status, 'okay');
    await target.host.stop();
    assert.deepEqual([...target.registered], []);
    assert.deepEqual(target.host.leaks(), []);
  });

  it('understands the sentences of a grammar, a word without pronunciation among them', async (t) => {
    await using target = await start('stt');
    const heard = new Map<string, string>();
    for (const voice of ['slt', 'rms'] as const)
      for (const sentence of SAID) {
        const samples = join(silence(200), await say(sentence, voice), silence(300));
        const { text, inGrammar, language } = await hear(target.engine, samples);
        if (text !== sentence) heard.set(`${voice}: ${sentence}`, text);
        assert.deepEqual([inGrammar, language], [text !== '', 'en']);
      }
    t.diagnostic(`${2 * SAID.length - heard.size} of ${2 * SAID.length} right: ${JSON.stringify([...heard])}`);
    assert.ok(heard.size <= 1, JSON.stringify([...heard]));
  });

  it('takes no other speech, no noise and no silence for a sentence', async () => {
    await using target = await start('stt');
    for (const voice of ['slt', 'rms'] as const)
      for (const sentence of NOT_SAID) {
        const { text, inGrammar } = await hear(target.engine, join(silence(200), await say(sentence, voice)));
        assert.deepEqual([text, inGrammar], ['', false], `${voice}: ${sentence}`);
      }
    for (const samples of [silence(1_000), noise('pink', 2_000, 2_000), noise('hum', 2_000, 3_000), new Int16Array()])
      assert.deepEqual(await hear(target.engine, samples), { text: '', language: 'en', inGrammar: false });
  });

  it('hears a command after a phrase in the same breath, and leaves the phrase out', async () => {
    await using target = await start('stt');
    const prefix = ['hey computer'];
    const said = join(silence(200), await say('hey computer, turn on the kitchen light'), silence(200));
    assert.equal((await hear(target.engine, said, { prefix })).text, 'turn on the kitchen light');
    const bare = join(silence(200), await say('turn on the kitchen light'), silence(200));
    assert.equal((await hear(target.engine, bare, { prefix })).text, 'turn on the kitchen light');
    assert.equal((await hear(target.engine, await say('hey computer'), { prefix })).text, '');
  });

  it('says what it understands meanwhile', async () => {
    await using target = await start('stt');
    const partials: string[] = [];
    const said = join(await say('set a timer for twenty minutes'), silence(300));
    await hear(target.engine, said, { partial: ({ text }) => void partials.push(text) });
    await target.host.settle();
    assert.ok(partials.length >= 2, JSON.stringify(partials));
    assert.equal(partials.at(-1), 'set a timer for twenty minutes');
    assert.equal(new Set(partials).size, partials.length);
  });

  it('serves two at a time, and the third after them', async () => {
    await using target = await start('stt');
    const said = join(silence(200), await say('turn off the bedroom light'), silence(200));
    const results = await Promise.all([1, 2, 3].map(() => hear(target.engine, said)));
    assert.deepEqual(new Set(results.map(({ text }) => text)), new Set(['turn off the bedroom light']));
  });

  it('refuses what it cannot hear, and ends when it is aborted', async () => {
    await using target = await start('stt', { decoders: 1 });
    const { engine } = target;
    assert.equal(await codeOf(hear(engine, silence(100), { language: 'fr' })), 'LANGUAGE_UNSUPPORTED');
    assert.equal(
      await codeOf(engine.transcribe(framesOf(silence(100)), { language: 'en', signal: NEVER })),
      'PARAMS_INVALID',
    );
    const strange = { ...COMMANDS, id: 'strange', words: [...COMMANDS.words, '42'] };
    assert.equal(await codeOf(hear(engine, silence(100), { grammar: strange })), 'PARAMS_INVALID');
    const broken = { ...COMMANDS, id: 'broken', jsgf: '#JSGF V1.0;\ngrammar g;\npublic <command> = ((;\n' };
    assert.equal(await codeOf(hear(engine, silence(100), { grammar: broken })), 'PARAMS_INVALID');
    const stop = new AbortController();
    const work = engine.transcribe(stopping(stop), { language: 'en', grammar: COMMANDS, signal: stop.signal });
    assert.equal(await codeOf(work), 'CANCELLED');
    const said = join(silence(200), await say('what time is it'), silence(200));
    assert.equal((await hear(engine, said)).text, 'what time is it');
  });

  it('finds phrases where they end, and only those', async (t) => {
    await using target = await start('wake');
    const phrase = 'hey computer';
    for (const voice of ['slt', 'rms'] as const) {
      const said = join(silence(1_000), await say(phrase, voice));
      const end = said.findLastIndex((sample) => Math.abs(sample) > 300) / 16;
      const began = performance.now();
      const frames = await collect(framesOf(join(said, silence(1_000))));
      const hits = await collect(
        target.engine.detect(given(frames), { phrases: [{ phrase }, { phrase: 'stop talking' }], signal: NEVER }),
      );
      const spent = performance.now() - began;
      assert.deepEqual(
        hits.map((hit) => hit.phrase),
        [phrase],
        voice,
      );
      const late = hits[0]!.at - frames[0]!.at + 20 - end;
      t.diagnostic(
        `${voice}: score ${hits[0]!.score.toFixed(3)}, ${late.toFixed(0)} ms after its end, ${spent.toFixed(0)} ms for ${frames.length * 20} ms`,
      );
      assert.ok(Math.abs(late) < 200, `${voice}: ${late} ms after its end`);
      assert.ok(hits[0]!.score > 0.5 && hits[0]!.score <= 1);
    }
    for (const other of [...NOT_SAID, 'hey there'])
      assert.deepEqual(
        await spot(target.engine, join(silence(500), await say(other), silence(500)), phrase),
        [],
        other,
      );
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      assert.deepEqual(await spot(target.engine, noise(colour, 4_000, 2_000), phrase), [], colour);
  });

  it('finds a phrase again and again, and in noise', async () => {
    await using target = await start('wake');
    const said = join(silence(600), await say('hey computer'), silence(600));
    assert.equal((await spot(target.engine, join(said, said, said), 'hey computer')).length, 3);
    // A decoder gets used to a room: to this one, not to the silence before.
    await using noisyRoom = await start('wake');
    const low = join(silence(600), await say('hey computer', 'rms'), silence(600));
    const phrases = [{ phrase: 'hey computer', threshold: 0.35 }];
    const noisy = framesOf(inNoise(low, 'pink', 20));
    assert.equal((await collect(noisyRoom.engine.detect(noisy, { phrases, signal: NEVER }))).length, 1);
  });

  it('is stricter with a higher threshold', async () => {
    await using target = await start('wake');
    const said = join(silence(500), await say('the computer is new', 'rms'), silence(500));
    const count = async (threshold: number) => {
      const phrases = [{ phrase: 'hey computer', threshold }];
      return (await collect(target.engine.detect(framesOf(said), { phrases, signal: NEVER }))).length;
    };
    assert.ok((await count(0)) >= 1);
    assert.equal(await count(1), 0);
  });

  it('refuses phrases that are none', async () => {
    await using target = await start('wake');
    for (const phrase of ['', '  ', 'a /1/ b', '42', 'x\ny <z>'])
      assert.equal(await codeOf(spot(target.engine, silence(100), phrase)), 'PARAMS_INVALID', JSON.stringify(phrase));
    assert.equal(await codeOf(spot(target.engine, silence(100))), 'PARAMS_INVALID');
  });
});

describe('stt-pocketsphinx and recordings of people', { skip: human }, () => {
  it('decodes a deck of cards', async (t) => {
    await using target = await start('stt');
    const jsgf = (await readFile('/usr/share/pocketsphinx/test/data/cards/cards.gram', 'utf8')).replace(
      'public <cards>',
      'public <command>',
    );
    const words = [...new Set(jsgf.match(/\b[a-z]+\b/g))].filter(
      (word) => !['cards', 'card', 'rank', 'suits'].includes(word),
    );
    const grammar = { id: 'cards', language: 'en', jsgf, words: words.sort() };
    const expected = [
      'ten of clubs',
      'four queen of clubs',
      'seven of clubs',
      'five five',
      'eight of spades four of clubs seven of hearts',
    ];
    // The first utterance of a decoder adapts it to the microphone.
    await hear(target.engine, await recording('cards/002.wav'), { grammar });
    const heard: string[] = [];
    for (const index of expected.keys())
      heard.push((await hear(target.engine, await recording(`cards/00${index + 1}.wav`), { grammar })).text);
    t.diagnostic(JSON.stringify(heard));
    assert.ok(heard.filter((text, index) => text === expected[index]).length >= 4, JSON.stringify(heard));
  });

  it('finds "go forward ten meters" in a recording and not in others', async () => {
    await using target = await start('wake');
    const phrase = 'go forward ten meters';
    const [hit, ...more] = await spot(
      target.engine,
      join(await recording('goforward.raw'), silence(300)),
      phrase,
      'my dear sir',
    );
    assert.equal(hit?.phrase, phrase);
    assert.deepEqual(more, []);
    for (const other of ['numbers.raw', 'something.raw', 'librivox/sense_and_sensibility_01_austen_64kb-0870.wav'])
      assert.deepEqual(await spot(target.engine, await recording(other), phrase), [], other);
  });
});

describe('stt-pocketsphinx without its packages', () => {
  for (const { title, config, message } of [
    { title: 'the library', config: { library: 'libnothing.so.9' }, message: /libnothing.*libpocketsphinx3/ },
    { title: 'the model', config: { model: '/nowhere/model' }, message: /\/nowhere\/model.*pocketsphinx-en-us/ },
    {
      title: 'the dictionary',
      config: { dictionary: '/nowhere/dict' },
      message: /\/nowhere\/dict.*pocketsphinx-en-us/,
    },
  ])
    it(`waits for ${title}, and says which package has it`, { skip: title !== 'the model' && skip }, async () => {
      const registry = new EngineRegistry();
      await using host = await createTestHost(plugin, { manifest: MANIFEST, config, services: [registry.service] });
      const health = await healthOf(host, 'stt-pocketsphinx');
      assert.equal(health?.status, 'waiting');
      assert.match(health?.message ?? '', message);
      assert.deepEqual(registry.rows, []);
    });

  it('finds a package that is installed later', { skip }, async () => {
    const folder = await mkdtemp(joinPath(tmpdir(), 'model-'));
    try {
      const model = joinPath(folder, 'model');
      const registry = new EngineRegistry();
      const config = { model, lookMs: 100 };
      await using host = await createTestHost(plugin, { manifest: MANIFEST, config, services: [registry.service] });
      assert.deepEqual(registry.rows, []);
      await symlink(MODEL, model);
      for (let waited = 0; registry.rows.length < 2 && waited < 10_000; waited += 50) await pace(50);
      assert.equal(registry.rows.length, 2);
      await host.stop();
      assert.deepEqual(registry.rows, []);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

async function* given(frames: readonly AudioFrame[]): AsyncGenerator<AudioFrame> {
  yield* frames;
}

async function* stopping(stop: AbortController): AsyncGenerator<AudioFrame> {
  for (let count = 0; count < 2_000; count++) {
    yield* framesOf(silence(20), false, count);
    if (count === 20) stop.abort();
  }
}
