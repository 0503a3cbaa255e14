/** One client of our engines. */
import { CoreError, type Logger, toCoreError } from '@device-core/plugin-api';
import { bytesOfSamples, resample } from '@device-core/plugin-api/audio';
import { FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Speech } from '@device-core/plugin-api/services/speech';
import type { WyomingEvent } from './codec.ts';
import type { Connection } from './connection.ts';
import { Incoming } from './incoming.ts';
import type { Offer } from './offer.ts';
import type { ServeSettings } from './settings.ts';
import { tagOf } from './words.ts';

export interface SessionWorld {
  readonly speech: Speech;
  /** Undefined while there are none. */
  readonly intents: () => Intents | undefined;
  readonly offer: Offer;
  readonly settings: ServeSettings;
  /** For a result after the last sound. */
  readonly answerMs: number;
  readonly log: Logger;
}

type Task =
  | { readonly kind: 'stt'; readonly name: unknown; readonly language: unknown }
  | { readonly kind: 'wake'; readonly names: unknown };

/** Sound that comes in, and what is made of it. */
interface Job {
  readonly task: Task;
  readonly sound: Incoming;
  readonly stop: AbortController;
  /** Rejects with what went wrong. */
  readonly done: Promise<void>;
  over: boolean;
}

const USUAL: Task = { kind: 'stt', name: undefined, language: undefined };
/** Samples in one event: others have caps, too. */
const PIECE = 4_096;
const MOST_PING = 1_000;
/** Characters of a text to be recognised. */
const MOST_SENTENCE = 500;

export class Session {
  readonly #connection: Connection;
  readonly #world: SessionWorld;
  #task: Task | undefined;
  #job: Job | undefined;
  #timestamp = 0;

  constructor(connection: Connection, world: SessionWorld) {
    this.#connection = connection;
    this.#world = world;
  }

  /**
   * Runs until the client hangs up, sends an unreadable event, or a request fails: a client must not wait on for an
   * answer.
   */
  async run(): Promise<void> {
    const connection = this.#connection;
    try {
      for (;;) {
        connection.expect('an event', this.#world.settings.idleMs);
        const event = await connection.next();
        if (!event) return await connection.hangUp();
        connection.calm();
        await this.#handle(event);
      }
    } catch (thrown) {
      const error = toCoreError(thrown, 'the Wyoming server');
      if (error.code === 'INTERNAL') this.#world.log.error({ err: thrown }, 'a Wyoming request failed');
      if (connection.signal.aborted) return; // it went away, and with it who could be told
      await connection.send('error', { text: error.message, code: error.code }).catch(() => undefined); // it goes away
      await connection.hangUp();
    } finally {
      this.#leave();
      await connection[Symbol.asyncDispose]();
    }
  }

  async #handle(event: WyomingEvent): Promise<void> {
    const { type, data } = event;
    switch (type) {
      case 'describe':
        return this.#connection.send('info', await this.#world.offer.info());
      case 'ping': {
        const text = typeof data.text === 'string' ? data.text.slice(0, MOST_PING) : undefined;
        return this.#connection.send('pong', text === undefined ? {} : { text });
      }
      case 'transcribe':
        this.#leave();
        this.#task = { kind: 'stt', name: data.name, language: data.language };
        return;
      case 'detect':
        this.#leave();
        this.#task = { kind: 'wake', names: data.names };
        return;
      case 'audio-start':
        this.#leave();
        this.#begin(data.timestamp);
        return;
      case 'audio-chunk':
        return this.#hear(event);
      case 'audio-stop':
        return this.#finish();
      case 'synthesize':
        return this.#speak(data);
      case 'recognize':
        return this.#recognise(data);
      default:
      // There are events for other services, and there will be more of them.
    }
  }

