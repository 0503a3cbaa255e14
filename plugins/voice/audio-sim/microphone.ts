import { type AudioFrame, CoreError, FRAME_MS, FRAME_SAMPLES, monotonicMs, type Scope } from '@device-core/plugin-api';
import { Latest, waitUntil } from '@device-core/plugin-api/audio';
import type { Room } from './room.ts';

/** Frames that wait for a reader who is slow: 1 s. */
const QUEUE = 50;
/** Behind the clock by more than this, the microphone goes on with the present. */
const MOST_LATE_MS = 1_000;

/** The room in frames of 20 ms: so many at a time as make a period, for a device that wakes up pays more for that than for what it does then. */
export class Microphone {
  readonly #scope: Scope;
  readonly #room: Room;
  readonly #together: number;
  #queue: Latest<AudioFrame> | undefined;
  #muted = false;
  #lost = 0;

  constructor(scope: Scope, room: Room, periodMs: number) {
    this.#scope = scope;
    this.#room = room;
    this.#together = Math.max(1, Math.round(periodMs / FRAME_MS));
  }

  get inUse(): boolean {
    return this.#queue !== undefined;
  }

  /** Frames that nobody took in time. */
  get lost(): number {
    return this.#lost + (this.#queue?.dropped ?? 0);
  }

  mute(muted: boolean): void {
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
    let at = monotonicMs();
    for (let seq = 0; ; seq++) {
      at += FRAME_MS;
      const left = this.#together - 1 - (seq % this.#together);
      if (!(await waitUntil(part, at + left * FRAME_MS, signal))) return queue.close();
      const late = Math.floor((monotonicMs() - at - MOST_LATE_MS) / FRAME_MS);
      if (late > 0) {
        seq += late;
        at += late * FRAME_MS;
        this.#lost += late;
      }
      if (!this.#muted) queue.push({ seq, at, samples: this.#room.hear(at, FRAME_SAMPLES) });
    }
  }
}
