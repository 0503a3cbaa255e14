/** Capture, playback and settings as one service. */

import { CoreError, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type {
  Audio,
  AudioDevice,
  AudioFrame,
  AudioState,
  FeedbackSound,
  PcmChunk,
  PlayOptions,
  ToneSpec,
} from '@device-core/plugin-api/services/audio';
import type { AudioLevel } from '@device-core/plugin-api/services/renderer';
import type { Ears } from './ears.ts';
import type { Levels, LevelsOptions } from './levels.ts';
import type { Player } from './player.ts';
import type { KeptSettings } from './settings.ts';
import { checkTones, FEEDBACK, tonesOf } from './tones.ts';

/** Rate of tones where no speaker tells its rate: nothing is played then. */
const TONE_RATE = 48_000;

export class AudioService implements Audio {
  readonly #ears: Ears;
  readonly #player: Player;
  readonly #levels: Levels;
  readonly #kept: KeptSettings;
  readonly #log: Logger;
  readonly #listeners = new Set<(state: AudioState) => void>();
  #device: AudioDevice | undefined;
  #deviceProblem: string | undefined = 'no plugin provides a microphone and a speaker';
  #told = '';
  #muting: Promise<void> = Promise.resolve();
  /** The last requested mute. */
  #wanted: boolean;

  constructor(parts: {
    readonly ears: Ears;
    readonly player: Player;
    readonly levels: Levels;
    readonly kept: KeptSettings;
    readonly log: Logger;
  }) {
    this.#ears = parts.ears;
    this.#player = parts.player;
    this.#levels = parts.levels;
    this.#kept = parts.kept;
    this.#log = parts.log;
    this.#wanted = parts.kept.value.muted;
    this.#ears.mute(this.#wanted);
  }

  get now(): AudioState {
    const { volume, muted } = this.#kept.value;
    const problem = this.#deviceProblem ?? this.#ears.problem;
    const capturing = this.#ears.owners;
    return { volume, muted, capturing, playing: this.#player.playing, ...maybe({ problem }) };
  }

  async state(): Promise<AudioState> {
    return this.now;
  }

  /** A device has come; it goes with the scope. It is muted before anybody can hear it. */
  async attach(device: AudioDevice, scope: Scope): Promise<void> {
    this.#device = device;
    scope.defer('device in use', () => {
      if (this.#device !== device) return;
      this.#device = undefined;
      this.#deviceProblem = 'no plugin provides a microphone and a speaker';
      this.changed();
    });
    try {
      await this.#player.attach(device, scope);
      if (this.#kept.value.muted) await device.mute(true);
      this.#deviceProblem = undefined;
    } catch (error) {
      this.#deviceProblem = reasonOf(error);
      this.#log.warn({ reason: reasonOf(error) }, 'the audio device does not answer');
    }
    if (!scope.signal.aborted) this.#ears.attach(device, scope);
    this.changed();
  }

  capture({ owner, signal }: { readonly owner: string; readonly signal: AbortSignal }): AsyncIterable<AudioFrame> {
    return this.#ears.capture(owner, signal);
  }

  play(sound: AsyncIterable<PcmChunk>, options: PlayOptions): Promise<void> {
    return this.#player.play(sound, options);
  }

  async tones(tones: readonly ToneSpec[], options: PlayOptions): Promise<void> {
    checkTones(tones);
    await this.#player.play(tonesOf(tones, this.#player.rate ?? TONE_RATE), options);
  }

  async feedback(sound: FeedbackSound, options: PlayOptions): Promise<void> {
    if (!Object.hasOwn(FEEDBACK, sound))
      throw new CoreError('PARAMS_INVALID', { where: 'sound', reason: `there is no sound ${sound}` });
    await this.tones(FEEDBACK[sound], { priority: 'notification', ...options });
  }

  levels(options: LevelsOptions): AsyncIterable<AudioLevel> {
    return this.#levels.listen(options);
  }

  async setVolume(volume: number): Promise<void> {
    if (!(volume >= 0 && volume <= 1))
      throw new CoreError('PARAMS_INVALID', { where: 'volume', reason: 'it must be 0 to 1' });
    this.#player.mixer.volume = volume;
    const kept = this.#kept.set({ volume });
    this.changed();
    await kept;
  }

  /** One change after the other: the last one asked for holds. */
  setMuted(muted: boolean): Promise<void> {
    this.#wanted = muted;
    // Nobody waits for a device to be silent.
    if (muted) this.#ears.mute(true);
    this.#muting = this.#muting.then(() => this.#setMuted(muted));
    return this.#muting;
  }

  onState(listener: (state: AudioState) => void): Disposable {
    const own = (state: AudioState) => listener(state);
    this.#listeners.add(own);
    this.#tell(own, this.now);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  changed(): void {
    const state = this.now;
    const told = JSON.stringify(state);
    if (told === this.#told) return;
    this.#told = told;
    for (const listener of this.#listeners) this.#tell(listener, state);
  }

  async #setMuted(muted: boolean): Promise<void> {
    this.#ears.mute(true);
    try {
      await this.#device?.mute(muted);
    } catch (error) {
      // Frames of an unmuted device go no further all the same.
      this.#log.warn({ reason: reasonOf(error), muted }, 'the audio device cannot be muted or let go');
    }
    if (!muted && !this.#wanted) this.#ears.mute(false);
    const kept = this.#kept.set({ muted });
    this.changed();
    await kept;
  }

  #tell(listener: (state: AudioState) => void, state: AudioState): void {
    try {
      listener(state);
    } catch (error) {
      this.#log.error({ reason: reasonOf(error) }, 'a listener to the state of sound failed');
    }
  }
}
