import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { Latest, Reblocker, SampleReader, waitUntil } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE, FRAME_MS } from '@device-core/plugin-api/services/audio';
import { type ProgramOptions, record } from './program.ts';

/** Frames that wait for a reader who is slow: 1 s. */
const QUEUE = 50;
/** A card gives no more than its buffer holds ahead of the clock; what does is a file, and is held back. */
const UNCLOCKED_MS = 250;
/** That is seen at once; later the clocks of card and system may have drifted apart. */
const YOUNG_MS = 2_000;
/** No sound for so long: the card hangs. */
const STALL_MS = 2_000;
const BACKOFF_MS = [100, 400, 1_600, 3_000] as const;

export interface MicrophoneOptions {
  readonly scope: Scope;
  readonly program: ProgramOptions;
  /** Why it cannot be heard; undefined: it can. */
  readonly onProblem: (reason: string | undefined) => void;
}

export class Microphone {
  readonly #options: MicrophoneOptions;
  #busy = false;
  #lost = 0;
  #unmuted: PromiseWithResolvers<void> | undefined;
  #halt: (() => Promise<unknown>) | undefined;

  constructor(options: MicrophoneOptions) {
    this.#options = options;
  }

  get lost(): number {
    return this.#lost;
  }

  /** While it is muted nothing reads the card. */
  async mute(muted: boolean): Promise<void> {
    if (muted) {
      this.#unmuted ??= Promise.withResolvers<void>();
      await this.#halt?.();
    } else {
      this.#unmuted?.resolve();
      this.#unmuted = undefined;
    }
  }

  async *capture(signal: AbortSignal): AsyncGenerator<AudioFrame> {
    if (this.#busy) throw unavailable('the microphone is in use already');
    if (signal.aborted) return;
    this.#busy = true;
    const part = this.#options.scope.child('capture');
    const queue = new Latest<AudioFrame>(QUEUE);
    const over = AbortSignal.any([signal, part.signal]);
    const stop = () => queue.close();
    over.addEventListener('abort', stop, { once: true });
    const running = this.#run(part, queue, over).catch((error) => queue.fail(error));
    try {
      yield* queue;
    } finally {
      over.removeEventListener('abort', stop);
      this.#lost += queue.dropped;
      await part[Symbol.asyncDispose]();
      await running;
      this.#busy = false;
    }
  }

  /** Starts the program again where it ends by itself. Rejects with AUDIO_UNAVAILABLE when it gives nothing any more. */
  async #run(part: Scope, queue: Latest<AudioFrame>, signal: AbortSignal): Promise<void> {
    let seq = 0;
    let failures = 0;
    while (!signal.aborted) {
      const before = seq;
      if (await this.#muted(part, signal)) return;
      const reason = await this.#read(part, signal, (frame) => queue.push({ ...frame, seq: seq++ }), queue);
      if (signal.aborted) return;
      if (this.#unmuted) continue;
      failures = seq > before ? 0 : failures + 1;
      this.#options.onProblem(reason);
      const wait = BACKOFF_MS[failures];
      if (seq === 0 || wait === undefined) throw unavailable(reason);
      // Time without capture is a gap.
      seq += Math.ceil(wait / FRAME_MS);
      if (!(await waitUntil(part, part.clock.monotonic() + wait, signal))) return;
    }
  }

  /** Waits while it is muted. True: the signal came first. */
  async #muted(part: Scope, signal: AbortSignal): Promise<boolean> {
    while (this.#unmuted && !signal.aborted) {
      const { promise } = this.#unmuted;
      try {
        await part.within('the microphone', Number.POSITIVE_INFINITY, () => promise, { signal });
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    return signal.aborted;
  }

  /** Resolves with the reason when the program has ended. */
  async #read(
    part: Scope,
    signal: AbortSignal,
    take: (frame: Omit<AudioFrame, 'seq'>) => void,
    queue: Latest<AudioFrame>,
  ): Promise<string> {
    const { child, ended } = record(this.#options.program);
    const run = part.child('arecord');
    const kill = () => void child.kill('SIGKILL');
    run.defer('arecord', kill);
    signal.addEventListener('abort', kill, { once: true });
    let halted = false;
    let hung = false;
    this.#halt = () => {
      halted = true;
      queue.clear();
      kill();
      return ended;
    };
    const samples = new SampleReader();
    const blocks = new Reblocker();
    const pieces = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let began: number | undefined;
    let count = 0;
    let held = false;
    try {
      for (;;) {
        const limit = run.timeout('sound of arecord', STALL_MS, () => {
          hung = true;
          kill();
        });
        const { done, value } = await pieces.next().finally(() => limit[Symbol.dispose]());
        if (done || signal.aborted || halted) break;
        const now = part.clock.monotonic();
        const frames = [...blocks.push(samples.read(value))];
        began ??= now - FRAME_MS;
        const young = now - began < YOUNG_MS;
        for (const [index, frame] of frames.entries()) {
          count++;
          const due: number = began + count * FRAME_MS;
          held ||= young && due - now > UNCLOCKED_MS;
          if (held && !(await waitUntil(run, due, signal))) return 'it was stopped';
          if (halted) return 'it was muted';
          this.#options.onProblem(undefined);
          // Several at once: the last one is of now, those before it have waited.
          const at = young ? Math.min(due, now) : now - (frames.length - 1 - index) * FRAME_MS;
          take({ at: held ? due : at, samples: frame });
        }
      }
    } catch (error) {
      return reasonOf(error);
    } finally {
      this.#halt = undefined;
      signal.removeEventListener('abort', kill);
      child.stdout.destroy();
      await run[Symbol.asyncDispose]();
      await ended;
    }
    if (hung) return `no sound came for ${STALL_MS} ms at ${CAPTURE_RATE} Hz`;
    return (await ended).reason ?? 'the microphone has ended';
  }
}

function unavailable(reason: string): CoreError {
  return new CoreError('AUDIO_UNAVAILABLE', { verb: 'capture', reason });
}
