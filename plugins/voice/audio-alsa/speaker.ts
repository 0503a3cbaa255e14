import { CoreError, type Scope } from '@device-core/plugin-api';
import { bytesOfSamples, msOf, waitUntil } from '@device-core/plugin-api/audio';
import { type ProgramOptions, playing } from './program.ts';

const BLOCK_MS = 20;
/** From the first samples that are written until they are heard, beyond what the card needs to start. */
const START_MS = 10;
/** It takes no more samples: the card hangs. */
const STALL_MS = 2_000;
/** Longest time until the written samples were heard; after it the card hangs. */
const DRAIN_MS = 3_000;
const BACKOFF_MS = [50, 200, 800] as const;

export interface SpeakerOptions {
  readonly scope: Scope;
  readonly program: ProgramOptions;
  readonly rate: number;
  /** So much is written before it is due. */
  readonly leadMs: number;
  readonly onProblem: (reason: string | undefined) => void;
}

type Sink = ReturnType<typeof playing>;

export class Speaker {
  readonly #options: SpeakerOptions;
  #busy = false;

  constructor(options: SpeakerOptions) {
    this.#options = options;
  }

  async play(chunks: AsyncIterable<Int16Array>, signal: AbortSignal, started?: (at: number) => void): Promise<void> {
    if (this.#busy) throw unavailable('the speaker is in use already');
    if (signal.aborted) return;
    this.#busy = true;
    const part = this.#options.scope.child('play');
    const source = chunks[Symbol.asyncIterator]();
    const over = AbortSignal.any([signal, part.signal]);
    const run = new PlayRun(this.#options, part, over, started);
    let complete = false;
    try {
      complete = await run.play(source);
    } finally {
      // A source that is asleep would keep the end waiting.
      if (!complete) void Promise.resolve(source.return?.()).catch(() => undefined);
      await part[Symbol.asyncDispose]();
      await run.ended;
      this.#busy = false;
    }
  }
}

/** One sound through one program, or through several where it ends in the middle. */
class PlayRun {
  readonly #options: SpeakerOptions;
  readonly #part: Scope;
  readonly #over: AbortSignal;
  readonly #started: ((at: number) => void) | undefined;
  #sink: Sink | undefined;
  #due: number | undefined;
  #failures = 0;

  constructor(options: SpeakerOptions, part: Scope, over: AbortSignal, started?: (at: number) => void) {
    this.#options = options;
    this.#part = part;
    this.#over = over;
    this.#started = started;
    part.defer('aplay', () => void this.#sink?.child.kill('SIGKILL'));
  }

  get ended(): Promise<unknown> | undefined {
    return this.#sink?.ended;
  }

  /** True: the source came to its end. */
  async play(source: AsyncIterator<Int16Array>): Promise<boolean> {
    const { rate, leadMs } = this.#options;
    const block = Math.round((rate * BLOCK_MS) / 1_000);
    for (;;) {
      const item = await this.#unlessOver(source.next());
      if (!item || this.#over.aborted) return false;
      if (item.done) break;
      for (let from = 0; from < item.value.length; from += block) {
        const samples = item.value.subarray(from, from + block);
        const now = this.#part.clock.monotonic();
        if (this.#due === undefined) {
          this.#due = now + START_MS;
          this.#started?.(this.#due);
        }
        // The source was late.
        if (now > this.#due) this.#due = now + START_MS;
        if (!(await waitUntil(this.#part, this.#due - leadMs, this.#over))) return false;
        await this.#write(bytesOfSamples(samples));
        this.#due += msOf(samples.length, rate);
      }
    }
    await this.#drain();
    return true;
  }

  /** Rejects with AUDIO_UNAVAILABLE where it cannot be written, not even to a new program. */
  async #write(bytes: Uint8Array): Promise<void> {
    for (;;) {
      if (this.#over.aborted) return;
      this.#sink ??= playing(this.#options.program);
      const sink = this.#sink;
      if (!sink.end() && (sink.child.stdin.write(bytes) || (await this.#room(sink)))) {
        if (this.#failures > 0 && !sink.end()) this.#options.onProblem(undefined);
        return;
      }
      if (this.#over.aborted) return;
      await this.#again(sink);
    }
  }

  /** It takes more. False: it has ended, or hangs. */
  async #room(sink: Sink): Promise<boolean> {
    const drained = Promise.withResolvers<boolean>();
    const room = () => drained.resolve(true);
    const late = this.#part.timeout('room in aplay', STALL_MS, () => drained.resolve(false));
    sink.child.stdin.once('drain', room);
    void sink.ended.then(() => drained.resolve(false));
    try {
      return (await this.#unlessOver(drained.promise)) ?? true;
    } finally {
      sink.child.stdin.off('drain', room);
      late[Symbol.dispose]();
    }
  }

  /** After a while, for a card that was unplugged may come back. */
  async #again(sink: Sink): Promise<void> {
    const reason = sink.end()?.reason ?? 'the speaker takes no more sound';
    sink.child.kill('SIGKILL');
    await sink.ended;
    this.#sink = undefined;
    this.#options.onProblem(reason);
    const wait = BACKOFF_MS[this.#failures++];
    if (wait === undefined) throw unavailable(reason);
    await waitUntil(this.#part, this.#part.clock.monotonic() + wait, this.#over);
  }

  async #drain(): Promise<void> {
    const sink = this.#sink;
    if (!sink || this.#due === undefined) return;
    sink.child.stdin.end();
    const left = Math.max(0, this.#due - this.#part.clock.monotonic());
    const late = this.#part.timeout('the end of aplay', left + DRAIN_MS, () => void sink.child.kill('SIGKILL'));
    const end = await this.#unlessOver(sink.ended);
    late[Symbol.dispose]();
    if (!end) return;
    this.#options.onProblem(end.reason);
    if (end.reason !== undefined) throw unavailable(end.reason);
    await waitUntil(this.#part, this.#due, this.#over);
  }

  /** Undefined where it is over first. */
  async #unlessOver<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await this.#part.within('aplay', Number.POSITIVE_INFINITY, () => work, { signal: this.#over });
    } catch (error) {
      if (!this.#over.aborted) throw error;
      return undefined;
    }
  }
}

function unavailable(reason: string): CoreError {
  return new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason });
}
