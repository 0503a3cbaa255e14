import { join } from 'node:path';
import { type Clock, type CoreError, type Isolation, steadyMs } from '@device-core/plugin-api';
import { type Audio, type AudioState, audio } from '@device-core/plugin-api/services/audio';
import {
  type FunctionEntry,
  type FunctionInfo,
  type FunctionLeftOut,
  type FunctionRequest,
  type Functions,
  functions,
} from '@device-core/plugin-api/services/functions';
import { type IntentMatch, type IntentPlan, type Intents, intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/intent/index.ts';
import { eventually as looked } from '../../fixtures/eventually.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/voice/intent.yaml');
export const APP = 'com.example.agenda';

/** A registry of functions in which the test writes. */
export class FakeFunctions implements Functions {
  readonly calls: FunctionRequest[] = [];
  readonly #listeners = new Set<() => void>();
  entries: FunctionInfo[] = [];
  answer: (request: FunctionRequest) => Promise<Record<string, unknown>> = async () => ({});

  put(entry: Partial<FunctionEntry> & { readonly available?: boolean; readonly app?: string }): void {
    const whole = { app: APP, name: 'agenda.next', version: '1.0.0', available: true, ...entry };
    const id = `${whole.app}/${whole.name}@${whole.version}`;
    this.entries = [{ ...whole, id }, ...this.entries.filter((one) => one.id !== id)];
    this.changed();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** What the registry says it left out. */
  refused: FunctionLeftOut[] = [];

  async leftOut(): Promise<readonly FunctionLeftOut[]> {
    return this.refused;
  }

  async offer(): Promise<never> {
    throw new Error('not part of this test');
  }

  async register(): Promise<never> {
    throw new Error('not part of this test');
  }

  async unregister(): Promise<number> {
    this.entries = [];
    this.changed();
    return 1;
  }

  async list(): Promise<readonly FunctionInfo[]> {
    return this.entries;
  }

  async describe(): Promise<never> {
    throw new Error('not part of this test');
  }

  async call(request: FunctionRequest): Promise<Readonly<Record<string, unknown>>> {
    this.calls.push(request);
    return this.answer(request);
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}

/** A speaker that notes what it is told. */
export class FakeAudio implements Audio {
  volume = 0.5;
  muted = false;
  readonly heard: string[] = [];

  async state(): Promise<AudioState> {
    return { volume: this.volume, muted: this.muted, capturing: [], playing: [] };
  }

  async *capture(): AsyncIterable<never> {
    // There is nothing to hear.
  }

  async play(): Promise<void> {
    this.heard.push('sound');
  }

  async tones(): Promise<void> {
    this.heard.push('tones');
  }

  /** What it fails with from now on. */
  broken: CoreError | undefined;

  async feedback(sound: string): Promise<void> {
    if (this.broken) throw this.broken;
    this.heard.push(sound);
  }

  async *levels(): AsyncGenerator<never> {
    // Nobody looks.
  }

  async setVolume(volume: number): Promise<void> {
    this.volume = volume;
  }

  async setMuted(muted: boolean): Promise<void> {
    this.muted = muted;
  }

  onState(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }
}

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  readonly registry: FakeFunctions;
  readonly speaker: FakeAudio;
  readonly intents: Intents;
  /** What a text means, with the English of the device. */
  match(text: string, language?: string): Promise<IntentMatch>;
  /** The plan of a text that has exactly one. */
  plan(text: string): Promise<IntentPlan>;
  /** Says it. */
  say(text: string, ms?: number): Promise<Awaited<ReturnType<Intents['run']>>>;
}

export async function start(
  options: {
    readonly config?: object;
    readonly grants?: Readonly<Record<string, readonly string[]>>;
    readonly services?: readonly (readonly [never, object])[];
    readonly isolation?: Isolation;
    readonly clock?: Clock;
  } = {},
): Promise<Started> {
  const table = new TestOperations();
  const registry = new FakeFunctions();
  const speaker = new FakeAudio();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    services: [[operations, table], [functions, registry], [audio, speaker], ...(options.services ?? [])],
    grants: options.grants ?? { [`app.${APP}`]: ['audio.intent'] },
    ...(options.config && { config: options.config }),
    ...(options.isolation && { isolation: options.isolation }),
    ...(options.clock && { clock: options.clock }),
  });
  const service = host.service(intents);
  const match = (text: string, language = 'en') => service.match(text, { language });
  const plan = async (text: string) => {
    const found = await match(text);
    if (found.outcome === 'plan') return found.plan;
    throw new Error(`"${text}": ${JSON.stringify(found)}`);
  };
  return {
    host,
    table,
    registry,
    speaker,
    intents: service,
    match,
    plan,
    say: async (text, ms = 5_000) =>
      service.run(await plan(text), {
        turn: 't1',
        signal: new AbortController().signal,
        deadline: (options.clock?.steady() ?? steadyMs()) + ms,
      }),
    async [Symbol.asyncDispose]() {
      await host.stop();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
    },
  };
}

export const eventually = <T>(what: string, ask: () => T | Promise<T>) => looked(ask, what);
