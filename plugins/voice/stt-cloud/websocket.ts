/** The realtime transcription of the same API: sound goes out while it is said, words come back as they are known. */

import { CoreError } from '@device-core/plugin-api';
import { bytesOfSamples, Resampler } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import { type CloudSettings, type Parts, together, traceHeaders } from './cloud.ts';
import { command } from './words.ts';

/** Most bytes that wait in the socket: some ten seconds. */
const MOST_BUFFERED = 1024 * 1024;
/** Characters of partial words. */
const MOST_HEARD = 64 * 1024;

interface Told {
  readonly type?: unknown;
  readonly delta?: unknown;
  readonly transcript?: unknown;
}

export class WebSocketEngine implements SttEngine {
  readonly #parts: Parts;
  readonly #settings: CloudSettings;
  readonly #url: string;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#url = `${parts.settings.endpoint.replace(/^http/, 'ws').replace(/\/+$/, '')}/realtime?intent=transcription`;
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { connectMs, answerMs, mostSeconds } = this.#settings;
    using limit = together(this.#parts, options.signal, connectMs + answerMs + mostSeconds * 1000);
    const { signal } = limit;
    const headers = await this.#parts.key.headers();
    signal.throwIfAborted();
    // Headers are what Node's client takes beyond the browsers' one.
    const traced = { ...headers, ...traceHeaders(this.#settings, options.trace) };
    const socket = new WebSocket(this.#url, { headers: traced } as never);
    const answer = Promise.withResolvers<string>();
    answer.promise.catch(() => undefined); // awaited below, often much later
    const { scope } = this.#parts;
    try {
      await this.#open(socket, answer, signal);
      this.#listen(socket, answer, options);
      const sent = this.#send(socket, frames, options.language, signal);
      const sentOrAnswered = new Promise<void>((resolve, reject) => {
        sent.then(resolve, reject);
        answer.promise.then(() => resolve(), reject);
      });
      await scope.within('the frames', Number.POSITIVE_INFINITY, () => sentOrAnswered, { signal });
      using late = together(this.#parts, signal, answerMs);
      const { promise } = answer;
      const text = await scope.within('the answer', Number.POSITIVE_INFINITY, () => promise, { signal: late.signal });
      return { text: command(text, options.prefix ?? []), language: options.language };
    } finally {
      socket.close();
    }
  }

  async #open(socket: WebSocket, answer: PromiseWithResolvers<string>, signal: AbortSignal): Promise<void> {
    const { connectMs } = this.#settings;
    const open = Promise.withResolvers<void>();
    socket.addEventListener('open', () => open.resolve());
    // The client does not say why: not found, refused and unreachable are one.
    socket.addEventListener('error', () => answer.reject(this.#failed('the connection failed')));
    socket.addEventListener('close', () => answer.reject(this.#failed('the connection was closed')));
    using limit = together(this.#parts, signal, connectMs);
    answer.promise.catch(open.reject);
    const opened = () => open.promise;
    await this.#parts.scope.within('the connection', Number.POSITIVE_INFINITY, opened, { signal: limit.signal });
  }

  #listen(socket: WebSocket, answer: PromiseWithResolvers<string>, options: TranscribeOptions): void {
    const { language, prefix = [], partial } = options;
    let heard = '';
    socket.addEventListener('message', ({ data }) => {
      const told = parse(data);
      if (!told) return answer.reject(this.#failed('its answer is no JSON'));
      switch (told.type) {
        case 'conversation.item.input_audio_transcription.delta':
          heard += typeof told.delta === 'string' ? told.delta : '';
          if (heard.length > MOST_HEARD) return answer.reject(this.#failed('its words have no end'));
          partial?.({ text: command(heard, prefix), language });
          break;
        case 'conversation.item.input_audio_transcription.completed':
          if (typeof told.transcript === 'string') answer.resolve(told.transcript);
          else answer.reject(this.#failed('its answer is not a transcription'));
          break;
        case 'error':
        case 'conversation.item.input_audio_transcription.failed':
          answer.reject(this.#failed('it refused the sound'));
          break;
      }
    });
  }

  async #send(socket: WebSocket, frames: AsyncIterable<AudioFrame>, lang: string, signal: AbortSignal): Promise<void> {
    const { model, rate, mostSeconds } = this.#settings;
    const say = (message: object) => socket.send(JSON.stringify(message));
    const language = lang.split('-')[0];
    const input = { format: { type: 'audio/pcm', rate }, transcription: { model, language }, turn_detection: null };
    say({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
    const resampler = new Resampler(CAPTURE_RATE, rate);
    const append = (samples: Int16Array) => {
      if (samples.length === 0) return;
      const audio = Buffer.from(bytesOfSamples(samples)).toString('base64');
      say({ type: 'input_audio_buffer.append', audio });
    };
    let count = 0;
    for await (const { samples } of frames) {
      if (signal.aborted || socket.readyState !== WebSocket.OPEN) return;
      if (socket.bufferedAmount > MOST_BUFFERED) throw this.#failed('it does not take the sound in time');
      if (++count * FRAME_MS > mostSeconds * 1000) throw this.#failed(`the command is longer than ${mostSeconds} s`);
      append(resampler.push(samples));
    }
    append(resampler.flush());
    say({ type: 'input_audio_buffer.commit' });
  }

  #failed(reason: string): CoreError {
    return new CoreError('SPEECH_FAILED', { engine: this.#parts.name, reason });
  }
}

function parse(data: unknown): Told | undefined {
  if (typeof data !== 'string') return undefined;
  try {
    const told: unknown = JSON.parse(data);
    return typeof told === 'object' && told !== null ? (told as Told) : undefined;
  } catch {
    // Told as what it is by the caller.
    return undefined;
  }
}