  #begin(timestamp: unknown): Job {
    const task = this.#task ?? USUAL;
    this.#task = undefined;
    this.#timestamp = typeof timestamp === 'number' && Number.isFinite(timestamp) ? timestamp : 0;
    const mostFrames =
      task.kind === 'stt' ? (this.#world.settings.mostSeconds * 1_000) / FRAME_MS : Number.MAX_SAFE_INTEGER;
    const sound = new Incoming(mostFrames);
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#connection.signal]);
    const work = () =>
      task.kind === 'stt' ? this.#transcribe(task, sound, signal) : this.#detect(task, sound, signal);
    const done = this.#unless(signal, work).finally(() => {
      job.over = true;
      sound.stop();
    });
    // It may fail while the client is still speaking; nobody is told where the client itself left it.
    done.catch((error: Error) => stop.signal.aborted || this.#connection.refuse(error));
    const job: Job = { task, sound, stop, done, over: false };
    this.#job = job;
    return job;
  }

  async #hear(event: WyomingEvent): Promise<void> {
    const { sound, stop } = this.#job ?? this.#begin(event.data.timestamp);
    await this.#inTime(sound.push(event), stop);
  }

  /** Cancels the running request. */
  #leave(): void {
    this.#job?.stop.abort(
      new CoreError('CANCELLED', {
        what: 'the request',
        reason: 'another request came, or the caller no longer waits',
      }),
    );
    this.#job = undefined;
  }

  async #finish(): Promise<void> {
    const job = this.#job;
    if (!job) return;
    job.sound.end();
    await this.#inTime(job.done, job.stop);
    this.#job = undefined;
  }

  async #transcribe(
    { name, language }: Extract<Task, { kind: 'stt' }>,
    sound: Incoming,
    signal: AbortSignal,
  ): Promise<void> {
    const { offer, speech } = this.#world;
    const wanted = await offer.recogniser(name, language);
    const { text, language: heard } = await speech.transcribe(sound, { ...wanted, stage: 'local', signal });
    await this.#connection.send('transcript', { text, language: heard });
  }

  async #detect({ names }: Extract<Task, { kind: 'wake' }>, sound: Incoming, signal: AbortSignal): Promise<void> {
    const phrases = this.#world.offer.phrases(names);
    const wanted = { phrases: [...phrases.keys()].map((phrase) => ({ phrase })), signal };
    let hits = 0;
    for await (const { phrase, at } of this.#world.speech.detectWake(sound, wanted)) {
      hits++;
      const timestamp = Math.round(this.#timestamp + at - sound.began);
      await this.#connection.send('detection', { name: phrases.get(phrase) ?? phrase, timestamp });
    }
    if (hits === 0) await this.#connection.send('not-detected');
  }

  async #speak({ text, voice }: WyomingEvent['data']): Promise<void> {
    const { settings, offer, speech } = this.#world;
    if (typeof text !== 'string' || text.trim() === '' || text.length > settings.mostCharacters) {
      const reason = `it is not a string of 1 to ${settings.mostCharacters} characters`;
      throw new CoreError('PARAMS_INVALID', { where: 'the text', reason });
    }
    const { name, language } = Object(voice) as Readonly<Record<string, unknown>>;
    const wanted = await offer.voice(name, language);
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#connection.signal]);
    const sound = speech.speak(text, { ...wanted, stage: 'local', signal })[Symbol.asyncIterator]();
    let format: { readonly rate: number; readonly width: 2; readonly channels: 1 } | undefined;
    let samples = 0;
    const timestamp = () => Math.round((samples * 1_000) / (format?.rate ?? 1));
    try {
      for (;;) {
        const item = await this.#inTime(
          this.#unless(signal, () => sound.next()),
          stop,
        );
        if (item.done) break;
        if (!format) {
          format = { rate: item.value.rate, width: 2, channels: 1 };
          await this.#connection.send('audio-start', { ...format, timestamp: 0 });
        }
        const all = resample(item.value, format.rate).samples;
        for (let from = 0; from < all.length; from += PIECE) {
          const piece = all.subarray(from, from + PIECE);
          await this.#connection.send('audio-chunk', { ...format, timestamp: timestamp() }, bytesOfSamples(piece));
          samples += piece.length;
        }
      }
    } catch (error) {
      void Promise.resolve(sound.return?.()).catch(() => undefined); // the first failure is the one that is told
      throw error;
    }
    await this.#connection.send('audio-stop', { timestamp: timestamp() });
  }

  /** Meaning of a text, without acting on it. An ambiguous one is not recognised: no guesses. */
  async #recognise({ text, context }: WyomingEvent['data']): Promise<void> {
    const { settings, intents } = this.#world;
    if (typeof text !== 'string' || text.length > MOST_SENTENCE) {
      const reason = `it is not a string of at most ${MOST_SENTENCE} characters`;
      throw new CoreError('PARAMS_INVALID', { where: 'the text', reason });
    }
    const known = intents();
    if (!known) throw new CoreError('ENGINE_MISSING', { kind: 'intent', reason: 'none is offered' });
    const { language } = Object(context) as Readonly<Record<string, unknown>>;
    const asked = typeof language === 'string' && language !== '' ? tagOf(language) : settings.language;
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#connection.signal]);
    const match = await this.#inTime(
      this.#unless(signal, () => known.match(text, { language: asked })),
      stop,
    );
    if (match.outcome !== 'plan') return this.#connection.send('not-recognized', { text });
    const entities = Object.entries(match.plan.slots).map(([name, value]) => ({ name, value }));
    await this.#connection.send('intent', { name: match.plan.intent, entities, text });
  }

  /** The result, or the reason of the signal: an engine may not listen to it. */
  #unless<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#connection.within('the engine', Number.POSITIVE_INFINITY, work, { signal });
  }

  /** An engine that takes longer is stopped, which makes `work` reject. */
  async #inTime<T>(work: Promise<T>, stop: AbortController): Promise<T> {
    const { answerMs: ms } = this.#world;
    const late = () => stop.abort(new CoreError('TIMEOUT', { what: 'the engine', ms }));
    using _limit = this.#connection.limit('the engine', ms, late);
    return await work;
  }
}
