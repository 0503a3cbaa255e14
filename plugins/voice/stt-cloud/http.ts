/** `POST {base}/audio/transcriptions`: the whole command as a WAV file in a form. */
import { randomUUID } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { CoreError } from '@device-core/plugin-api';
import { concatSamples, encodeWav } from '@device-core/plugin-api/audio';
import { answerOf, textWithin } from '@device-core/plugin-api/inside/http-answer';
import { type AudioFrame, CAPTURE_RATE, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import type { TraceContext } from '@device-core/plugin-api/tracing';
import { type CloudSettings, type Parts, together, traceHeaders } from './cloud.ts';
import { command } from './words.ts';

const MOST_ANSWER = 1024 * 1024;

export class HttpEngine implements SttEngine, Disposable {
  readonly #parts: Parts;
  readonly #settings: CloudSettings;
  readonly #url: URL;
  readonly #agent: HttpAgent;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#url = new URL(`${parts.settings.endpoint.replace(/^ws/, 'http').replace(/\/+$/, '')}/audio/transcriptions`);
    // A connection that is there already saves the time of the handshakes.
    const kept = { keepAlive: true, maxSockets: 4, maxFreeSockets: 1, timeout: 60_000 };
    this.#agent = this.#url.protocol === 'https:' ? new HttpsAgent(kept) : new HttpAgent(kept);
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, hints, prefix = [], signal } = options;
    const most = (this.#settings.mostSeconds * 1000) / FRAME_MS;
    const pieces: Int16Array[] = [];
    for await (const { samples } of frames) {
      if (signal.aborted) break;
      if (pieces.push(samples) > most) throw this.#failed(`the command is longer than ${this.#settings.mostSeconds} s`);
    }
    const stop = together(this.#parts, signal, this.#settings.connectMs + this.#settings.answerMs);
    using _limit = stop;
    const wav = encodeWav({ rate: CAPTURE_RATE, samples: concatSamples(pieces) });
    const fields = {
      model: this.#settings.model,
      language: language.split('-')[0]!,
      response_format: 'json',
      ...(hints && hints.length > 0 && { prompt: hints.join(', ') }),
    };
    const { type, body } = form(fields, wav);
    const text = await this.#post(type, body, stop.signal, options.trace);
    return { text: command(this.#textOf(text), prefix), language };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #post(type: string, body: Uint8Array, signal: AbortSignal, trace?: TraceContext): Promise<string> {
    const headers = {
      ...(await this.#parts.key.headers()),
      'content-type': type,
      'content-length': body.length,
      accept: 'application/json',
      ...traceHeaders(this.#settings, trace),
    };
    try {
      signal.throwIfAborted();
      const response = await answerOf(this.#url, { method: 'POST', headers, body, agent: this.#agent, signal });
      const answer = await textWithin(response, MOST_ANSWER);
      // Never the body: it may repeat what it was sent. A redirect is not followed, the sound was meant for one host.
      if (response.statusCode !== 200) throw this.#failed(`it answered ${response.statusCode}`);
      if (answer === undefined) throw this.#failed(`its answer exceeds ${MOST_ANSWER} bytes`);
      return answer;
    } catch (error) {
      if (error instanceof CoreError) throw error;
      if (signal.aborted) throw signal.reason;
      throw this.#failed(`it cannot be reached (${(error as NodeJS.ErrnoException).code ?? 'connection lost'})`);
    }
  }

  #textOf(answer: string): string {
    try {
      const { text } = JSON.parse(answer) as { readonly text?: unknown };
      if (typeof text === 'string') return text;
    } catch {
      // The same words for what is no JSON.
    }
    throw this.#failed('its answer is not a transcription');
  }

  #failed(reason: string): CoreError {
    return new CoreError('SPEECH_FAILED', { engine: this.#parts.name, reason });
  }
}

function form(fields: Readonly<Record<string, string>>, wav: Uint8Array): { type: string; body: Uint8Array } {
  const boundary = `----${randomUUID()}`;
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="command.wav"\r\ncontent-type: audio/wav\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(parts.join('') + file), wav, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { type: `multipart/form-data; boundary=${boundary}`, body };
}
