/** From configuration to engines: files are checked, then tried in a process of their own, and only then opened here. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CoreError, type Scope } from '@device-core/plugin-api';
import type { EngineDescription, Engines } from '@device-core/plugin-api/services/speech';
import { loadSherpa, probe, sherpaThere } from './library.ts';
import { folderThere, Missing, ModelCheck, type ModelFile, type ModelFiles, stampOf } from './models.ts';
import {
  type SttSettings,
  sttShape,
  type TtsSettings,
  ttsShape,
  type VadSettings,
  vadShape,
  type WakeSettings,
  wakeShape,
} from './shapes.ts';
import type { Sherpa } from './sherpa.ts';
import { ENGINE, StreamingRecogniser, WholeRecogniser } from './stt.ts';
import { Speaker } from './tts.ts';
import { Silero } from './vad.ts';
import { PhraseSpotter, withPhrases } from './wake.ts';

export interface Settings {
  readonly vad: VadSettings & { readonly enabled: boolean; readonly model?: ModelFile };
  readonly stt?: SttSettings;
  readonly wake?: WakeSettings;
  readonly tts?: TtsSettings;
  readonly library: string;
  readonly lookMs: number;
}

export interface Maker<T> {
  /** Rejects with Missing, MODEL_INVALID, PARAMS_INVALID, TIMEOUT, CANCELLED. */
  make(): Promise<{ readonly description: EngineDescription; readonly engine: T }>;
  /** While it stays the same, what was refused would be refused again. */
  stamp(): Promise<string>;
}

/** silero_vad_v6.onnx of @ricky0123/vad-web 0.0.31, which has run here. */
const SILERO_V6 = '1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3';
const SILERO_PACKAGE = '@ricky0123/vad-web';

export function engineMakers(config: Settings, scope: Scope) {
  const { signal } = scope;
  const check = new ModelCheck();
  const { vad, stt, wake, tts, library } = config;
  return {
    vad: vad.enabled ? vadMaker(vad) : undefined,
    stt: stt && sttMaker(stt),
    wake: wake && wakeMaker(wake),
    tts: tts && ttsMaker(tts),
  };

  function vadMaker(settings: Settings['vad']): Maker<Engines['vad']> {
    const make = async () => {
      sherpaThere(library);
      const model = settings.model ?? sileroOfPackage();
      await check.check(model);
      const shape = vadShape(model.path, settings);
      // That one is known: trying it would load 33 MB for an engine that may never be asked.
      if (model.sha256 !== SILERO_V6) await probe(library, model.path, shape, signal);
      const vadEngine = new Silero(() => loadSherpa(library), shape);
      const description = {
        id: 'silero',
        title: 'Silero voice activity',
        languages: [],
        stage: 'local',
        models: [model],
      } as const;
      const engine: Engines['vad'] = {
        detect: (frames, options) => vadEngine.detect(scope.until(frames, options.signal)),
      };
      return { description, engine };
    };
    return { make, stamp: () => stampOf(settings.model ? [settings.model.path] : []) };
  }

  function sttMaker(settings: SttSettings): Maker<Engines['stt']> {
    const make = async () => {
      const shape = sttShape(settings);
      const sherpa = await ready(settings.files);
      await probe(library, firstOf(settings.files), shape, signal);
      const streaming = shape.make === 'OnlineRecognizer';
      const { languages } = settings;
      const recogniser = streaming
        ? new StreamingRecogniser(new sherpa.OnlineRecognizer(shape.config), languages)
        : new WholeRecogniser(await sherpa.OfflineRecognizer.createAsync(shape.config), languages);
      const description = {
        ...described(settings),
        title: `sherpa-onnx ${settings.kind}`,
        streaming,
        needsGrammar: false,
      };
      const engine: Engines['stt'] = {
        transcribe(frames, options) {
          const either = AbortSignal.any([options.signal, signal]);
          return recogniser.transcribe(scope.until(frames, either), { ...options, signal: either });
        },
      };
      return { description, engine };
    };
    return { make, stamp: () => stampOf(pathsIn(settings.files)) };
  }

  function wakeMaker(settings: WakeSettings): Maker<Engines['wake']> {
    const make = async () => {
      wakeShape(settings, '');
      const sherpa = await ready(settings.files);
      await withPhrases(settings, settings.phrases, (shape) => probe(library, firstOf(settings.files), shape, signal));
      const spotter = new PhraseSpotter(sherpa, settings);
      const description = { ...described(settings), title: 'sherpa-onnx keyword spotter', streaming: true };
      const engine: Engines['wake'] = {
        detect: (frames, options) => spotter.detect(scope.until(frames, options.signal), options),
        unspeakable: (phrases) => spotter.unspeakable(phrases),
      };
      return { description, engine };
    };
    return { make, stamp: () => stampOf(pathsIn(settings.files)) };
  }

  function ttsMaker(settings: TtsSettings): Maker<Engines['tts']> {
    const make = async () => {
      const shape = ttsShape(settings);
      if (settings.dataDir !== undefined) await folderThere(settings.dataDir);
      const sherpa = await ready(settings.files);
      await probe(library, firstOf(settings.files), shape, signal);
      const { voices } = settings;
      const tts = await sherpa.OfflineTts.createAsync(shape.config);
      if (voices.length > tts.numSpeakers) {
        const reason = `the model has ${tts.numSpeakers} speakers, and ${voices.length} are named`;
        throw new CoreError('PARAMS_INVALID', { where: 'voices', reason });
      }
      const speaker = new Speaker(tts, settings);
      const description = { ...described(settings), title: `sherpa-onnx ${settings.kind}`, streaming: true, voices };
      const engine: Engines['tts'] = { speak: (text, options) => speaker.speak(text, options) };
      return { description, engine };
    };
    return { make, stamp: () => stampOf(pathsIn(settings.files)) };
  }

  async function ready(files: ModelFiles): Promise<Sherpa> {
    sherpaThere(library);
    await check.checkAll(files);
    return loadSherpa(library);
  }
}

function described({ files, languages }: { readonly files: ModelFiles; readonly languages: readonly string[] }) {
  return { id: ENGINE, languages, stage: 'local', models: Object.values(files) } as const;
}

function pathsIn(files: ModelFiles): readonly string[] {
  return Object.values(files).map(({ path }) => path);
}

function firstOf(files: ModelFiles): string {
  return Object.values(files)[0]!.path;
}

/** Throws Missing. */
function sileroOfPackage(): ModelFile {
  try {
    const entry = createRequire(import.meta.url).resolve(`${SILERO_PACKAGE}/package.json`);
    return { path: join(dirname(entry), 'dist', 'silero_vad_v6.onnx'), sha256: SILERO_V6 };
  } catch (cause) {
    throw new Missing(`the npm package ${SILERO_PACKAGE}, which has Silero's model, is not installed`, { cause });
  }
}
