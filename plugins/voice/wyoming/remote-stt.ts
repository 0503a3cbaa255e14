import { CoreError, maybe } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { SttEngine, TranscribeOptions, Transcript } from '@device-core/plugin-api/services/speech';
import type { Connection } from './connection.ts';
import { feed, leave } from './feed.ts';
import type { Link } from './link.ts';
import type { RemoteService } from './remote-info.ts';
import { commandOf, languageFor } from './words.ts';

const MOST_CHARACTERS = 10_000;
/** After the last piece of a transcript some send the whole, and some do not. */
const WHOLE_MS = 300;

/** `transcribe`, sound -> pieces of a transcript, where the service gives some, and the whole. */
export class RemoteStt implements SttEngine {
  readonly #link: Link;
  readonly #model: string | undefined;
  readonly #languages: readonly string[];

  constructor(link: Link, { languages }: RemoteService, model: string | undefined) {
    this.#link = link;
    this.#model = model;
    this.#languages = languages;
  }

  async transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript> {
    const { language, signal } = options;
    const own = this.#languages.length === 0 ? language : languageFor(language, this.#languages);
    if (own === undefined) throw new CoreError('LANGUAGE_UNSUPPORTED', { engine: this.#link.name, language });
    await using use = await this.#link.open(signal);
    const { connection } = use;
    const source = frames[Symbol.asyncIterator]();
    try {
      const model = this.#model;
      await connection.send('transcribe', { ...maybe({ name: model }), language: own });
      const feeding = feed(connection, source).then((end) => {
        if (end === 'ended') connection.expect('the transcript', this.#link.settings.answerMs);
        else leave(source);
      });
      feeding.catch((error: Error) => connection.fail(error)); // the answer fails with it
      const text = await this.#answer(connection, options);
      return { text: commandOf(text, options.prefix ?? []), language };
    } catch (error) {
      leave(source);
      throw this.#link.told(error, signal);
    }
  }

  async #answer(connection: Connection, { language, prefix = [], partial }: TranscribeOptions): Promise<string> {
    let heard = '';
    let whole = false;
    for (;;) {
      const event = await connection.next().catch((error: unknown) => {
        if (whole) return undefined;
        throw error;
      });
      if (event === undefined) {
        if (whole) return heard;
        throw this.#link.hungUp('the transcript');
      }
      const { type, data } = event;
      const text = typeof data.text === 'string' ? data.text : undefined;
      if (heard.length + (text?.length ?? 0) > MOST_CHARACTERS)
        throw this.#link.failed(`its transcript is longer than ${MOST_CHARACTERS} characters`);
      switch (type) {
        case 'transcript':
          if (text === undefined) throw this.#link.failed('its transcript has no text');
          return text;
        case 'transcript-start':
          heard = '';
          break;
        case 'transcript-chunk':
          heard += text ?? '';
          partial?.({ text: commandOf(heard, prefix), language });
          break;
        case 'transcript-stop':
          whole = true;
          connection.expect('the whole transcript', WHOLE_MS);
          break;
        case 'error':
          throw this.#link.refused(event);
      }
    }
  }
}
