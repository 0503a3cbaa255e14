/** Models of a Wyoming service in its `info`, as far as they are understood. */
import { maybe } from '@device-core/plugin-api';
import { baseOf } from './words.ts';

export type RemoteKind = 'stt' | 'tts' | 'wake' | 'intent';

export interface RemoteModel {
  readonly name: string;
  readonly languages: readonly string[];
  /** Spoken phrase of a wake model. */
  readonly phrase?: string;
}

/** Everything that a service offers of one kind. */
export interface RemoteService {
  readonly title: string;
  readonly models: readonly RemoteModel[];
  /** Without doublets. */
  readonly languages: readonly string[];
  /** It tells what it has understood so far. */
  readonly streaming: boolean;
}

const MEMBERS = {
  stt: ['asr', 'models'],
  tts: ['tts', 'voices'],
  wake: ['wake', 'models'],
  intent: ['intent', 'models'],
} as const;
/** Some services know hundreds of voices. */
const MOST_MODELS = 1_000;
const MOST_TEXT = 200;

/** Undefined where it offers nothing of this kind. */
export function serviceOf(info: Readonly<Record<string, unknown>>, kind: RemoteKind): RemoteService | undefined {
  const [section, list] = MEMBERS[kind];
  const programs = objectsOf(info[section]).filter(isInstalled);
  if (programs.length === 0) return undefined;
  const models = programs
    .flatMap((program) => objectsOf(program[list]).filter(isInstalled))
    .flatMap(modelOf)
    .slice(0, MOST_MODELS);
  const title = textOf(programs[0]?.description) ?? textOf(programs[0]?.name) ?? section;
  const languages = [...new Set(models.flatMap((model) => model.languages))];
  return { title, models, languages, streaming: programs.some((one) => one.supports_transcript_streaming === true) };
}

/** First voice that speaks the language, in the order of the service. */
export function voiceFor(service: RemoteService, language: string): RemoteModel | undefined {
  return service.models.find(({ languages }) => languages.some((one) => baseOf(one) === baseOf(language)));
}

function modelOf(model: Readonly<Record<string, unknown>>): RemoteModel[] {
  const name = textOf(model.name);
  if (name === undefined) return [];
  const languages = (Array.isArray(model.languages) ? model.languages : []).flatMap((one) => textOf(one) ?? []);
  const phrase = textOf(model.phrase);
  return [{ name, languages, ...maybe({ phrase }) }];
}

function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
}

function isInstalled(one: Readonly<Record<string, unknown>>): boolean {
  return one.installed !== false;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MOST_TEXT ? value : undefined;
}
