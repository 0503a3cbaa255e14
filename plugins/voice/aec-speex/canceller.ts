/** Streams of frames, each with what it has learned of its room. */

import { CoreError } from '@device-core/plugin-api';
import {
  CAPTURE_RATE,
  type CleanFrame,
  type EchoCanceller,
  type EchoFrame,
  FRAME_SAMPLES,
} from '@device-core/plugin-api/services/audio';
import type { Pointer, SpeexDsp } from './library.ts';

const SET_SAMPLING_RATE = 24;
/** One is asked for; another may not have ended yet when the next begins. */
const MOST_STREAMS = 4;

export class SpeexCanceller implements EchoCanceller, Disposable {
  readonly #library: SpeexDsp;
  readonly #tail: number;
  /** States of streams that go on. */
  readonly #states = new Set<Pointer>();
  #closed = false;

  constructor(library: SpeexDsp, tailMs: number) {
    this.#library = library;
    this.#tail = Math.round((tailMs * CAPTURE_RATE) / 1_000);
  }

  async *clean(
    frames: AsyncIterable<EchoFrame>,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<CleanFrame, void, undefined> {
    const state = this.#open();
    try {
      for await (const { seq, near, far } of frames) {
        if (signal.aborted || this.#closed) return;
        checked(near, 'near');
        checked(far, 'far');
        const samples = new Int16Array(FRAME_SAMPLES);
        this.#library.speex_echo_cancellation(state, near, far, samples);
        yield { seq, samples };
      }
    } finally {
      this.#close(state);
    }
  }

  /** A remaining reader gets the end: the memory behind it is gone. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const state of [...this.#states]) this.#close(state);
  }

  #open(): Pointer {
    if (this.#closed) throw unavailable('it stops');
    if (this.#states.size >= MOST_STREAMS)
      throw new CoreError('BUSY', { what: 'echo cancellation', limit: MOST_STREAMS });
    const state = this.#library.speex_echo_state_init(FRAME_SAMPLES, this.#tail);
    if (!state) throw unavailable('there is no memory for it');
    this.#library.speex_echo_ctl(state, SET_SAMPLING_RATE, Int32Array.of(CAPTURE_RATE));
    this.#states.add(state);
    return state;
  }

  #close(state: Pointer): void {
    if (this.#states.delete(state)) this.#library.speex_echo_state_destroy(state);
  }
}

export function unavailable(reason: string): CoreError {
  return new CoreError('AUDIO_UNAVAILABLE', { verb: 'cancel the echo', reason });
}

/** The library reads and writes whole frames, whatever there is. Throws PARAMS_INVALID. */
function checked(samples: unknown, where: string): void {
  if (samples instanceof Int16Array && samples.length === FRAME_SAMPLES) return;
  throw new CoreError('PARAMS_INVALID', { where, reason: `it must be ${FRAME_SAMPLES} samples of 16 bits` });
}
