/** A microphone and a speaker that do what the test says. */
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { Latest } from '@device-core/plugin-api/audio';
import {
  type AudioDevice,
  type AudioFrame,
  audio,
  audioDevice,
  monotonicMs,
  type PcmChunk,
} from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/audio/index.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';

export const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/audio.yaml');
export const RATE = 16_000;

export class FakeDevice implements AudioDevice {
  readonly heard: number[] = [];
  readonly runs: number[] = [];
  readonly mutes: boolean[] = [];
  captures = 0;
  broken: string | undefined;
  readonly #rate: number;
  #queue: Latest<AudioFrame> | undefined;
  #seq = 0;

  constructor(rate = RATE) {
    this.#rate = rate;
  }

  async info() {
    return { driver: 'fake', source: 'fake', sink: 'fake', playRate: this.#rate };
  }

  async mute(muted: boolean) {
    this.mutes.push(muted);
  }

  async *capture({ signal }: { readonly signal: AbortSignal }): AsyncGenerator<AudioFrame> {
    this.captures++;
    if (this.broken) throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'capture', reason: this.broken });
    this.#seq = 0;
    const queue = new Latest<AudioFrame>(100);
    this.#queue = queue;
    signal.addEventListener('abort', () => queue.close(), { once: true });
    try {
      yield* queue;
    } finally {
      this.#queue = undefined;
    }
  }

  get capturing(): boolean {
    return this.#queue !== undefined;
  }

  /** One frame, each of its samples this value. */
  say(value: number, at = monotonicMs()): void {
    this.#queue?.push({ seq: this.#seq++, at, samples: new Int16Array(320).fill(value) });
  }

  lose(): void {
    this.#queue?.close();
  }

  async play(
    chunks: AsyncIterable<Int16Array>,
    { signal, started }: { readonly signal: AbortSignal; readonly started?: (at: number) => void },
  ): Promise<void> {
    if (this.broken) throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: this.broken });
    this.runs.push(this.heard.length);
    let due: number | undefined;
    for await (const chunk of chunks) {
      if (signal.aborted) return;
      if (this.broken) throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: this.broken });
      if (due === undefined) {
        due = monotonicMs() + 5;
        started?.(due);
      }
      for (const sample of chunk) this.heard.push(sample);
      due += (chunk.length / this.#rate) * 1_000;
      await pace(Math.max(0, due - 40 - monotonicMs()));
    }
    if (due !== undefined) await pace(Math.max(0, due - monotonicMs()));
  }
}

export async function start(
  options: {
    readonly config?: object;
    readonly device?: FakeDevice | false;
    readonly grants?: Record<string, string[]>;
  } = {},
) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    manifest,
    services: [[operations, table]],
    config: { volume: 1, ...options.config },
    ...(options.grants && { grants: options.grants }),
  });
  const device = options.device === false ? undefined : (options.device ?? new FakeDevice());
  if (device) await host.appear(audioDevice, device);
  return { host, table, device: device!, audio: host.service(audio), [Symbol.asyncDispose]: () => host.stop() };
}

/** A sound of one value. */
export async function* level(value: number, ms: number, rate = RATE): AsyncGenerator<PcmChunk> {
  yield { rate, samples: new Int16Array(Math.round((rate * ms) / 1_000)).fill(value) };
}

/** Captures in the background. */
export function listening(
  service: {
    capture(options: { readonly owner: string; readonly signal: AbortSignal }): AsyncIterable<AudioFrame>;
  },
  owner = 'plugin:test',
) {
  const stop = new AbortController();
  const frames: AudioFrame[] = [];
  const reading = (async () => {
    for await (const frame of service.capture({ owner, signal: stop.signal })) frames.push(frame);
  })();
  return {
    frames,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}

export const until = (what: string, done: () => boolean | Promise<boolean>) => eventually(done, what, { every: 5 });
