/** From configuration to engines: files are checked, then tried in a process of their own, and only then opened here. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { EngineDescription, Engines } from '@device-core/plugin-api';
import type { Sherpa } from 'sherpa-onnx-node';
import { loadSherpa, probe } from './library.ts';
import { folderThere, Missing, ModelCheck, type ModelFile, type ModelFiles } from './models.ts';
import {
  type SttSettings,
  sttShape,
  type TtsSettings,
  ttsShape,
  type VadSettings,
  vadShape,
  type WakeSettings,
} from './shapes.ts';
import { ENGINE, StreamingRecogniser, WholeRecogniser } from './stt.ts';
import { Speaker } from './tts.ts';
import { Silero } from './vad.ts';
import { PhraseSpotter, withPhrases } from './wake.ts';

export interface Settings {
  readonly vad: VadSettings & { readonly enabled: boolean; readonly model?: ModelFile };
  readonly stt?: SttSettings;
  readonly wake?: WakeSettings;
  readonly tts?: TtsSettings;
  readonly lookMs: number;
}

export type Maker<T> = () => Promise<{ readonly description: EngineDescription; readonly engine: T }>;

/** silero_vad_v6.onnx of @ricky0123/vad-web 0.0.31, which has run here. */
const SILERO_V6 = '1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3';
const SILERO_PACKAGE = '@ricky0123/vad-web';

export function engineMakers(config: Settings, signal: AbortSignal) {
  const check = new ModelCheck();
  const { vad, stt, wake, tts } = config;
  return {
    vad: vad.enabled ? vadMaker(vad) : undefined,
    stt: stt && sttMaker(stt),
    wake: wake && wakeMaker(wake),
    tts: tts && ttsMaker(tts),
  };

  function vadMaker(settings: Settings['vad']): Maker<Engines['vad']> {
    return async () => {
      const model = settings.model ?? sileroOfPackage();
      await check.check(model);
      addonThere();
      const shape = vadShape(model.path, settings);
      if (model.sha256 !== SILERO_V6) await probe(model.path, shape, signal);
      let loaded: Promise<Sherpa> | undefined;
      const load = () => {
        loaded ??= loadSherpa();
        return loaded;
      };
      const vadEngine = new Silero(load, shape);
      const description = {
        id: 'silero',
        title: 'Silero voice activity',
        languages: [],
        stage: 'local',
        models: [model],
      } as const;
      return { description, engine: { detect: (frames, options) => vadEngine.detect(frames, options) } };
    };
  }

  function sttMaker(settings: SttSettings): Maker<Engines['stt']> {
    return async () => {
      const shape = sttShape(settings);
      const sherpa = await ready(settings.files);
      await probe(firstOf(settings.files), shape, signal);
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
      return { description, engine: { transcribe: (frames, options) => recogniser.transcribe(frames, options) } };
    };
  }

  function wakeMaker(settings: WakeSettings): Maker<Engines['wake']> {
    return async () => {
      const sherpa = await ready(settings.files);
      await withPhrases(settings, settings.phrases, (shape) => probe(firstOf(settings.files), shape, signal));
      const spotter = new PhraseSpotter(sherpa, settings);
      const description = { ...described(settings), title: 'sherpa-onnx keyword spotter', streaming: true };
      return { description, engine: { detect: (frames, options) => spotter.detect(frames, options) } };
    };
  }

  function ttsMaker(settings: TtsSettings): Maker<Engines['tts']> {
    return async () => {
      const shape = ttsShape(settings);
      if (settings.dataDir !== undefined) await folderThere(settings.dataDir);
      const sherpa = await ready(settings.files);
      await probe(firstOf(settings.files), shape, signal);
      const speaker = new Speaker(await sherpa.OfflineTts.createAsync(shape.config), settings);
      const { voices } = settings;
      const description = { ...described(settings), title: `sherpa-onnx ${settings.kind}`, streaming: true, voices };
      return { description, engine: { speak: (text, options) => speaker.speak(text, options) } };
    };
  }

  async function ready(files: ModelFiles): Promise<Sherpa> {
    await check.checkAll(files);
    return loadSherpa();
  }
}

function described({ files, languages }: { readonly files: ModelFiles; readonly languages: readonly string[] }) {
  return { id: ENGINE, languages, stage: 'local', models: Object.values(files) } as const;
}

function firstOf(files: ModelFiles): string {
  return Object.values(files)[0]!.path;
}

/** Without opening it: it has 33 MB. Throws Missing. */
function addonThere(): void {
  try {
    createRequire(import.meta.url).resolve('sherpa-onnx-node');
  } catch (cause) {
    throw new Missing('the npm package sherpa-onnx-node is not installed', { cause });
  }
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
