import { CoreError, type Scope } from '@device-core/plugin-api';
import { msOf, Resampler, waitUntil } from '@device-core/plugin-api/audio';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { Recording, Recordings } from './recordings.ts';
import type { Room } from './room.ts';

/** The next sound is asked for so long before it is due. */
const LEAD_MS = 40;
/** From the first sound that is there until it is heard. */
const DELAY_MS = 10;
const BLOCK_MS = 20;
/** Silence of a source that is late is written down so far. */
const MOST_GAP_MS = 5_000;

export interface SpeakerOptions {
  readonly scope: Scope;
  readonly rate: number;
  readonly recordings: Recordings;
  readonly room: Room;
  /** Echo of the speaker at the microphone; gain 0 is none. */
  readonly echo: { readonly gain: number; readonly delayMs: number };
}

/** Plays into files, as slowly as a loudspeaker does. */
export class Speaker {
  readonly #options: SpeakerOptions;
  #busy = false;
  #recording: Recording | undefined;
  #late = 0;

  constructor(options: SpeakerOptions) {
    this.#options = options;
  }

  /** How often a source was late, so that there was a gap. */
  get late(): number {
    return this.#late;
  }

  async play(chunks: AsyncIterable<Int16Array>, signal: AbortSignal, started?: (at: number) => void): Promise<void> {
    if (this.#busy) throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: 'the speaker is in use already' });
    this.#busy = true;
    const part = this.#options.scope.child('play');
    try {
      await this.#run(part, chunks, signal, started);
    } finally {
      await this.#recording?.close();
      this.#recording = undefined;
      this.#busy = false;
      await part[Symbol.asyncDispose]();
    }
  }

  async #run(
    part: Scope,
    chunks: AsyncIterable<Int16Array>,
    signal: AbortSignal,
    started?: (at: number) => void,
  ): Promise<void> {
    const { rate } = this.#options;
    const echo = this.#echo();
    const block = (rate * BLOCK_MS) / 1_000;
    let due: number | undefined;
    let played = 0;
    for await (const chunk of part.until(chunks, signal)) {
      const now = part.clock.monotonic();
      if (due === undefined) {
        due = now + DELAY_MS;
        started?.(due);
      } else if (now > due) {
        this.#late++;
        const gap = now + DELAY_MS - due;
        this.#write(new Int16Array(Math.round((Math.min(gap, MOST_GAP_MS) * rate) / 1_000)));
        due += gap;
        started?.(due - msOf(played, rate));
      }
      for (let from = 0; from < chunk.length; from += block) {
        if (!(await waitUntil(part, due - LEAD_MS, signal))) return;
        const samples = chunk.subarray(from, from + block);
        this.#write(samples);
        echo?.(samples, due);
        due += msOf(samples.length, rate);
        played += samples.length;
      }
      if (!(await waitUntil(part, due - LEAD_MS, signal))) return;
    }
    if (due !== undefined) await waitUntil(part, due, signal);
  }

  #write(samples: Int16Array): void {
    if (this.#recording?.full) {
      void this.#recording.close();
      this.#recording = undefined;
    }
    this.#recording ??= this.#options.recordings.begin();
    const { room } = this.#recording;
    this.#recording.write(samples.slice(0, room));
    if (samples.length > room) this.#write(samples.subarray(room));
  }

  #echo(): ((samples: Int16Array, at: number) => void) | undefined {
    const { echo, rate, room } = this.#options;
    if (echo.gain === 0) return undefined;
    const resampler = new Resampler(rate, CAPTURE_RATE);
    let given = 0;
    let taken = 0;
    return (samples, at) => {
      const heard = resampler.push(samples).map((sample) => Math.round(sample * echo.gain));
      // The resampler holds some back.
      const held = msOf(taken, rate) - msOf(given);
      room.add(heard, at - held + echo.delayMs, this.#options.scope.clock.monotonic());
      taken += samples.length;
      given += heard.length;
    };
  }
}
