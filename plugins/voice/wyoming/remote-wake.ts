import { CoreError } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { WakeEngine, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import type { Connection } from './connection.ts';
import { feed, leave } from './feed.ts';
import type { Link } from './link.ts';
import type { RemoteService } from './remote-info.ts';
import { phraseOf } from './words.ts';

interface Clock {
  /** Times of the first and the last frame sent: monotonic milliseconds. */
  first: number;
  last: number;
}

/** `detect`, sound -> detections, as long as there is sound. A service that hangs up after a detection is called again. */
export class RemoteWake implements WakeEngine {
  readonly #link: Link;
  readonly #service: RemoteService;
  readonly #names: Readonly<Record<string, string>>;

  /** `names` of models by phrase, where the service names them otherwise. */
  constructor(link: Link, service: RemoteService, names: Readonly<Record<string, string>>) {
    this.#link = link;
    this.#service = service;
    this.#names = names;
  }

  async *detect(
    frames: AsyncIterable<AudioFrame>,
    { phrases, signal }: { readonly phrases: readonly WakePhrase[]; readonly signal: AbortSignal },
  ): AsyncGenerator<WakeHit, void, undefined> {
    if (phrases.length === 0) throw new CoreError('PARAMS_INVALID', { where: 'phrases', reason: 'there is none' });
    const models = new Map(phrases.map(({ phrase }) => [this.#model(phrase), phrase]));
    const source = frames[Symbol.asyncIterator]();
    try {
      for (;;) {
        let hits = 0;
        let over = false;
        await using use = await this.#link.open(signal);
        const hearing = this.#listen(use.connection, source, models, () => {
          over = true;
        });
        try {
          for await (const hit of hearing) {
            hits++;
            yield hit;
          }
        } catch (error) {
          // Some hang up when they have found one, with sound on its way to them. A frame is lost by that.
          if (hits === 0 || signal.aborted || !(error instanceof CoreError) || error.code !== 'UNAVAILABLE')
            throw error;
        }
        if (over) return;
        if (hits === 0) throw this.#link.hungUp('the end of the sound');
      }
    } catch (error) {
      throw this.#link.told(error, signal);
    } finally {
      leave(source);
    }
  }

  /** Phrases without a model: stop words, most often. It is not asked for them, and the others stay heard. */
  async unspeakable(phrases: readonly string[]): Promise<readonly string[]> {
    return phrases.filter((phrase) => this.#known(phrase) === undefined);
  }

  /** Listens until the service hangs up, or has heard all there is: then `over` is called. */
  async *#listen(
    connection: Connection,
    source: AsyncIterator<AudioFrame>,
    models: ReadonlyMap<string, string>,
    over: () => void,
  ): AsyncGenerator<WakeHit, void, undefined> {
    const clock: Clock = { first: 0, last: 0 };
    await connection.send('detect', { names: [...models.keys()] });
    let ended = false;
    const feeding = feed(connection, source, ({ at }, timestamp) => {
      clock.first = at - timestamp;
      clock.last = at;
    }).then(async (end) => {
      if (end === 'cut') return;
      ended = true;
      connection.expect('the end of the detection', this.#link.settings.answerMs);
      // Nothing is answered to the end where there were detections; the answer to this comes after all of them.
      await connection.send('describe');
    });
    feeding.catch((error: Error) => connection.fail(error)); // the detections fail with it
    for (;;) {
      const event = await connection.next();
      if (!event) {
        if (ended) over();
        return;
      }
      if (event.type === 'error') throw this.#link.refused(event);
      if (ended && (event.type === 'not-detected' || event.type === 'info')) return over();
      if (event.type !== 'detection') continue;
      const phrase = this.#phrase(event.data.name, models);
      if (phrase !== undefined) yield { phrase, score: 1, at: timeOf(event.data.timestamp, clock) };
    }
  }

  /** The model that listens for a phrase. Throws PARAMS_INVALID where there is none. */
  #model(phrase: string): string {
    const model = this.#known(phrase);
    if (model !== undefined) return model;
    const known = this.#service.models.map((one) => phraseOf(one.phrase ?? one.name)).join(', ');
    throw new CoreError('PARAMS_INVALID', {
      where: `the phrase "${phrase}"`,
      reason: `${this.#link.name} knows ${known || 'none'}`,
    });
  }

  #known(phrase: string): string | undefined {
    const wanted = phraseOf(phrase);
    const named = Object.entries(this.#names).find(([one]) => phraseOf(one) === wanted)?.[1];
    if (named !== undefined) return named;
    const { models } = this.#service;
    return models.find((one) => phraseOf(one.phrase ?? one.name) === wanted || phraseOf(one.name) === wanted)?.name;
  }

  /** Undefined: nobody asked for it. */
  #phrase(name: unknown, models: ReadonlyMap<string, string>): string | undefined {
    if (typeof name !== 'string') return models.values().next().value;
    const said = phraseOf(name);
    return (
      models.get(name) ?? [...models].find(([model, phrase]) => [phraseOf(model), phraseOf(phrase)].includes(said))?.[1]
    );
  }
}

/** A chunk carries the time of the frame's end, so that the time of a detection is one. */
function timeOf(timestamp: unknown, { first, last }: Clock): number {
  if (typeof timestamp !== 'number' || !Number.isFinite(timestamp)) return last;
  return Math.min(last, Math.max(first, first + timestamp));
}
