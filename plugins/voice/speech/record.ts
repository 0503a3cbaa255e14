import type { Scope } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';

/**
 * Frames that more than one engine may have to read: what the first one has read is kept, up to a bound, and read again
 * by the one that takes its place. Each copy is read by one engine; the source is read once.
 */
export class Record {
  readonly #source: AsyncIterator<AudioFrame>;
  readonly #most: number;
  readonly #scope: Scope;
  #kept: AudioFrame[] = [];
  /** Place of the first frame that is kept. */
  #from = 0;
  #pulling: Promise<boolean> | undefined;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #needed = true;

  /** `most` frames are kept. */
  constructor(source: AsyncIterable<AudioFrame>, most: number, scope: Scope) {
    this.#source = source[Symbol.asyncIterator]();
    this.#most = most;
    this.#scope = scope;
  }

  /** Failure of the source: no engine is to blame for that. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** The source has ended and was read to its end. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Frames read of the source. */
  get read(): number {
    return this.#from + this.#kept.length;
  }

  /** Frames that came first and are not there any more. */
  get lost(): number {
    return this.#from;
  }

  /** No other engine will be asked: nothing has to be kept from now on. */
  settle(): void {
    this.#needed = false;
  }

  /** From the oldest frame that is kept. Ends early when `signal` aborts. */
  copy(signal: AbortSignal): AsyncIterable<AudioFrame> {
    return { [Symbol.asyncIterator]: () => this.#reader(signal) };
  }

  /** The source is read no more. It is told, but not waited for: a microphone that is muted may not answer for long. */
  close(): void {
    this.#kept = [];
    const ended = this.#ended;
    this.#ended = true;
    if (!ended) void Promise.resolve(this.#source.return?.()).catch((error: unknown) => this.#late(error));
  }

  #late(error: unknown): void {
    this.#failure ??= { error };
  }

  #reader(signal: AbortSignal): AsyncIterator<AudioFrame> {
    let place = this.#from;
    let open = true;
    const over = { done: true, value: undefined } as const;
    return {
      next: async () => {
        for (;;) {
          if (!open || signal.aborted) return over;
          // A reader that is slower than the record is long goes on with what is left; the gap shows in `seq`.
          place = Math.max(place, this.#from);
          const frame = this.#kept[place - this.#from];
          if (frame) {
            place++;
            this.#forget(place);
            return { done: false, value: frame };
          }
          if (!(await this.#more(signal))) return over;
        }
      },
      return: async () => {
        open = false;
        return over;
      },
    };
  }

  /** False at the end. */
  async #more(signal: AbortSignal): Promise<boolean> {
    if (this.#failure) throw this.#failure.error;
    if (this.#ended || signal.aborted || this.#scope.signal.aborted) return false;
    this.#pulling ??= this.#pull().finally(() => {
      this.#pulling = undefined;
    });
    const pulling = this.#pulling;
    try {
      return await this.#scope.within('a frame', Number.POSITIVE_INFINITY, () => pulling, { signal });
    } catch (error) {
      if (this.#failure) throw error;
      return false; // nobody reads on
    }
  }

  async #pull(): Promise<boolean> {
    try {
      const item = await this.#source.next();
      if (item.done) this.#ended = true;
      else this.#kept.push(item.value);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    if (this.#kept.length > this.#most) {
      this.#kept.shift();
      this.#from++;
    }
    return !this.#ended;
  }

  #forget(place: number): void {
    if (this.#needed) return;
    const read = place - this.#from;
    if (read <= 0) return;
    this.#kept.splice(0, read);
    this.#from = place;
  }
}
