/** One microphone for many: each reader has a queue of its own, and none keeps another waiting. */

import { reasonOf, type Scope } from '@device-core/plugin-api';
import { Latest, waitUntil } from '@device-core/plugin-api/audio';
import { type AudioDevice, type AudioFrame, FRAME_MS, monotonicMs } from '@device-core/plugin-api/services/audio';

export interface EarsOptions {
  readonly scope: Scope;
  /** Frames that wait for one reader. */
  readonly queue: number;
  readonly onChange: () => void;
  readonly onLoss: (owner: string, frames: number) => void;
  /** Cleans a frame before it is handed out; `hand` gets it back. */
  readonly clean: (frame: AudioFrame) => void;
  /** Drops frames that are being cleaned. */
  readonly forget: () => void;
}

interface Reader {
  readonly owner: string;
  readonly queue: Latest<AudioFrame>;
}

const LEAST_BACKOFF_MS = 250;
const MOST_BACKOFF_MS = 8_000;

export class Ears {
  readonly #options: EarsOptions;
  readonly #readers = new Set<Reader>();
  #device: { readonly device: AudioDevice; readonly scope: Scope } | undefined;
  #running: AbortController | undefined;
  #muted = false;
  /** Sound from before this moment is not for anybody. */
  #since = Number.NEGATIVE_INFINITY;
  #next = 0;
  #problem: string | undefined;

  constructor(options: EarsOptions) {
    this.#options = options;
  }

  /** Owners that hear the microphone, each once. */
  get owners(): readonly string[] {
    return [...new Set([...this.#readers].map(({ owner }) => owner))].sort();
  }

  /** Why the microphone cannot be heard, where somebody wants to. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** A microphone has come; it goes with the scope. */
  attach(device: AudioDevice, scope: Scope): void {
    const attached = { device, scope };
    this.#device = attached;
    scope.defer('microphone in use', () => {
      if (this.#device !== attached) return;
      this.#device = undefined;
      this.#problem = undefined;
    });
    this.#run();
  }

  /** Not one frame more, whatever the device does. */
  mute(muted: boolean): void {
    if (this.#muted && !muted) this.#since = monotonicMs();
    this.#muted = muted;
    if (!muted) return;
    this.#options.forget();
    for (const { queue } of this.#readers) queue.clear();
  }

  /** To everybody who hears. */
  hand(frame: AudioFrame): void {
    if (this.#muted) return;
    for (const { queue } of this.#readers) queue.push(frame);
  }

  async *capture(owner: string, signal: AbortSignal): AsyncGenerator<AudioFrame> {
    if (signal.aborted) return;
    const { scope, queue: limit, onChange, onLoss } = this.#options;
    const queue = new Latest<AudioFrame>(limit);
    const reader = { owner, queue };
    const stop = () => queue.close();
    this.#readers.add(reader);
    signal.addEventListener('abort', stop, { once: true });
    scope.signal.addEventListener('abort', stop, { once: true });
    onChange();
    this.#run();
    let told = 0;
    try {
      for await (const frame of queue) {
        if (queue.dropped > told) onLoss(owner, queue.dropped - told);
        told = queue.dropped;
        yield frame;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      scope.signal.removeEventListener('abort', stop);
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#running?.abort();
      onChange();
    }
  }

  #run(): void {
    if (!this.#device || this.#running || this.#readers.size === 0) return;
    const { device, scope } = this.#device;
    const stop = new AbortController();
    this.#running = stop;
    const end = () => stop.abort();
    scope.signal.addEventListener('abort', end, { once: true });
    void this.#listen(device, scope, stop.signal).finally(() => {
      scope.signal.removeEventListener('abort', end);
      this.#running = undefined;
      // Somebody may have come while the last one left.
      if (!this.#options.scope.signal.aborted) this.#run();
    });
  }

  /** Never rejects: who wants to hear waits for a microphone that works again. */
  async #listen(device: AudioDevice, scope: Scope, signal: AbortSignal): Promise<void> {
    let backoff = LEAST_BACKOFF_MS;
    while (!signal.aborted) {
      let base: number | undefined;
      try {
        for await (const frame of device.capture({ signal })) {
          if (signal.aborted) return;
          base ??= this.#next - frame.seq;
          this.#take(frame, base);
          backoff = LEAST_BACKOFF_MS;
          this.#tell(undefined);
        }
        if (!signal.aborted) this.#tell('the microphone was lost');
      } catch (error) {
        if (signal.aborted) return;
        this.#tell(reasonOf(error));
      }
      if (!(await waitUntil(scope, monotonicMs() + backoff, signal))) return;
      backoff = Math.min(backoff * 2, MOST_BACKOFF_MS);
    }
  }

  /** `seq` goes on where the device begins anew, and leaves out what was lost between. */
  #take(frame: AudioFrame, base: number): void {
    const seq = Math.max(frame.seq + base, this.#next);
    this.#next = seq + 1;
    if (this.#muted || frame.at - FRAME_MS < this.#since) return;
    this.#options.clean({ ...frame, seq });
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    // The frames between two starts of the device were never captured: one number is left out for them.
    if (problem !== undefined) this.#next++;
    this.#options.onChange();
  }
}
