import { CoreError, type Scope } from '@device-core/plugin-api';
import { decodeWav, encodeWav, msOf, resample, waitUntil } from '@device-core/plugin-api/audio';
import { base64Schema, bytesOf, exactly, textOf } from '@device-core/plugin-api/operation-kit';
import { CAPTURE_RATE, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { Microphone } from './microphone.ts';
import type { Recordings } from './recordings.ts';
import type { Room } from './room.ts';

const MOST_BYTES = 3 << 20;
const MOST_SECONDS = 60;
/** As base64 it fits into a message of an app socket. */
const MOST_HEARD_MS = 20_000;
/** Holders of the bridge may make the device hear sounds; apps may not. */
const capability = 'system.bridge';

interface Injection {
  readonly wav: string;
  readonly gain?: number;
  readonly over?: boolean;
  readonly wait?: boolean;
}

interface Injected {
  readonly ms: number;
  readonly from: number;
  readonly to: number;
}

export function simOperations(parts: {
  readonly scope: Scope;
  readonly room: Room;
  readonly microphone: Microphone;
  readonly recordings: Recordings;
}): readonly Operation<never, unknown>[] {
  const { scope, room, microphone, recordings } = parts;
  const inject: Operation<Injection, Injected> = {
    name: 'audio.inject',
    summary: 'Let the simulated microphone hear a WAV file',
    description: `At most ${MOST_SECONDS} s, after what was injected before or over it.`,
    capability,
    params: exactly(
      {
        wav: base64Schema(MOST_BYTES, 'A WAV file'),
        gain: { type: 'number', minimum: 0, maximum: 4, default: 1 },
        over: {
          type: 'boolean',
          default: false,
          description: 'Now, over other sounds: speech over noise.',
        },
        wait: { type: 'boolean', default: false, description: 'Answer when its last sample was captured.' },
      },
      ['wav'],
    ),
    result: exactly({
      ms: { type: 'number', description: 'how long it is' },
      from: { type: 'number', description: 'monotonic milliseconds at which its first sample is heard' },
      to: { type: 'number', description: 'and its last' },
    }),
    rest: { method: 'POST', path: '/audio/inject', bodyLimit: MOST_BYTES * 2 },
    timeoutMs: 150_000,
    errors: ['PARAMS_INVALID', 'AUDIO_UNAVAILABLE', 'BUSY', 'CANCELLED'],
    async run({ wav, gain = 1, over = false, wait = false }, { signal }) {
      const pcm = decodeWav(bytesOf(wav, 'wav'));
      if (pcm.samples.length > MOST_SECONDS * pcm.rate)
        throw new CoreError('PARAMS_INVALID', { where: 'wav', reason: `it is longer than ${MOST_SECONDS} s` });
      if (!microphone.inUse)
        throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'inject sound', reason: 'the microphone has no listener' });
      const samples = resample(pcm, CAPTURE_RATE).samples.map((sample) =>
        Math.max(-32_768, Math.min(32_767, Math.round(sample * gain))),
      );
      const times = room.inject(samples, monotonicMs(), over);
      if (wait && !(await waitUntil(scope, times.to, signal)))
        throw new CoreError('CANCELLED', { what: 'audio.inject', reason: 'the caller no longer waits' });
      return { ms: msOf(samples.length), ...times };
    },
  };
  const heard: Operation<{ readonly ago?: number }, object> = {
    name: 'audio.heard',
    summary: 'Last sound of the simulated speaker, as a WAV file',
    description: `Of a longer sound the last ${MOST_HEARD_MS / 1_000} s.`,
    capability,
    params: exactly(
      { ago: { type: 'integer', minimum: 0, maximum: 255, default: 0, description: '0 is the newest sound' } },
      [],
    ),
    result: exactly({
      wav: { type: 'string', contentEncoding: 'base64', contentMediaType: 'audio/wav' },
      ms: { type: 'number', description: 'length of the sound as a whole' },
      at: { type: 'integer', description: 'milliseconds since the Unix epoch at which it began' },
      playing: { type: 'boolean', description: 'it goes on' },
      count: { type: 'integer', description: 'sounds that are kept' },
    }),
    rest: { method: 'GET', path: '/audio/heard' },
    errors: ['AUDIO_UNAVAILABLE'],
    async run({ ago = 0 }) {
      const { totalMs, at, playing, ...pcm } = await recordings.read(ago, MOST_HEARD_MS);
      return { wav: textOf(encodeWav(pcm)), ms: totalMs, at, playing, count: recordings.count };
    },
  };
  return [inject, heard] as readonly Operation<never, unknown>[];
}
