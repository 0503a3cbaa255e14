/** Publishes the events of a turn while it goes on. */
import { maybe } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { Transcript, WakeHit } from '@device-core/plugin-api/services/speech';
import type { VoiceState } from '@device-core/plugin-api/services/voice';
import type { Floor } from './floor.ts';
import type { Senses } from './senses.ts';
import type { Heard } from './utterance.ts';

type Publish = (topic: string, payload: object) => void;

export class Reports {
  readonly #publish: Publish;
  readonly #floor: Floor;
  readonly #senses: Senses;

  constructor(publish: Publish, floor: Floor, senses: Senses) {
    this.#publish = publish;
    this.#floor = floor;
    this.#senses = senses;
  }

  state(state: VoiceState, turn: string | undefined): void {
    this.#publish('audio.state', { ...maybe({ turn }), state });
  }

  /** Without a phrase: a button was pressed. */
  wake(turn: string, source: string, hit: WakeHit | undefined): void {
    this.#publish('audio.wake', { turn, wakeword: hit?.phrase ?? '', score: hit?.score ?? 1, source });
  }

  partial(turn: string, { text, language: lang, confidence }: Transcript, stage: 'local' | 'cloud'): void {
    if (text === '' || this.#floor.machine.turn?.id !== turn) return;
    // How far the words are behind the microphone.
    const latencyMs = Math.max(0, Math.round(monotonicMs() - (this.#senses.ear?.newestAt ?? monotonicMs())));
    const words = { turn, text, lang, ...maybe({ confidence }) };
    this.#publish('audio.stt.partial', { ...words, stage, latencyMs });
  }

  final(turn: string, { text, language: lang, confidence, stage }: Heard, latencyMs: number): void {
    const words = { turn, text, lang, ...maybe({ confidence }) };
    this.#publish('audio.stt.final', { ...words, stage, latencyMs });
  }

  speechStarted(turn: string): void {
    this.#publish('audio.tts.start', { turn });
  }

  speechEnded(turn: string): void {
    this.#publish('audio.tts.end', { turn });
  }
}
