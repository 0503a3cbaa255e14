import { CoreError } from '@device-core/plugin-api';
import { concatSamples, encodeWav, msOf, resample } from '@device-core/plugin-api/audio';
import { exactly, PerCaller, textOf } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { EngineInfo, EngineKind, Speech } from '@device-core/plugin-api/services/speech';
import { KINDS, type Registry } from './registry.ts';

const MOST_CHARACTERS = 500;
/** As base64 it fits into a message of an app socket. */
const MOST_SECONDS = 20;
const PER_CALLER = 2;
const SPEAKING_MS = 30_000;

const ENGINE: JsonSchema = {
  type: 'object',
  required: ['kind', 'id', 'owner', 'uses', 'failures'],
  properties: {
    kind: { enum: KINDS },
    id: { type: 'string' },
    owner: { type: 'string', description: 'Plugin that brings it.' },
    uses: { type: 'integer' },
    failures: { type: 'integer' },
    problem: { type: 'string', description: 'Why it failed last.' },
  },
};

export function engineOperation(
  registry: Registry,
): Operation<{ readonly kind?: EngineKind }, { readonly engines: readonly EngineInfo[] }> {
  return {
    name: 'speech.engines',
    summary: 'List the engines that hear and speak, in the order in which they are asked',
    description: 'An engine with a problem has failed and is passed over for up to 30 s.',
    params: exactly({ kind: { enum: KINDS, description: 'those of one kind' } }, []),
    result: exactly({
      engines: { type: 'array', items: ENGINE },
    }),
    capability: 'audio',
    cli: {
      columns: [
        'kind',
        ['ENGINE', '{id}'],
        'title',
        'stage',
        ['LANGUAGES', '{languages:count}'],
        ['VOICES', '{voices:count}'],
        'uses',
        'failures',
        'problem',
      ],
      empty: 'there are no engines',
    },
    rest: { method: 'GET', path: '/speech/engines' },
    errors: [],
    run: async ({ kind }) => ({ engines: registry.list(kind) }),
  };
}

interface Sentence {
  readonly text: string;
  readonly voice?: string;
  readonly language?: string;
}

/** A sentence as sound, without a speaker. */
export function synthesisOperation(speech: Pick<Speech, 'speak'>): Operation<Sentence, object> {
  const callers = new PerCaller(PER_CALLER);
  return {
    name: 'speech.synthesize',
    summary: 'Speak a text into a WAV file',
    description: `By an engine on the device, at most ${MOST_SECONDS} s. Nobody hears it: that is \`voice.say\`.`,
    params: exactly(
      {
        text: { type: 'string', minLength: 1, maxLength: MOST_CHARACTERS },
        voice: { type: 'string', minLength: 1, maxLength: 64, description: 'one that an engine names' },
        language: { type: 'string', minLength: 2, maxLength: 35, description: 'BCP 47' },
      },
      ['text'],
    ),
    result: exactly({
      wav: { type: 'string', contentEncoding: 'base64', contentMediaType: 'audio/wav' },
      ms: { type: 'number', description: 'how long it is' },
    }),
    capability: 'audio.playback',
    rest: { method: 'POST', path: '/speech/synthesize' },
    timeoutMs: SPEAKING_MS,
    errors: ['PARAMS_INVALID', 'ENGINE_MISSING', 'SPEECH_FAILED', 'LANGUAGE_UNSUPPORTED', 'BUSY', 'CANCELLED'],
    run: ({ text, ...options }, { caller, signal }) =>
      callers.run(caller, async () => {
        const pieces: Int16Array[] = [];
        let rate: number | undefined;
        let ms = 0;
        for await (const chunk of speech.speak(text, { ...options, signal, stage: 'local' })) {
          // One file has one rate, whoever goes on where an engine failed.
          rate ??= chunk.rate;
          const { samples } = chunk.rate === rate ? chunk : resample(chunk, rate);
          pieces.push(samples);
          ms += msOf(samples.length, rate);
          if (ms > MOST_SECONDS * 1_000)
            throw new CoreError('PARAMS_INVALID', { where: 'text', reason: `it takes more than ${MOST_SECONDS} s` });
        }
        if (rate === undefined)
          throw new CoreError('PARAMS_INVALID', { where: 'text', reason: 'there is nothing to say' });
        return { wav: textOf(encodeWav({ rate, samples: concatSamples(pieces) })), ms: Math.round(ms) };
      }),
  };
}
