import { CoreError, type Scope } from '@device-core/plugin-api';
import { Latest, waitUntil } from '@device-core/plugin-api/audio';
import { type AudioFrame, FRAME_MS, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { Room } from './room.ts';

/** Frames that wait for a reader who is slow: 1 s. */
const QUEUE = 50;
/** Behind the clock by more than this, the microphone goes on with the present. */
const MOST_LATE_MS = 1_000;
/** Louder than this is somebody, or something: a quiet room has samples of 2. */
const QUIET = 100;
/** After the last sound its end is still awaited, frame by frame. */
const AFTER_MS = 2_000;

export interface Periods {
  /** Milliseconds of sound at a time. */
  readonly periodMs: number;
  /** The same while there is nothing to be heard. */
  readonly quietPeriodMs: number;
}

/**
 * The room in frames of 20 ms: so many at a time as make a period, for a device that wakes up pays more for that than
 * for what it does then. Nobody waits for silence, so its periods are longer.
 */
export class Microphone {
  readonly #scope: Scope;
  readonly #room: Room;
  readonly #together: number;
  readonly #inQuiet: number;
  #queue: Latest<AudioFrame> | undefined;
  #muted = false;
  /** Sound from before this moment is for nobody: a period has begun before the microphone was heard again. */
  #since = Number.NEGATIVE_INFINITY;
  #lost = 0;

  constructor(scope: Scope, room: Room, { periodMs, quietPeriodMs }: Periods) {
    this.#scope = scope;
    this.#room = room;
    this.#together = Math.max(1, Math.round(periodMs / FRAME_MS));
    this.#inQuiet = Math.max(this.#together, Math.round(quietPeriodMs / FRAME_MS));
  }

  get inUse(): boolean {
    return this.#queue !== undefined;
  }

  /** Frames that nobody took in time. */
  get lost(): number {
    return this.#lost + (this.#queue?.dropped ?? 0);
  }

  mute(muted: boolean): void {
    if (this.#muted && !muted) this.#since = this.#scope.clock.monotonic();
    this.#muted = muted;
    if (muted) this.#queue?.clear();
  }

  async *capture(signal: AbortSignal): AsyncGenerator<AudioFrame> {
    if (this.#queue)
      throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'capture', reason: 'the microphone is in use already' });
    if (signal.aborted) return;
    const queue = new Latest<AudioFrame>(QUEUE);
    this.#queue = queue;
    const part = this.#scope.child('capture');
    const stop = () => queue.close();
    signal.addEventListener('abort', stop, { once: true });
    const running = this.#run(part, queue, signal);
    try {
      yield* queue;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#lost += queue.dropped;
      this.#queue = undefined;
      await part[Symbol.asyncDispose]();
      await running;
    }
  }

  async #run(part: Scope, queue: Latest<AudioFrame>, signal: AbortSignal): Promise<void> {
    const { clock } = part;
    let at = clock.monotonic();
    let loudUntil = at;
    for (let seq = 0; ; ) {
      const count = at < loudUntil ? this.#together : this.#inQuiet;
      const end = at + count * FRAME_MS;
      if (!(await waitUntil(part, end, signal))) return queue.close();
      const late = Math.max(0, Math.floor((clock.monotonic() - end - MOST_LATE_MS) / FRAME_MS));
      seq += late;
      at += late * FRAME_MS;
      this.#lost += late;
      for (let frame = 0; frame < count; frame++) {
        at += FRAME_MS;
        const samples = this.#room.hear(at, FRAME_SAMPLES);
        if (samples.some((sample) => sample > QUIET || sample < -QUIET)) loudUntil = at + AFTER_MS;
        if (!this.#muted && at - FRAME_MS >= this.#since) queue.push({ seq, at, samples });
        seq++;
      }
    }
  }
}
