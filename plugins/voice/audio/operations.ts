import { type CallContext, type Caller, type Capabilities, CoreError } from '@device-core/plugin-api';
import { decodeWav, msOf } from '@device-core/plugin-api/audio';
import { base64Schema, bytesOf, exactly } from '@device-core/plugin-api/operation-kit';
import type {
  Audio,
  AudioPriority,
  AudioState,
  FeedbackSound,
  PlayOptions,
  ToneSpec,
} from '@device-core/plugin-api/services/audio';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { FEEDBACK, LONGEST_TONE_MS, MOST_TONES } from './tones.ts';

const MOST_WAV_BYTES = 3 << 20;
const MOST_WAV_MS = 60_000;
/** The longest sound, and what it may wait for. */
const TIMEOUT_MS = 75_000;

export const PRIORITIES: readonly AudioPriority[] = ['media', 'notification', 'speech', 'alarm'];
const PRIORITY: JsonSchema = {
  enum: PRIORITIES,
  default: 'media',
  description: 'What it is heard over; an alarm is for those who hold all of `audio`.',
};
const GAIN: JsonSchema = { type: 'number', minimum: 0, maximum: 1, default: 1 };
const VOLUME: JsonSchema = { type: 'number', minimum: 0, maximum: 1, description: '0 is silence' };
const MUTED: JsonSchema = { type: 'boolean', description: 'no sound of the microphone reaches anybody' };
const PLAYED: JsonSchema = exactly({ ms: { type: 'number', description: 'how long it was heard' } });

export interface Wanted {
  readonly priority?: AudioPriority;
  readonly gain?: number;
}

export function ownerOf(caller: Caller): string {
  return caller.kind === 'operator' ? 'operator' : `${caller.kind}:${caller.id}`;
}

/** Throws CAPABILITY_DENIED for an alarm of somebody who may not rouse the house. */
export function optionsOf(
  { priority = 'media', gain = 1 }: Wanted,
  { caller, signal }: Pick<CallContext, 'caller' | 'signal'>,
  capabilities: Capabilities,
): PlayOptions {
  if (priority === 'alarm') capabilities.require(caller, 'audio');
  return { priority, gain, owner: ownerOf(caller), signal };
}

