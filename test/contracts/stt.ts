/** What every engine of kind `stt` must do, whatever it understands. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { codeOf, grammarOf, HOUSE } from '../fixtures/commands.ts';
import { eventually, pace, stays } from '../fixtures/eventually.ts';
import { framesOf, join, noise, say, silence } from '../fixtures/speech.ts';
import { TITLES } from '../fixtures/titles.ts';

export interface SttUnderTest extends AsyncDisposable {
  readonly engine: SttEngine;
  /** The plugin stops. */
  leave(): Promise<void>;
}

export interface SttTraits {
  /** It knows the sentences of a grammar only. */
  readonly needsGrammar: boolean;
  readonly streaming: boolean;
  /** One that it does not know; absent where it knows all. */
  readonly foreign?: string;
}

const NEVER = new AbortController().signal;
const SAID = 'turn on the kitchen light';
const QUIET = silence(300);

export async function utterance(text: string, voice: 'slt' | 'rms' = 'slt'): Promise<Int16Array> {
  return join(QUIET, await say(text, voice), QUIET);
}

export function hear(
  engine: SttEngine,
  frames: Int16Array | AsyncIterable<AudioFrame>,
  options: Partial<TranscribeOptions> = {},
): Promise<Transcript> {
  const source = frames instanceof Int16Array ? framesOf(frames) : frames;
  return engine.transcribe(source, { language: 'en', grammar: HOUSE, signal: NEVER, ...options });
}

