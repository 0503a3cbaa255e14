/** One engine after the other, until one of them does what is asked. */

import { CoreError, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type { AudioFrame, PcmChunk } from '@device-core/plugin-api/services/audio';
import type {
  EngineKind,
  SpeakOptions,
  Speech,
  TranscribeOptions,
  Transcript,
  VadResult,
  WakeHit,
} from '@device-core/plugin-api/services/speech';
import { Record } from './record.ts';
import type { Registry, Row, Wanted } from './registry.ts';
import { Speakable } from './speakable.ts';

export interface Limits {
  /** Milliseconds for a result after the last frame, and for the first sound of an answer. */
  readonly resultMs: number;
  /** Frames of an utterance that another engine can be given again. */
  readonly utterance: number;
}

/** Frames that a VAD may keep to itself, and that a wake engine hears again when it takes the place of another. */
const RECENT = 100;
/** Letters for which every engine of speech has a sound. */
const LATIN = /[\p{Script=Latin}\p{N}]/u;
/** Characters of what is heard: more is said by none in a command. */
const MOST_HEARD = 4_000;
/** Codes that blame the question, not the engine. */
const NO_FAULT: ReadonlySet<string> = new Set(['PARAMS_INVALID', 'LANGUAGE_UNSUPPORTED']);

export class Chain {
  readonly #registry: Registry;
  readonly #scope: Scope;
  readonly #limits: Limits;
  readonly #speakable = new Speakable();

  constructor(registry: Registry, scope: Scope, limits: Limits) {
    this.#registry = registry;
    this.#scope = scope;
    this.#limits = limits;
  }

  detectSpeech(
    frames: AsyncIterable<AudioFrame>,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<VadResult, void, undefined> {
    const open = (row: Row<'vad'>, copy: AsyncIterable<AudioFrame>, signal: AbortSignal) =>
      row.engine.detect(copy, { signal });
    return this.#follow('vad', frames, options.signal, open);
  }

  detectWake(
    frames: AsyncIterable<AudioFrame>,
    options: Parameters<Speech['detectWake']>[1],
  ): AsyncGenerator<WakeHit, void, undefined> {
    const speakable = this.#speakable;
    const { trial } = options;
    const open = async function* (row: Row<'wake'>, copy: AsyncIterable<AudioFrame>, signal: AbortSignal) {
      const phrases = await speakable.phrases(row, options.phrases);
      yield* row.engine.detect(copy, { phrases, signal, ...maybe({ trial }) });
    };
    return this.#follow('wake', frames, options.signal, open, trial);
  }

  async transcribe(
    frames: AsyncIterable<AudioFrame>,
    options: TranscribeOptions & Wanted,
  ): Promise<Transcript & { readonly engine: string; readonly stage: 'local' | 'cloud' }> {
    const { stage, engine, signal: outer, ...asked } = options;
    const wanted = { language: options.language, engine, stage: stage ?? (engine === undefined ? 'local' : undefined) };
    const rows = this.#registry.choose('stt', wanted);
    const record = new Record(frames, this.#limits.utterance, this.#scope);
    try {
      return await this.#first(rows, outer, async (row, signal, last) => {
        if (last) record.settle();
        if (record.lost > 0) throw failure(row, 'the speech before was too long to be heard again');
        using late = new Late(this.#scope, row, this.#limits.resultMs);
        const copy = watched(record.copy(signal), late);
        const work = async () =>
          row.engine.transcribe(copy, { ...asked, ...(await this.#speakable.asked(row, asked)), signal });
        const ends = AbortSignal.any([outer, late.signal]);
        const answer = this.#scope.within('the transcription', Number.POSITIVE_INFINITY, work, { signal: ends });
        const transcript = await answer.catch((error: unknown) => {
          throw record.failure ? new SourceFailure(record.failure.error) : error;
        });
        check(row, transcript);
        return { ...transcript, engine: row.description.id, stage: row.description.stage };
      });
    } finally {
      record.close();
    }
  }

  async unspeakable(words: readonly string[], language: string): Promise<readonly string[]> {
    const [row] = this.#registry.fitting('stt', { language, stage: 'local' });
    return (await row?.engine.unspeakable?.(words, language)) ?? [];
  }

  /** Wake phrases that no engine was asked for, with the engine that cannot look for them. */
  phrasesLeftOut(): readonly { readonly engine: string; readonly phrases: readonly string[] }[] {
    return this.#registry.fitting('wake', {}).flatMap((row) => {
      const phrases = this.#speakable.leftOut(row);
      return phrases.length > 0 ? [{ engine: row.description.id, phrases }] : [];
    });
  }

  async *speak(text: string, options: SpeakOptions & Pick<Wanted, 'stage'>): AsyncGenerator<PcmChunk, void, undefined> {
    const { stage = 'local', signal: given, ...asked } = options;
    const outer = given ?? this.#scope.signal;
    const rows = this.#registry.choose('tts', { language: options.language, stage });
    let begun = false;
    for (const [index, row] of rows.entries()) {
      const own = new AbortController();
      const signal = AbortSignal.any([outer, own.signal]);
      this.#registry.began(row);
      try {
        using late = new Late(this.#scope, row, this.#limits.resultMs);
        const chunks = row.engine.speak(text, { ...asked, signal });
        for await (const chunk of this.#scope.until(chunks, outer, late.signal)) {
          late.end();
          begun = true;
          yield chunk;
          late.begin();
        }
        this.#checkEnd(outer, late);
        // Signs alone have no sound; that is no fault of the engine.
        if (begun || !/[\p{L}\p{N}]/u.test(text)) {
          this.#registry.served(row);
          return;
        }
        // Nor is a text of another script: the next engine may have a sound for it, and it is no reason to pass over this one.
        if (LATIN.test(text)) throw failure(row, 'it gave no sound');
      } catch (error) {
        const told = this.#judge(row, error, outer);
        if (begun || index === rows.length - 1 || outer.aborted) throw told;
      } finally {
        own.abort(over('speech'));
      }
    }
  }

  async *#follow<K extends 'vad' | 'wake', T>(
    kind: K,
    frames: AsyncIterable<AudioFrame>,
    outer: AbortSignal,
    open: (row: Row<K>, copy: AsyncIterable<AudioFrame>, signal: AbortSignal) => AsyncIterable<T>,
    scores = false,
  ): AsyncGenerator<T, void, undefined> {
    const rows = this.#registry.choose(kind, { stage: 'local', scores });
    const eachFrame = kind === 'vad';
    const record = new Record(frames, RECENT, this.#scope);
    let given = 0;
    try {
      for (const [index, row] of rows.entries()) {
        const own = new AbortController();
        const signal = AbortSignal.any([outer, own.signal]);
        this.#registry.began(row as unknown as Row);
        try {
          using late = new Late(this.#scope, row, this.#limits.resultMs);
          if (index === rows.length - 1) record.settle();
          let unanswered = 0;
          const copy = watched(record.copy(signal), late, () => {
            unanswered++;
            if (eachFrame && unanswered > RECENT) late.fail(failure(row, `it is silent for ${RECENT} frames`));
          });
          for await (const item of this.#scope.until(open(row, copy, signal), outer, late.signal)) {
            unanswered = 0;
            given++;
            if (given === 1) record.settle();
            this.#registry.served(row as unknown as Row);
            yield item;
          }
          this.#checkEnd(outer, late);
          // Frames are left although it has ended: it did not say why.
          if (!record.ended && !outer.aborted) throw failure(row, 'it ended before the sound did');
          return;
        } catch (error) {
          if (record.failure) throw record.failure.error;
          const told = this.#judge(row as unknown as Row, error, outer);
          if (given > 0 || index === rows.length - 1 || outer.aborted) throw told;
        } finally {
          own.abort(over(kind));
        }
      }
    } finally {
      record.close();
    }
  }

  async #first<K extends EngineKind, T>(
    rows: readonly Row<K>[],
    outer: AbortSignal,
    work: (row: Row<K>, signal: AbortSignal, last: boolean) => Promise<T>,
  ): Promise<T> {
    let told: unknown;
    for (const [index, row] of rows.entries()) {
      const own = new AbortController();
      this.#registry.began(row as unknown as Row);
      try {
        const result = await work(row, AbortSignal.any([outer, own.signal]), index === rows.length - 1);
        this.#registry.served(row as unknown as Row);
        return result;
      } catch (error) {
        if (error instanceof SourceFailure) throw error.error;
        told = this.#judge(row as unknown as Row, error, outer);
        if (outer.aborted) throw told;
      } finally {
        own.abort(over(row.kind));
      }
    }
    throw told;
  }

  /** Throws the reason where a loop over what an engine gives was not ended by the engine. */
  #checkEnd(outer: AbortSignal, late: Late): void {
    for (const signal of [outer, this.#scope.signal, late.signal]) signal.throwIfAborted();
  }

  /** The error as the caller sees it; the engine is put aside where it is to blame. */
  #judge(row: Row, error: unknown, outer: AbortSignal): unknown {
    for (const signal of [outer, this.#scope.signal]) if (signal.aborted) return cancelled(row.kind, signal);
    if (error instanceof CoreError && NO_FAULT.has(error.code)) return error;
    this.#registry.failed(row, error);
    if (error instanceof CoreError && error.code === 'SPEECH_FAILED') return error;
    return failure(row, reasonOf(error), error);
  }
}

/** Failure of the frames, not of an engine. */
class SourceFailure extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    super(reasonOf(error));
    this.error = error;
  }
}

/**
 * A deadline that runs while there is nothing to wait for but the engine. One timer looks now and then, for turns are
 * as many as frames.
 */
class Late implements Disposable {
  readonly #stop = new AbortController();
  readonly #scope: Scope;
  readonly #row: Row;
  readonly #ms: number;
  #since: number | undefined;
  #timer: Disposable | undefined;

  constructor(scope: Scope, row: object, ms: number) {
    this.#scope = scope;
    this.#row = row as Row;
    this.#ms = ms;
    this.begin();
    this.#look();
  }

  /** Aborted when the engine is late, or has failed in another way; the reason says how. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  fail(error: CoreError): void {
    this.#stop.abort(error);
  }

  /** It is the engine's turn. */
  begin(): void {
    this.#since = this.#scope.clock.monotonic();
  }

  end(): void {
    this.#since = undefined;
  }

  #look(): void {
    const { kind, description } = this.#row;
    if (this.#since !== undefined && this.#scope.clock.monotonic() - this.#since > this.#ms) {
      this.fail(failure(this.#row, `it gave nothing for ${this.#ms} ms`));
      return;
    }
    const ms = Math.ceil(this.#ms / 8);
    this.#timer = this.#scope.timeout(`result of ${kind} engine ${description.id}`, ms, () => this.#look());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}

/** The same frames; while the engine waits for one it is not late. Tells of each that it takes. */
function watched(frames: AsyncIterable<AudioFrame>, late: Late, taken?: () => void): AsyncIterable<AudioFrame> {
  return {
    [Symbol.asyncIterator]: () => {
      const source = frames[Symbol.asyncIterator]();
      return {
        async next() {
          late.end();
          const item = await source.next();
          late.begin();
          if (!item.done) taken?.();
          return item;
        },
        return: async () => (await source.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

/** Throws SPEECH_FAILED: what does not keep the contract is not believed, however sure the engine is. */
function check(row: object, { text, confidence }: Transcript): void {
  if (typeof text !== 'string' || text.length > MOST_HEARD)
    throw failure(row, `it gave no text of at most ${MOST_HEARD} characters`);
  if (confidence !== undefined && !(confidence >= 0 && confidence <= 1))
    throw failure(row, `its confidence of ${String(confidence).slice(0, 40)} is not 0 to 1`);
}

function over(kind: string): CoreError {
  return new CoreError('CANCELLED', { what: kind, reason: 'it is over' });
}

function cancelled(kind: string, signal: AbortSignal): unknown {
  if (signal.reason instanceof CoreError) return signal.reason;
  return new CoreError('CANCELLED', { what: kind, reason: 'the caller no longer waits' });
}

function failure(row: object, reason: string, cause?: unknown): CoreError {
  const { kind, description } = row as Row;
  return new CoreError('SPEECH_FAILED', { engine: `${kind} engine ${description.id}`, reason }, { cause });
}
