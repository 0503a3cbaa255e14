/** The way to one external engine: a connection for each request, whose failures are told as those of an engine. */
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Address } from './address.ts';
import type { WyomingEvent } from './codec.ts';
import { Connection } from './connection.ts';
import type { Settings } from './settings.ts';

/** Codes that blame the question, or name the engine already. */
const AS_IT_IS: ReadonlySet<string> = new Set(['SPEECH_FAILED', 'PARAMS_INVALID', 'LANGUAGE_UNSUPPORTED', 'CANCELLED']);
const MOST_REASON = 200;

export class Link {
  /** For messages: `stt engine whisper`. */
  readonly name: string;
  readonly settings: Settings;
  readonly #address: Address;
  readonly #scope: Scope;
  readonly #broken: () => void;
  #inUse = 0;

  /** `broken` is called when the service cannot be reached or hangs up. */
  constructor(name: string, address: Address, scope: Scope, settings: Settings, broken: () => void) {
    this.name = name;
    this.settings = settings;
    this.#address = address;
    this.#scope = scope;
    this.#broken = broken;
  }

  get inUse(): boolean {
    return this.#inUse > 0;
  }

  get scopeSignal(): AbortSignal {
    return this.#scope.signal;
  }

  /** A connection that fails when the signal aborts. Rejects with what told() makes of it. */
  async open(signal: AbortSignal): Promise<{ readonly connection: Connection } & AsyncDisposable> {
    const { connectMs, stallMs, lineBytes, dataBytes, payloadBytes } = this.settings;
    const settings = { connectMs, stallMs, limits: { lineBytes, dataBytes, payloadBytes } };
    this.#inUse++;
    try {
      const connection = await Connection.open(this.#address, this.#scope, settings, signal);
      const stop = () => connection.fail('the caller no longer waits');
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      return {
        connection,
        [Symbol.asyncDispose]: async () => {
          this.#inUse--;
          signal.removeEventListener('abort', stop);
          await connection[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      this.#inUse--;
      throw this.told(error, signal);
    }
  }

  /** The error as the caller sees it. */
  told(error: unknown, signal: AbortSignal): CoreError {
    for (const one of [signal, this.#scope.signal]) {
      if (!one.aborted) continue;
      if (one.reason instanceof CoreError) return one.reason;
      return new CoreError('CANCELLED', { what: this.name, reason: 'the caller no longer waits' });
    }
    if (error instanceof CoreError && AS_IT_IS.has(error.code)) return error;
    if (error instanceof CoreError && error.code === 'UNAVAILABLE') this.#broken();
    return this.failed(reasonOf(error), error);
  }

  failed(reason: string, cause?: unknown): CoreError {
    return new CoreError('SPEECH_FAILED', { engine: this.name, reason }, { cause });
  }

  /** Error of an `error` event. */
  refused({ data }: WyomingEvent): CoreError {
    const { text, code } = data;
    const words = [code, text].filter((one) => typeof one === 'string' && one !== '').join(': ');
    return this.failed(`it says ${words.slice(0, MOST_REASON) || 'that it failed'}`);
  }

  hungUp(what: string): CoreError {
    return new CoreError('UNAVAILABLE', { what: this.#address.uri, reason: `it hung up before ${what}` });
  }
}