/** Declares the tests; call it inside a `describe`. */
export function sttContract(open: () => Promise<SttUnderTest>, traits: SttTraits): void {
  const fresh = (test: (engine: SttEngine, target: SttUnderTest) => Promise<void>) => async () => {
    await using target = await open();
    await test(target.engine, target);
  };
  const understands = async (engine: SttEngine, text = SAID, options: Partial<TranscribeOptions> = {}) =>
    assert.equal((await hear(engine, await utterance(text), options)).text, text);

  it(
    'understands a sentence, and says in which language and how surely',
    fresh(async (engine) => {
      const { text, language, confidence = 1, inGrammar = true } = await hear(engine, await utterance(SAID));
      assert.deepEqual([text, language, inGrammar], [SAID, 'en', true]);
      assert.ok(confidence >= 0 && confidence <= 1, `confidence ${confidence}`);
    }),
  );

  it(
    'understands nothing where nothing is said',
    fresh(async (engine) => {
      for (const samples of [new Int16Array(), silence(20), silence(1_500), new Int16Array(16_000).fill(1_000)]) {
        const { text, inGrammar = false } = await hear(engine, samples);
        assert.deepEqual([text, inGrammar], ['', false], `${samples.length} samples`);
      }
    }),
  );

  it(
    'serves one utterance after the other, and several at once, each by itself',
    fresh(async (engine) => {
      for (let count = 0; count < 3; count++) await understands(engine);
      const quiet = hear(engine, silence(1_000));
      const said = await utterance(SAID);
      const [one, nothing, other] = await Promise.all([hear(engine, said), quiet, hear(engine, said)]);
      assert.deepEqual([one.text, nothing.text, other.text], [SAID, '', SAID]);
    }),
  );

  it(
    'answers soon after the last frame, however slowly they come',
    fresh(async (engine) => {
      const paced = framesOf(await utterance(SAID), true);
      let ended = Number.NaN;
      async function* watched() {
        yield* paced;
        ended = performance.now();
      }
      assert.equal((await hear(engine, watched())).text, SAID);
      assert.ok(performance.now() - ended < 10_000, 'it took too long');
    }),
  );

  it(
    'hears an utterance that is cut off, and goes on with the next one',
    fresh(async (engine) => {
      const said = await utterance(SAID);
      for (const share of [0.2, 0.5, 0.8]) {
        const { text } = await hear(engine, said.subarray(0, Math.floor(said.length * share)));
        assert.equal(typeof text, 'string');
      }
      await understands(engine);
    }),
  );

  it(
    'hears frames that no microphone gives: gaps, other sizes, clipping',
    fresh(async (engine) => {
      const odd: AudioFrame[] = [0, 1, 160, 320, 1_000].map((size, index) => ({
        seq: index * 7,
        at: index,
        samples: noise('white', 200, 3_000, index + 1).subarray(0, size),
      }));
      assert.equal(typeof (await hear(engine, given(odd))).text, 'string');
      const square = Int16Array.from({ length: 16_000 }, (_, index) => (index % 100 < 50 ? 32_767 : -32_768));
      assert.equal(typeof (await hear(engine, square)).text, 'string');
      await understands(engine);
    }),
  );

  it(
    'ends when nobody waits any more: before, in the middle, and while the microphone gives nothing',
    fresh(async (engine) => {
      const before = AbortSignal.abort();
      assert.equal(await codeOf(hear(engine, await utterance(SAID), { signal: before })), 'CANCELLED');
      for (const manner of [endless, muted]) {
        const stop = new AbortController();
        const midst = Promise.withResolvers<void>();
        const work = codeOf(hear(engine, manner(midst.resolve), { signal: stop.signal }));
        await Promise.race([midst.promise, work]);
        stop.abort();
        assert.equal(await work, 'CANCELLED', manner.name);
      }
      await understands(engine);
    }),
  );

  it(
    'fails with the microphone, and goes on with the next utterance',
    fresh(async (engine) => {
      const code = await codeOf(hear(engine, unplugged()));
      assert.ok(['AUDIO_UNAVAILABLE', 'SPEECH_FAILED'].includes(code), code);
      await understands(engine);
    }),
  );

  it(
    'leaves nobody waiting when it leaves in the middle of an utterance',
    fresh(async (engine, target) => {
      const midst = Promise.withResolvers<void>();
      const work = hear(engine, muted(midst.resolve)).then(
        () => undefined,
        (error: unknown) => error,
      );
      await Promise.race([midst.promise, work]);
      await target.leave();
      const error = await work;
      assert.ok(error instanceof CoreError, `it was ${String(error)}`);
    }),
  );

  it(
    'serves other places where the language is spoken',
    fresh((engine) => understands(engine, SAID, { language: 'en-GB' })),
  );
  const { foreign } = traits;
  if (foreign !== undefined)
    it(
      'refuses a language that it does not know',
      fresh(async (engine) => {
        const grammar = { ...HOUSE, language: foreign };
        assert.equal(await codeOf(hear(engine, QUIET, { language: foreign, grammar })), 'LANGUAGE_UNSUPPORTED');
        await understands(engine);
      }),
    );

  it(
    'leaves out the phrase before a command, and knows that it alone is none',
    fresh(async (engine) => {
      const prefix = ['hey computer', 'good morning'];
      const both = await utterance(`hey computer, ${SAID}`);
      assert.equal((await hear(engine, both, { prefix })).text, SAID);
      assert.equal((await hear(engine, await utterance(SAID), { prefix })).text, SAID);
      assert.equal((await hear(engine, await utterance('hey computer'), { prefix })).text, '');
    }),
  );

  if (traits.streaming) partials(fresh, understands);
  if (traits.needsGrammar) grammars(fresh, understands);
}

type Fresh = (test: (engine: SttEngine, target: SttUnderTest) => Promise<void>) => () => Promise<void>;
type Understands = (engine: SttEngine, text?: string, options?: Partial<TranscribeOptions>) => Promise<void>;

function partials(fresh: Fresh, understands: Understands): void {
  it(
    'tells what it understands meanwhile, and nothing when it is done',
    fresh(async (engine) => {
      const told: Transcript[] = [];
      await understands(engine, SAID, { partial: (transcript) => void told.push(transcript) });
      await until(() => told.at(-1)?.text === SAID);
      const texts = told.map(({ text }) => text);
      assert.ok(told.length >= 2, JSON.stringify(texts));
      assert.ok(told.every(({ language, text }) => language === 'en' && text !== ''));
      assert.ok(
        texts.every((text, index) => text !== texts[index - 1]),
        'it repeats itself',
      );
      await stays(() => told.length === texts.length, 'nothing more is told', { ms: 100 });
    }),
  );
}

