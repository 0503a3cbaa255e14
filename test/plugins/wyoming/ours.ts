/** Engines of this device that a test sets, offered by the plugin at a free port. */

import { CoreError } from '@device-core/plugin-api';
import type { AudioFrame, PcmChunk } from '@device-core/plugin-api/services/audio';
import { type IntentMatch, intents } from '@device-core/plugin-api/services/intents';
import { type EngineInfo, type Speech, speech, type TranscribeOptions } from '@device-core/plugin-api/services/speech';
import { given } from '@device-core/plugin-api/testing';
import { eventually, healthOf, type Started, start } from './start.ts';
import { Peer } from './wire.ts';

const ENGINE = { owner: 'plugin.test', stage: 'local', uses: 0, failures: 0 } as const;
export const ENGINES: readonly EngineInfo[] = [
  { ...ENGINE, kind: 'stt', id: 'ear', title: 'Ear', languages: ['en', 'de'], rank: 0 },
  { ...ENGINE, kind: 'stt', id: 'far', title: 'Far', languages: ['en'], rank: 1, stage: 'cloud' },
  { ...ENGINE, kind: 'stt', id: 'idle', title: 'Idle', languages: ['en'] },
  { ...ENGINE, kind: 'tts', id: 'mouth', title: 'Mouth', languages: ['en'], voices: ['slt', 'rms'], rank: 0 },
  { ...ENGINE, kind: 'wake', id: 'bell', title: 'Bell', languages: ['en'], rank: 0 },
];

/** What was asked of our engines, and how they answer. */
export class Ours {
  engines = ENGINES;
  readonly transcribed: { readonly options: TranscribeOptions; readonly samples: number[] }[] = [];
  readonly spoken: { readonly text: string; readonly voice: string | undefined }[] = [];
  /** Frames that were taken before `transcribe` answers; undefined: all. */
  text = async (_samples: readonly number[]) => 'turn on the light';
  sound: (signal: AbortSignal | undefined) => AsyncIterable<PcmChunk> = async function* () {
    for (let piece = 0; piece < 3; piece++) yield { rate: 16_000, samples: new Int16Array(5_000).fill(piece + 1) };
  };
  meaning: (text: string, language: string) => Promise<IntentMatch> = async (text, language) =>
    text === 'volume ten' && language === 'en'
      ? {
          outcome: 'plan',
          plan: { intent: 'device.volume', title: 'Volume', slots: { level: 10 }, text, mayGoOn: false },
        }
      : { outcome: 'none', reason: 'no sentence is like this' };
  /** Engines at work, and the most of them at once. */
  atWork = 0;
  together = 0;

  services() {
    const offered: Partial<Speech> = {
      list: async (kind) => this.engines.filter((one) => kind === undefined || one.kind === kind),
      transcribe: async (frames, options) => {
        const samples: number[] = [];
        this.together = Math.max(this.together, ++this.atWork);
        try {
          for await (const frame of frames) samples.push(...frame.samples);
          this.transcribed.push({ options, samples });
          const text = await this.text(samples);
          return { text, language: options.language, engine: options.engine ?? 'ear', stage: 'local' };
        } finally {
          this.atWork--;
        }
      },
      detectWake: (frames, { phrases }) => loud(frames, phrases[0]!.phrase),
      speak: (text, { voice, signal }) => {
        this.spoken.push({ text, voice });
        return this.sound(signal);
      },
    };
    const known = {
      match: (text: string, { language }: { readonly language: string }) => this.meaning(text, language),
      grammar: async () => undefined,
    };
    return [given(speech, offered), given(intents, known)] as const;
  }
}

/** A hit for each frame that is loud. */
async function* loud(frames: AsyncIterable<AudioFrame>, phrase: string) {
  for await (const { samples, at } of frames) if (samples[0]! > 1_000) yield { phrase, score: 1, at };
}

export interface Offered extends AsyncDisposable {
  readonly started: Started;
  readonly ours: Ours;
  readonly port: number;
  client(): Promise<Peer>;
}

/** Serves engines at a free port. `without` services are left out. */
export async function offer(serve: object = {}, config: object = {}, ours = new Ours()): Promise<Offered> {
  const all = { uri: 'tcp://127.0.0.1:0', phrases: ['hey computer'], ...serve };
  const started = await start({ serve: all, ...config }, ours.services());
  const port = await portOf(started);
  const clients: Peer[] = [];
  return {
    started,
    ours,
    port,
    client: async () => {
      const peer = await Peer.open({ host: '127.0.0.1', port });
      clients.push(peer);
      return peer;
    },
    async [Symbol.asyncDispose]() {
      for (const peer of clients) peer[Symbol.dispose]();
      await started.host.stop();
      const leaks = started.host.leaks();
      if (leaks.length > 0) throw new CoreError('INTERNAL', { id: leaks.join(', ') });
    },
  };
}

export async function portOf({ host }: Started): Promise<number> {
  let port = 0;
  await eventually('the server', async () => {
    port = Number(/at tcp:\/\/127\.0\.0\.1:(\d+)/.exec((await healthOf(host)).message ?? '')?.[1] ?? 0);
    return port > 0;
  });
  return port;
}

export const FORMAT = { rate: 16_000, width: 2, channels: 1 };

/** `count` chunks of 20 ms with a sample value. */
export function tellSound(peer: Peer, count: number, value = 1, format: object = FORMAT): void {
  const samples = Buffer.alloc(640);
  for (let at = 0; at < 640; at += 2) samples.writeInt16LE(value, at);
  for (let chunk = 0; chunk < count; chunk++) peer.tell('audio-chunk', format, samples);
}
