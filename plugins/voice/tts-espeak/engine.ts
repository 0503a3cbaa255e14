import { CoreError, type Scope } from '@device-core/plugin-api';
import { monotonicMs, type PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import { run } from './program.ts';
import { WavStream } from './wav-stream.ts';

export const ENGINE = 'espeak';
export const MOST_CHARACTERS = 5_000;
const MOST_AT_ONCE = 4;
/** Nobody waits longer for the next piece. */
const STALL_MS = 5_000;
/** The silence before the first word. */
const SILENCE = 150;
const LEAD_MS = 10;

export interface EspeakOptions {
  readonly scope: Scope;
  readonly command: string;
  /** Tags of what it speaks, lower case. */
  readonly voices: readonly string[];
  readonly voice: string;
  readonly wordsPerMinute: number;
  /** There is no such program any more. */
  readonly onAbsent: () => void;
}

export class Espeak implements TtsEngine {
  readonly #options: EspeakOptions;
  #running = 0;

  constructor(options: EspeakOptions) {
    this.#options = options;
  }

  async *speak(text: string, options: SpeakOptions): AsyncGenerator<PcmChunk> {
    const voice = this.#voiceFor(options);
    if (text.length > MOST_CHARACTERS) {
      const reason = `it has ${text.length} characters, at most ${MOST_CHARACTERS} are spoken at once`;
      throw new CoreError('PARAMS_INVALID', { where: 'text', reason });
    }
    // Without a letter or a digit it would spell the signs.
    if (!/[\p{L}\p{N}]/u.test(text)) return;
    if (options.signal?.aborted) throw cancelled();
    if (this.#running >= MOST_AT_ONCE) throw new CoreError('BUSY', { what: 'espeak-ng', limit: MOST_AT_ONCE });
    this.#running++;
    try {
      yield* this.#run(text, voice, options.signal);
    } finally {
      this.#running--;
    }
  }

  async *#run(text: string, voice: string, signal: AbortSignal | undefined): AsyncGenerator<PcmChunk> {
    const { scope, command, wordsPerMinute, onAbsent } = this.#options;
    // Control characters may be commands of the synthesiser.
    const plain = text.replace(/\p{Cc}+/gu, ' ');
    const args = ['--stdin', '--stdout', '-b', '1', '-v', voice, '-s', String(wordsPerMinute)];
    const { child, ended } = run(command, args, plain);
    const part = scope.child('espeak-ng');
    part.defer('espeak-ng', () => void child.kill('SIGKILL'));
    const stop = () => void child.kill('SIGKILL');
    signal?.addEventListener('abort', stop, { once: true });
    const pieces = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const wav = new WavStream();
    let silent = true;
    let late = false;
    try {
      for (;;) {
        const asked = monotonicMs();
        const limit = part.timeout('sound of espeak-ng', STALL_MS, () => {
          late = true;
          stop();
        });
        const { done, value } = await pieces.next().finally(() => limit[Symbol.dispose]());
        if (signal?.aborted) throw cancelled();
        if (late) throw new CoreError('TIMEOUT', { what: 'espeak-ng', ms: Math.round(monotonicMs() - asked) });
        if (done) break;
        const chunk = wav.push(value);
        if (!chunk) continue;
        const from = silent ? chunk.samples.findIndex((sample) => Math.abs(sample) > SILENCE) : 0;
        if (from < 0) continue;
        silent = false;
        const first = Math.max(0, from - Math.round((LEAD_MS * chunk.rate) / 1_000));
        yield { rate: chunk.rate, samples: chunk.samples.slice(first) };
        if (signal?.aborted) throw cancelled();
      }
      const { status, told, absent } = await ended;
      if (absent) onAbsent();
      if (status !== 0)
        throw new CoreError('SPEECH_FAILED', { engine: ENGINE, reason: told || `it ended with ${status}` });
    } finally {
      signal?.removeEventListener('abort', stop);
      await part[Symbol.asyncDispose]();
      child.stdout.destroy();
      await ended;
    }
  }

  /** Throws LANGUAGE_UNSUPPORTED, PARAMS_INVALID. */
  #voiceFor({ voice, language }: SpeakOptions): string {
    const { voices } = this.#options;
    if (voice !== undefined) {
      const [name = '', variant = ''] = voice.toLowerCase().split('+');
      if (voices.includes(name) && /^[a-z0-9]{0,20}$/.test(variant)) return voice.toLowerCase();
      throw new CoreError('PARAMS_INVALID', { where: 'voice', reason: `espeak-ng has no voice ${voice.slice(0, 40)}` });
    }
    if (language === undefined) return this.#options.voice;
    const tag = language.toLowerCase();
    const own = this.#options.voice;
    if (own === tag || own.startsWith(`${tag}-`)) return own;
    if (voices.includes(tag)) return tag;
    const [base = ''] = tag.split('-');
    if (voices.includes(base)) return base;
    const near = voices.find((one) => one.startsWith(`${base}-`));
    if (near !== undefined) return near;
    throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: ENGINE, language });
  }
}

function cancelled(): CoreError {
  return new CoreError('CANCELLED', { what: 'speech', reason: 'the caller no longer listens' });
}