function grammars(fresh: Fresh, understands: Understands): void {
  it(
    'takes no other speech for a sentence',
    fresh(async (engine) => {
      for (const other of ['where did I leave my umbrella', 'the weather is lovely this afternoon']) {
        const { text, inGrammar } = await hear(engine, await utterance(other));
        assert.deepEqual([text, inGrammar], ['', false], other);
      }
    }),
  );

  it(
    'changes its grammar from one utterance to the next',
    fresh(async (engine) => {
      const garden = grammarOf('garden', 'public <command> = water the (roses | tulips) | open the garden gate;');
      await understands(engine);
      await understands(engine, 'water the roses', { grammar: garden });
      assert.equal((await hear(engine, await utterance(SAID), { grammar: garden })).text, '');
      await understands(engine);
      const [one, other] = await Promise.all([
        hear(engine, await utterance('open the garden gate'), { grammar: garden }),
        hear(engine, await utterance(SAID)),
      ]);
      assert.deepEqual([one.text, other.text], ['open the garden gate', SAID]);
    }),
  );

  it(
    'refuses a grammar that is none, or whose words nobody can say, and goes on',
    fresh(async (engine) => {
      const broken = { ...HOUSE, id: 'broken', jsgf: '#JSGF V1.0;\ngrammar g;\npublic <command> = ((;\n' };
      const headless = { ...HOUSE, id: 'headless', jsgf: '#JSGF V1.0;\ngrammar g;\npublic <other> = stop;\n' };
      const strange = grammarOf('strange', 'public <command> = stop | 42;');
      for (const grammar of [broken, headless, strange])
        assert.equal(await codeOf(hear(engine, QUIET, { grammar })), 'PARAMS_INVALID', grammar.id);
      const none = engine.transcribe(framesOf(QUIET), { language: 'en', signal: NEVER });
      assert.equal(await codeOf(none), 'PARAMS_INVALID');
      await understands(engine);
    }),
  );

  it(
    'names the words for which it refuses a grammar, and no others',
    fresh(async (engine) => {
      for (const word of ['stop', 'kitchen', 'blickwood', '42', ...TITLES.map(({ title }) => title.toLowerCase())]) {
        const [lost] = (await engine.unspeakable?.([word], 'en')) ?? [];
        const grammar = grammarOf(`only ${word}`, `public <command> = play | ${word};`);
        const code = await hear(engine, new Int16Array(), { grammar }).then(
          () => undefined,
          (error: CoreError) => error.code,
        );
        assert.deepEqual([lost, code], lost === undefined ? [undefined, undefined] : [word, 'PARAMS_INVALID'], word);
      }
    }),
  );

  it(
    'knows words that no dictionary has',
    fresh((engine) =>
      understands(engine, 'play zyblorious music', {
        grammar: grammarOf('names', 'public <command> = play (zyblorious | florbanic) music;'),
      }),
    ),
  );
}

const until = (check: () => boolean) => eventually(check, 'what becomes true');

async function* given(frames: readonly AudioFrame[]): AsyncGenerator<AudioFrame> {
  yield* frames;
}

/** Tells when the engine is in the midst of it. */
async function* endless(midst?: () => void): AsyncGenerator<AudioFrame> {
  for (let seq = 0; ; seq++) {
    if (seq === 10) midst?.();
    await pace(5);
    yield { seq, at: seq * 20, samples: new Int16Array(FRAME_SAMPLES) };
  }
}

/** Tells when the engine waits for what never comes. */
async function* muted(midst?: () => void): AsyncGenerator<AudioFrame> {
  yield* framesOf(silence(100));
  midst?.();
  await new Promise(() => undefined);
}

async function* unplugged(): AsyncGenerator<AudioFrame> {
  yield* framesOf(silence(100));
  throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'it was unplugged' });
}
