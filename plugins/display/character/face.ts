/** The pose of the character: it follows the voice, shows for a moment how a turn ended, and its mouth moves with the sound. */

import type { Logger, Scope } from '@device-core/plugin-api';
import { reasonOf } from '@device-core/plugin-api';
import type { Expression } from '@device-core/plugin-api/scene';
import type { Audio } from '@device-core/plugin-api/services/audio';
import type { Display } from '@device-core/plugin-api/services/display';
import type { CharacterPose } from '@device-core/plugin-api/services/renderer';
import type { VoiceState, VoiceTurn } from '@device-core/plugin-api/services/voice';

type Outcome = VoiceTurn['outcome'];

const AFTER: Readonly<Record<Outcome, Expression>> = {
  answered: 'happy',
  refused: 'confused',
  failed: 'sad',
  cancelled: 'neutral',
  silent: 'neutral',
  running: 'neutral',
};
const MOMENT_MS = 2_500;

export class Face {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #display: Display;
  readonly #audio: () => Audio | undefined;
  #pose: CharacterPose = { state: 'idle', expression: 'neutral' };
  #moment: Disposable | undefined;
  #mouth: AbortController | undefined;

  constructor(parts: {
    readonly scope: Scope;
    readonly log: Logger;
    readonly display: Display;
    readonly audio: () => Audio | undefined;
  }) {
    this.#scope = parts.scope;
    this.#log = parts.log;
    this.#display = parts.display;
    this.#audio = parts.audio;
  }

  follow(state: VoiceState): void {
    // A new phase of the turn begins with the neutral face.
    if (state === 'listening' || state === 'thinking') this.#wear('neutral');
    this.#strike({ state });
    if (state === 'speaking') void this.#speak();
    else this.#mouth?.abort();
  }

  /** While it speaks it already shows that it did not understand. */
  doubt(): void {
    this.#wear('confused');
  }

  after(outcome: Outcome): void {
    this.#wear(AFTER[outcome]);
    if (AFTER[outcome] === 'neutral') return;
    this.#moment = this.#scope.timeout('expression after a turn', MOMENT_MS, () => this.#wear('neutral'));
  }

  #wear(expression: Expression): void {
    this.#moment?.[Symbol.dispose]();
    this.#moment = undefined;
    this.#strike({ expression });
  }

  #strike(change: Partial<CharacterPose>): void {
    const pose = { ...this.#pose, ...change };
    if (pose.state === this.#pose.state && pose.expression === this.#pose.expression) return;
    this.#pose = pose;
    this.#display.pose(pose).catch((error) => this.#log.warn({ reason: reasonOf(error) }, 'cannot change the pose'));
  }

  /** Mouth follows the levels of speech alone, not of other sound. */
  async #speak(): Promise<void> {
    const audio = this.#audio();
    if (!audio || (this.#mouth && !this.#mouth.signal.aborted)) return;
    const mouth = new AbortController();
    this.#mouth = mouth;
    const signal = AbortSignal.any([mouth.signal, this.#scope.signal]);
    try {
      for await (const level of audio.levels({ priority: 'speech', signal })) await this.#display.levels([level]);
    } catch (error) {
      if (!signal.aborted) this.#log.warn({ reason: reasonOf(error) }, 'the mouth cannot follow the sound');
    }
    mouth.abort();
  }
}