export function audioOperations(audio: Audio, capabilities: Capabilities): readonly Operation<never, unknown>[] {
  const playing = {
    capability: 'audio.playback',
    timeoutMs: TIMEOUT_MS,
    result: PLAYED,
    errors: ['PARAMS_INVALID', 'CAPABILITY_DENIED', 'AUDIO_UNAVAILABLE', 'BUSY', 'CANCELLED', 'TIMEOUT'],
  } as const;
  const play: Operation<Wanted & { readonly wav: string }, object> = {
    ...playing,
    name: 'audio.play',
    summary: 'Play a WAV file',
    description: `At most ${MOST_WAV_MS / 1_000} s. Answers when its last sample was heard; who gives up ends the sound.`,
    params: exactly({ wav: base64Schema(MOST_WAV_BYTES, 'A WAV file'), priority: PRIORITY, gain: GAIN }, ['wav']),
    rest: { method: 'POST', path: '/audio/play', bodyLimit: MOST_WAV_BYTES * 2 },
    async run({ wav, ...wanted }, call) {
      const options = optionsOf(wanted, call, capabilities);
      const pcm = decodeWav(bytesOf(wav, 'wav'));
      const ms = msOf(pcm.samples.length, pcm.rate);
      if (ms > MOST_WAV_MS)
        throw new CoreError('PARAMS_INVALID', { where: 'wav', reason: `it is longer than ${MOST_WAV_MS / 1_000} s` });
      const once = async function* () {
        yield pcm;
      };
      await audio.play(once(), options);
      return { ms };
    },
  };
  const tones: Operation<Wanted & { readonly tones: readonly ToneSpec[] }, object> = {
    ...playing,
    name: 'audio.tones',
    summary: 'Play tones, one after the other',
    params: exactly(
      {
        tones: {
          type: 'array',
          minItems: 1,
          maxItems: MOST_TONES,
          items: exactly(
            {
              frequency: { type: 'number', minimum: 0, maximum: 20_000, description: 'Hz; 0 is a rest' },
              ms: { type: 'number', minimum: 1, maximum: LONGEST_TONE_MS },
              gain: GAIN,
              wave: { enum: ['sine', 'square', 'triangle'], default: 'sine' },
              attackMs: { type: 'number', minimum: 0, maximum: LONGEST_TONE_MS, default: 5 },
              releaseMs: { type: 'number', minimum: 0, maximum: LONGEST_TONE_MS, default: 5 },
            },
            ['frequency', 'ms'],
          ),
        },
        priority: PRIORITY,
        gain: GAIN,
      },
      ['tones'],
    ),
    rest: { method: 'POST', path: '/audio/tones' },
    async run({ tones: wantedTones, ...wanted }, call) {
      await audio.tones(wantedTones, optionsOf(wanted, call, capabilities));
      return { ms: wantedTones.reduce((sum, { ms }) => sum + ms, 0) };
    },
  };
  const feedback: Operation<{ readonly sound: FeedbackSound }, object> = {
    ...playing,
    name: 'audio.feedback',
    summary: 'Play one of the sounds by which the device answers',
    params: exactly({ sound: { enum: Object.keys(FEEDBACK) } }),
    rest: { method: 'POST', path: '/audio/feedback' },
    async run({ sound }, { caller, signal }) {
      await audio.feedback(sound, { owner: ownerOf(caller), signal });
      return { ms: FEEDBACK[sound].reduce((sum, { ms }) => sum + ms, 0) };
    },
  };
  const volume: Operation<never, object> = {
    name: 'audio.volume',
    summary: 'The volume of the device',
    params: exactly({}),
    result: exactly({ volume: VOLUME }),
    rest: { method: 'GET', path: '/audio/volume' },
    errors: [],
    run: async () => ({ volume: (await audio.state()).volume }),
  };
  const setVolume: Operation<{ readonly volume: number }, object> = {
    name: 'audio.setVolume',
    summary: 'Change the volume of the device',
    description: 'It is kept over restarts. For one sound of your own use its gain.',
    capability: 'audio',
    params: exactly({ volume: VOLUME }),
    result: exactly({ volume: VOLUME }),
    rest: { method: 'PUT', path: '/audio/volume' },
    errors: ['PARAMS_INVALID'],
    async run(params) {
      await audio.setVolume(params.volume);
      return { volume: params.volume };
    },
  };
  const mute: Operation<{ readonly muted: boolean }, object> = {
    name: 'audio.mute',
    summary: 'Mute the microphone, or let it go',
    description: 'From the answer on no sound reaches anybody. It is kept over restarts.',
    capability: 'audio',
    params: exactly({ muted: MUTED }),
    result: exactly({ muted: MUTED }),
    rest: { method: 'POST', path: '/audio/mute' },
    errors: [],
    async run({ muted }) {
      await audio.setMuted(muted);
      return { muted };
    },
  };
  const state: Operation<never, AudioState> = {
    name: 'audio.state',
    summary: 'Listeners of the microphone, players, volume and mute',
    description: 'Visible to all callers, so that listening is never secret.',
    params: exactly({}),
    result: exactly(
      {
        volume: VOLUME,
        muted: MUTED,
        capturing: { type: 'array', items: { type: 'string' }, description: 'app:<id>, plugin:<id>, operator' },
        playing: {
          type: 'array',
          items: exactly({ owner: { type: 'string' }, priority: { enum: PRIORITIES } }),
        },
        problem: { type: 'string', description: 'why there is no sound now' },
      },
      ['volume', 'muted', 'capturing', 'playing'],
    ),
    cli: { aliases: ['audio'] },
    rest: { method: 'GET', path: '/audio' },
    errors: [],
    run: () => audio.state(),
  };
  return [play, tones, feedback, volume, setVolume, mute, state] as readonly Operation<never, unknown>[];
}
