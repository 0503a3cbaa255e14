/** Frames on their way from the microphone to those who hear it, by way of an echo canceller where there is one and something to cancel. */

import { CoreError, type Logger, maybe, type Scope, toCoreError } from '@device-core/plugin-api';
import { Latest } from '@device-core/plugin-api/audio';
import {
  type AudioFrame,
  type CleanFrame,
  type EchoCanceller,
  type EchoFrame,
  FRAME_SAMPLES,
} from '@device-core/plugin-api/services/audio';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { type FarEnd, NearClock } from './far-end.ts';

export interface EchoOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly farEnd: FarEnd;
  /** Milliseconds that a frame may take; then it is passed on as it is. */
  readonly deadlineMs: number;
  /** So much later than a frame was captured, by its time, is what the canceller is told of the speaker: times of devices are not exact. */
  readonly aheadMs: number;
  /** To those who hear, in order. */
  readonly hand: (frame: AudioFrame) => void;
}

interface Waiting {
  readonly frame: AudioFrame;
  /** Monotonic. */
  readonly due: number;
  clean: AudioFrame | undefined;
}

interface Session {
  readonly input: Latest<EchoFrame>;
  readonly stop: AbortController;
}

/** Frames that wait for a canceller that reads slowly: each of them is late already. */
const MOST_INPUT = 25;
/** Half a second: who is late so often is not asked for a while. */
const MOST_LATE = 25;
const LEAST_BACKOFF_MS = 2_000;
const MOST_BACKOFF_MS = 60_000;

export class EchoStage {
  readonly #options: EchoOptions;
  readonly #clock = new NearClock();
  #canceller: EchoCanceller | undefined;
  #session: Session | undefined;
  #waiting: Waiting[] = [];
  #timer: Disposable | undefined;
  /** Frames that were passed on as they are because they took too long. */
  #uncleaned = 0;
  #lateInARow = 0;
  #backoff = LEAST_BACKOFF_MS;
  #retryAt = 0;
  #problem: CoreError | undefined;

  constructor(options: EchoOptions) {
    this.#options = options;
    options.scope.defer('echo cancellation', () => this.#end());
  }

  /** Undefined where no plugin cancels echoes. */
  get health(): ComponentHealth | undefined {
    if (!this.#canceller) return undefined;
    const passed = this.#uncleaned > 0 ? `${this.#uncleaned} frames were passed on with their echo` : undefined;
    if (!this.#problem) return { status: 'okay', ...maybe({ message: passed }) };
    const { code, message } = this.#problem;
    const told = passed === undefined ? message : `${message}; ${passed}`;
    return { status: code === 'AUDIO_UNAVAILABLE' ? 'waiting' : 'error', code, message: told };
  }

  /** A canceller has come; it goes with the scope. */
  attach(canceller: EchoCanceller, scope: Scope): void {
    const { farEnd } = this.#options;
    this.#end();
    this.#canceller = canceller;
    this.#problem = undefined;
    this.#retryAt = 0;
    this.#backoff = LEAST_BACKOFF_MS;
    farEnd.wanted = true;
    scope.defer('echo canceller in use', () => {
      if (this.#canceller !== canceller) return;
      this.#canceller = undefined;
      farEnd.wanted = false;
      this.#end();
    });
  }

  take(frame: AudioFrame): void {
    const { farEnd, aheadMs, deadlineMs, scope } = this.#options;
    if (scope.signal.aborted) return;
    const at = this.#clock.follow(frame);
    const now = this.#options.scope.clock.monotonic();
    if (!this.#canceller || now < this.#retryAt || !farEnd.echoes(at)) {
      if (this.#waiting.length === 0) this.#options.hand(frame);
      else this.#waiting.push({ frame, due: now, clean: frame });
      return;
    }
    this.#session ??= this.#open(this.#canceller);
    const far = farEnd.take(at + aheadMs, FRAME_SAMPLES);
    this.#session.input.push({ seq: frame.seq, near: frame.samples, far });
    this.#waiting.push({ frame, due: now + deadlineMs, clean: undefined });
    this.#arm();
  }

  /** Drops frames that are on their way. */
  clear(): void {
    this.#waiting = [];
    this.#disarm();
  }

  #open(canceller: EchoCanceller): Session {
    const session: Session = {
      input: new Latest<EchoFrame>(MOST_INPUT),
      stop: new AbortController(),
    };
    this.#lateInARow = 0;
    void this.#run(canceller, session);
    return session;
  }

  /** Never rejects, and never waits for one who hangs when it is over. */
  async #run(canceller: EchoCanceller, session: Session): Promise<void> {
    const { input, stop } = session;
    const { scope } = this.#options;
    try {
      for await (const clean of scope.until(canceller.clean(input, { signal: stop.signal }), stop.signal)) {
        if (this.#session === session) this.#cleaned(clean);
      }
      if (this.#session === session && !scope.signal.aborted) throw failed('it ended by itself');
    } catch (error) {
      if (this.#session === session) this.#fail(toCoreError(error, 'echo cancellation'));
    }
  }

  #cleaned({ seq, samples }: CleanFrame): void {
    if (!(samples instanceof Int16Array) || samples.length !== FRAME_SAMPLES) {
      this.#fail(failed('its output is no frame'));
      return;
    }
    const waiting = this.#waiting.find(({ frame }) => frame.seq === seq);
    // It was passed on already, or is for nobody.
    if (!waiting) return;
    waiting.clean = { ...waiting.frame, samples };
    this.#lateInARow = 0;
    this.#backoff = LEAST_BACKOFF_MS;
    if (this.#problem) this.#options.log.info({}, 'echoes are cancelled again');
    this.#problem = undefined;
    this.#release();
  }

  /** Passes on what is done or due, in order. */
  #release(): void {
    const now = this.#options.scope.clock.monotonic();
    for (;;) {
      const [first] = this.#waiting;
      if (!first || (!first.clean && first.due > now)) break;
      this.#waiting.shift();
      if (!first.clean) {
        this.#uncleaned++;
        this.#lateInARow++;
      }
      this.#options.hand(first.clean ?? first.frame);
    }
    if (this.#lateInARow >= MOST_LATE && this.#session) {
      const { deadlineMs } = this.#options;
      this.#fail(new CoreError('TIMEOUT', { what: 'echo cancellation', ms: deadlineMs }));
    }
    this.#arm();
  }

  #arm(): void {
    const [first] = this.#waiting;
    if (!first) this.#disarm();
    if (!first || this.#timer) return;
    const left = Math.max(0, Math.ceil(first.due - this.#options.scope.clock.monotonic()));
    this.#timer = this.#options.scope.timeout('cleaned frame', left, () => {
      this.#timer = undefined;
      this.#release();
    });
  }

  #disarm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #fail(error: CoreError): void {
    const { log } = this.#options;
    if (error.code !== this.#problem?.code)
      log.warn({ code: error.code, reason: error.message }, 'echoes are not cancelled');
    this.#problem = error;
    this.#retryAt = this.#options.scope.clock.monotonic() + this.#backoff;
    this.#backoff = Math.min(this.#backoff * 2, MOST_BACKOFF_MS);
    this.#end();
  }

  /** Waiting frames are passed on as they are. */
  #end(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.stop.abort();
    session?.input.close();
    this.#disarm();
    for (const { frame, clean } of this.#waiting.splice(0)) this.#options.hand(clean ?? frame);
  }
}

function failed(reason: string): CoreError {
  return new CoreError('UNAVAILABLE', { what: 'echo cancellation', reason });
}
