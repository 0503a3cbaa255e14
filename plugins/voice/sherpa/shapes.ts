/** Configuration of sherpa-onnx for a model, by its kind. */

import { CoreError } from '@device-core/plugin-api';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { ModelFiles } from './models.ts';

/** Configuration for sherpa, and the class that takes it. */
export interface Shape {
  readonly make: 'Vad' | 'OnlineRecognizer' | 'OfflineRecognizer' | 'KeywordSpotter' | 'OfflineTts';
  readonly config: object;
}

interface Kind {
  /** Name of the section of the configuration. */
  readonly section: string;
  readonly needs: readonly string[];
  readonly may?: readonly string[];
}

const STREAMING: Readonly<Record<string, Kind>> = {
  zipformer: { section: 'transducer', needs: ['encoder', 'decoder', 'joiner'] },
  'zipformer-ctc': { section: 'zipformer2Ctc', needs: ['model'] },
  paraformer: { section: 'paraformer', needs: ['encoder', 'decoder'] },
  'nemo-ctc': { section: 'nemoCtc', needs: ['model'] },
  'tone-ctc': { section: 'toneCtc', needs: ['model'] },
};
const WHOLE: Readonly<Record<string, Kind>> = {
  whisper: { section: 'whisper', needs: ['encoder', 'decoder'] },
  moonshine: { section: 'moonshine', needs: ['preprocessor', 'encoder', 'uncachedDecoder', 'cachedDecoder'] },
  'sense-voice': { section: 'senseVoice', needs: ['model'] },
  transducer: { section: 'transducer', needs: ['encoder', 'decoder', 'joiner'] },
};
const VOICES: Readonly<Record<string, Kind>> = {
  vits: { section: 'vits', needs: ['model', 'tokens'], may: ['lexicon'] },
  matcha: { section: 'matcha', needs: ['acousticModel', 'vocoder', 'tokens'], may: ['lexicon'] },
  kokoro: { section: 'kokoro', needs: ['model', 'voices', 'tokens'], may: ['lexicon'] },
  kitten: { section: 'kitten', needs: ['model', 'voices', 'tokens'] },
};
const FEATURES = { sampleRate: CAPTURE_RATE, featureDim: 80 };

export interface VadSettings {
  readonly threshold: number;
  readonly leastSpeechMs: number;
  readonly leastSilenceMs: number;
}

export function vadShape(model: string, { threshold, leastSpeechMs, leastSilenceMs }: VadSettings): Shape {
  const sileroVad = {
    model,
    threshold,
    minSpeechDuration: leastSpeechMs / 1_000,
    minSilenceDuration: leastSilenceMs / 1_000,
    windowSize: 512,
    // It keeps what is said until a pause; in speech of this length a shorter one will do.
    maxSpeechDuration: 20,
  };
  return { make: 'Vad', config: { sileroVad, sampleRate: CAPTURE_RATE, ...runtime(1) } };
}

export interface SttSettings {
  readonly kind: string;
  readonly files: ModelFiles;
  readonly languages: readonly string[];
  readonly threads: number;
}

/** Throws PARAMS_INVALID for files that the kind does not have or misses. */
export function sttShape({ kind, files, languages, threads }: SttSettings): Shape {
  const streaming = STREAMING[kind];
  const row = streaming ?? WHOLE[kind]!;
  const paths = pathsOf(kind, { ...row, needs: [...row.needs, 'tokens'], may: ['bpeVocab'] }, files);
  const { tokens, bpeVocab, ...own } = paths;
  const language =
    languages.length === 1 && (kind === 'whisper' || kind === 'sense-voice') ? { language: base(languages[0]!) } : {};
  const modelConfig = {
    [row.section]: { ...own, ...language },
    tokens,
    ...(bpeVocab && { bpeVocab }),
    ...runtime(threads),
  };
  const config = { featConfig: FEATURES, modelConfig, decodingMethod: 'greedy_search' };
  if (!streaming) return { make: 'OfflineRecognizer', config };
  return { make: 'OnlineRecognizer', config: { ...config, enableEndpoint: false } };
}

export interface WakeSettings {
  readonly files: ModelFiles;
  readonly languages: readonly string[];
  readonly threads: number;
  readonly phrases: readonly { readonly phrase: string; readonly tokens: string; readonly threshold: number }[];
}

/** The file has a line for each phrase: `<tokens> #<threshold> @<number>`. Throws PARAMS_INVALID. */
export function wakeShape({ files, threads }: WakeSettings, keywordsFile: string): Shape {
  const { tokens, ...transducer } = pathsOf(
    'wake',
    { section: '', needs: ['encoder', 'decoder', 'joiner', 'tokens'] },
    files,
  );
  const modelConfig = { transducer, tokens, ...runtime(threads) };
  return { make: 'KeywordSpotter', config: { featConfig: FEATURES, modelConfig, keywordsFile } };
}

export interface TtsSettings {
  readonly kind: string;
  readonly files: ModelFiles;
  readonly dataDir?: string;
  readonly languages: readonly string[];
  readonly voices: readonly string[];
  readonly speed: number;
  readonly threads: number;
}

/** Throws PARAMS_INVALID. */
export function ttsShape({ kind, files, dataDir, threads }: TtsSettings): Shape {
  const row = VOICES[kind]!;
  const own = { ...pathsOf(kind, row, files), ...(dataDir && { dataDir }) };
  return { make: 'OfflineTts', config: { model: { [row.section]: own, ...runtime(threads) }, maxNumSentences: 1 } };
}

/** `en` of `en-GB`. */
export function base(language: string): string {
  return language.toLowerCase().split('-')[0]!;
}

function runtime(numThreads: number): object {
  return { numThreads, provider: 'cpu', debug: 0 };
}

function pathsOf(kind: string, { needs, may = [] }: Kind, files: ModelFiles): Readonly<Record<string, string>> {
  const missing = needs.filter((name) => !Object.hasOwn(files, name));
  const strange = Object.keys(files).filter((name) => !needs.includes(name) && !may.includes(name));
  if (missing.length + strange.length > 0) {
    const reason = `a model of kind ${kind} has the files ${needs.join(', ')}, not ${Object.keys(files).join(', ')}`;
    throw new CoreError('PARAMS_INVALID', { where: 'files', reason });
  }
  return Object.fromEntries(Object.entries(files).map(([name, { path }]) => [name, path]));
}
