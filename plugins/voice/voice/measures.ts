import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { Meter } from '@device-core/plugin-api/telemetry';

/** Durations of turns for metrics, without a word of the speech. */
export class Measures {
  readonly meter = new Meter();
  readonly #stage = this.meter.histogram('device.voice.stage.duration', {
    description: 'Seconds of a stage of a turn: wake, endpoint, stt, intent, call, tts',
    level: 'usage',
    why: 'Shows which stage makes an answer late',
  });
  readonly #latency = this.meter.histogram('device.voice.latency', {
    description: 'Seconds of waiting for an answer, those of the wake phrase included',
    level: 'usage',
    why: 'Shows whether the voice is quick enough to be used',
  });
  readonly #turns = this.meter.counter('device.voice.turns', {
    unit: '{turn}',
    description: 'Turns by how they ended',
    level: 'usage',
    why: 'Shows how often the voice is used, and how often it fails',
  });

  stage(name: string, ms: number): void {
    this.#stage.of({ stage: name }).record(Math.max(0, ms) / 1000);
  }

  latency(ms: number): void {
    this.#latency.record(ms / 1000);
  }

  over(outcome: VoiceTurn['outcome']): void {
    this.#turns.of({ outcome }).add();
  }
}
