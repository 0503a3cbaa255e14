/** A microphone whose sound is words, and engines that understand them: turns in real time without any sound. */

import { CoreError } from '@device-core/plugin-api';
import type { Departure, DepartureLine, DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import {
  type Audio,
  type AudioFrame,
  type AudioState,
  FRAME_MS,
  FRAME_SAMPLES,
  monotonicMs,
  type PcmChunk,
} from '@device-core/plugin-api/services/audio';
import type { IntentAnswer, IntentMatch, IntentRun, Intents } from '@device-core/plugin-api/services/intents';
import type { Speech, Transcript } from '@device-core/plugin-api/services/speech';
import { eventually as looked, pace } from '../../fixtures/eventually.ts';

/** Frames that a word lasts. */
const WORD = 6;

export const waits = pace;

/** Resolves with what `look` finds, as soon as it does. */
export const eventually = <T>(what: string, look: () => T) => looked(look, what, { every: 5 });

/** The words of the vocabulary; the number of each is in the samples. */
export class Words {
  readonly #words: string[] = [''];

  number(word: string): number {
    const known = this.#words.indexOf(word);
    return known >= 0 ? known : this.#words.push(word) - 1;
  }

  word(frame: AudioFrame): string {
    return this.#words[frame.samples[0]!]!;
  }
}

/** A ledger without a disk. */
export class FakeLedger implements DeparturesLedger {
  refuses: CoreError | undefined;
  readonly #lines: DepartureLine[] = [];

  async write(departure: Departure): Promise<string> {
    if (this.refuses) throw this.refuses;
    const id = `${this.#lines.length}`;
    this.#lines.push({ ...departure, id, at: Date.now() });
    return id;
  }

  async count(): Promise<void> {
    // nobody asks how much it was
  }

  async list({ limit }: { readonly limit: number }): Promise<readonly DepartureLine[]> {
    return this.#lines.slice(-limit).reverse();
  }

  async sums(): Promise<readonly never[]> {
    return [];
  }
}

export class FakeAudio implements Audio {
  readonly words: Words;
  readonly played: string[] = [];
  readonly sounds: string[] = [];
  captured = 0;
  muted = false;
  playMs = 60;
  broken: CoreError | undefined;
  readonly #waiting: string[] = [];
  readonly #listeners = new Set<(state: AudioState) => void>();

  constructor(words: Words) {
    this.words = words;
  }

  /** `_` is 100 ms of silence. */
  say(text: string): void {
    for (const word of text.split(' '))
      for (let frame = 0; frame < (word === '_' ? 5 : WORD); frame++)
        this.#waiting.push(word === '_' ? '' : word.replaceAll('-', ' '));
  }

  get quiet(): boolean {
    return this.#waiting.length === 0;
  }

  get now(): AudioState {
    return { volume: 1, muted: this.muted, capturing: [], playing: [] };
  }

  async state(): Promise<AudioState> {
    return this.now;
  }

  async *capture({ signal }: { readonly owner: string; readonly signal: AbortSignal }): AsyncGenerator<AudioFrame> {
    const began = monotonicMs();
    for (let seq = 0; !signal.aborted; seq++) {
      const at = began + (seq + 1) * FRAME_MS;
      if (at > monotonicMs()) await waits(at - monotonicMs());
      if (signal.aborted) return;
      if (this.broken) throw this.broken;
      this.captured++;
      const samples = new Int16Array(FRAME_SAMPLES).fill(this.words.number(this.#waiting.shift() ?? ''));
      yield { seq, at, samples };
    }
  }

  async play(
    sound: AsyncIterable<PcmChunk>,
    { signal, started }: { readonly signal?: AbortSignal; readonly started?: (at: number) => void },
  ): Promise<void> {
    let first = true;
    for await (const { samples } of sound) {
      if (first) started?.(monotonicMs());
      first = false;
      this.played.push(Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('utf16le'));
      for (let ms = 0; ms < this.playMs; ms += 5) {
        if (signal?.aborted) throw new CoreError('CANCELLED', { what: 'sound', reason: 'it was stopped' });
        await waits(5);
      }
    }
  }

  async tones(): Promise<void> {
    this.sounds.push('tones');
  }

  async feedback(sound: string): Promise<void> {
    this.sounds.push(sound);
  }

  async *levels(): AsyncGenerator<never> {
    // Nobody looks.
  }

  async setVolume(): Promise<void> {
    this.sounds.push('volume');
  }

  async setMuted(muted: boolean): Promise<void> {
    this.muted = muted;
    for (const listener of this.#listeners) listener(this.now);
  }

  onState(listener: (state: AudioState) => void): Disposable {
    this.#listeners.add(listener);
    listener(this.now);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}

export interface Engine {
  /** Milliseconds after the last frame. */
  ms: number;
  fails: CoreError | undefined;
  hangs: boolean;
  /** What it makes of the words; `again`: for a second opinion. */
  hears: (words: string, again?: boolean) => Omit<Transcript, 'language'>;
  /** It has second opinions. */
  hearsAgain?: boolean;
}

export function engine(more: Partial<Engine> = {}): Engine {
  return { ms: 10, fails: undefined, hangs: false, hears: (text) => ({ text, confidence: 0.9 }), ...more };
}

export class FakeSpeech {
  readonly words: Words;
  readonly stt: Record<'local' | 'cloud', Engine>;
  /** Engines that are asked by their name, and how many frames each was given. */
  readonly byName: Record<string, Engine> = {};
  readonly given: Record<string, number> = {};
  cloudThere = false;
  /** Frames that went to the cloud. */
  sent = 0;
  ttsFails: CoreError | undefined;
  ttsHangs = false;
  wakeTwice = false;
  readonly asked: string[] = [];
  /** Detectors of speech in their order, and how often one was begun. */
  detectors: readonly string[] = [];
  detecting = 0;
  /** There is no detector: it is told when this is done. */
  missing: Promise<void> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(words: Words) {
    this.words = words;
    this.stt = { local: engine(), cloud: engine({ ms: 60 }) };
  }

  /** Engines came or went. */
  changed(detectors: readonly string[]): void {
    this.detectors = detectors;
    for (const listener of this.#listeners) listener();
  }

  service(): Speech {
    const { words } = this;
    const self = this;
    return {
      register: () => ({ [Symbol.asyncDispose]: async () => undefined }),
      list: async (kind) => {
        if (kind === 'vad')
          return self.detectors.map((id, rank) => ({
            id,
            title: id,
            kind,
            languages: [],
            stage: 'local',
            owner: 'plugin.test',
            rank,
            uses: 0,
            failures: 0,
          }));
        const local = { kind: 'stt', languages: ['en'], owner: 'plugin.test', uses: 0, failures: 0 } as const;
        if (self.stt.local.hearsAgain)
          return [{ ...local, id: 'fake-local', title: 'A recogniser', stage: 'local', hearsAgain: true }];
        return self.cloudThere
          ? [
              {
                id: 'cloud',
                title: 'A cloud',
                kind: 'stt',
                languages: ['en'],
                stage: 'cloud',
                owner: 'plugin.test',
                rank: 1,
                uses: 0,
                failures: 0,
              },
            ]
          : [];
      },
      unspeakable: async () => [],
      async *detectSpeech(frames, { signal }) {
        self.detecting++;
        if (self.missing) {
          await self.missing;
          throw new CoreError('ENGINE_MISSING', { kind: 'vad', reason: 'none is registered' });
        }
        for await (const frame of frames) {
          if (signal.aborted) return;
          const speech = words.word(frame) !== '';
          yield { seq: frame.seq, speech, probability: speech ? 1 : 0 };
        }
      },
      async *detectWake(frames, { phrases, signal }) {
        self.asked.push(phrases.map(({ phrase }) => phrase).join(','));
        let last = '';
        let at = 0;
        for await (const frame of frames) {
          if (signal.aborted) return;
          const word = words.word(frame);
          if (last !== word && phrases.some(({ phrase }) => phrase === last)) {
            yield { phrase: last, score: 0.9, at };
            if (self.wakeTwice) yield { phrase: last, score: 0.8, at };
          }
          last = word;
          at = frame.at;
        }
        if (phrases.some(({ phrase }) => phrase === last)) yield { phrase: last, score: 0.9, at };
      },
      async transcribe(frames, { stage = 'local', prefix = [], partial, signal, language, engine: name, again }) {
        if (name !== undefined && stage === 'local' && !self.byName[name])
          throw new CoreError('ENGINE_MISSING', { kind: 'stt', reason: `none is registered (${name})` });
        const engine = (name === undefined ? undefined : self.byName[name]) ?? self.stt[stage];
        const heard: string[] = [];
        let last = '';
        for await (const frame of frames) {
          if (signal.aborted) throw new CoreError('CANCELLED', { what: 'transcription', reason: 'aborted' });
          if (stage === 'cloud') self.sent++;
          if (name !== undefined) self.given[name] = (self.given[name] ?? 0) + 1;
          const word = words.word(frame);
          if (word !== '' && word !== last && !prefix.includes(word)) {
            heard.push(word);
            if (stage === 'local') partial?.({ language, ...engine.hears(heard.join(' ')) });
          }
          last = word;
        }
        for (let ms = 0; ms < engine.ms || engine.hangs; ms += 5) {
          if (signal.aborted) throw new CoreError('CANCELLED', { what: 'transcription', reason: 'aborted' });
          await waits(5);
        }
        if (engine.fails) throw engine.fails;
        return { language, ...engine.hears(heard.join(' '), again), engine: name ?? `fake-${stage}`, stage };
      },
      async *speak(text, { stage, signal }) {
        if (stage !== 'local') throw new Error('text must not leave the device');
        if (self.ttsFails) throw self.ttsFails;
        await looked(() => !self.ttsHangs || signal?.aborted, 'the end of a voice that hangs', { ms: 60_000 });
        if (signal?.aborted) return;
        const bytes = Buffer.from(text, 'utf16le');
        yield { rate: 16_000, samples: new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2).slice() };
      },
      onChange(listener) {
        self.#listeners.add(listener);
        return { [Symbol.dispose]: () => void self.#listeners.delete(listener) };
      },
    };
  }
}

type Answer = (run: Pick<IntentRun, 'turn' | 'signal' | 'deadline'>) => Promise<IntentAnswer>;

/** Sentences with what answers them. `a|b` means both. */
export class FakeIntents {
  readonly ran: string[] = [];
  /** What interpreters take texts for, by their id; and what they were asked. */
  readonly interpreters: Record<string, { readonly stage: 'local' | 'cloud'; readonly means: Record<string, string> }> =
    {};
  readonly interpreted: string[] = [];
  readonly #sentences: Readonly<Record<string, Answer | 'ambiguous'>>;
  /** Sentences that were added, without their optional parts. */
  readonly #added = new Map<string, { readonly id: string; readonly run: Parameters<Intents['add']>[1] }>();
  /** Those that may be carried out twice. */
  idempotent: readonly string[] = [];

  constructor(sentences: Readonly<Record<string, Answer | 'ambiguous'>>) {
    this.#sentences = sentences;
  }

  service(): Intents {
    const plan = (text: string) => ({
      intent: `test.${text}`,
      title: text,
      slots: {},
      text,
      ...(this.idempotent.includes(text) && { idempotent: true }),
      mayGoOn: Object.keys(this.#sentences).some((one) => one.startsWith(`${text} `)),
    });
    return {
      add: ({ id, sentences }, run) => {
        const plain = sentences.map((text) => text.replaceAll(/ ?\[[^\]]*\]/g, ''));
        for (const text of plain) this.#added.set(text, { id, run });
        return { [Symbol.asyncDispose]: async () => plain.forEach((text) => void this.#added.delete(text)) };
      },
      match: async (text): Promise<IntentMatch> => {
        const added = this.#added.get(text);
        if (added) return { outcome: 'plan', plan: { ...plan(text), intent: added.id, idempotent: true } };
        const known = this.#sentences[text];
        if (known === undefined) return { outcome: 'none', reason: 'nothing is called that' };
        if (known === 'ambiguous') return { outcome: 'ambiguous', candidates: [plan('this'), plan('that')] };
        return { outcome: 'plan', plan: plan(text) };
      },
      rivals: async () => [],
      grammar: async () => undefined,
      run: async ({ text, intent }, options) => {
        const added = this.#added.get(text);
        if (added?.id === intent) return added.run({ ...options, text, slots: {} });
        this.ran.push(text);
        return await (this.#sentences[text] as Answer)(options);
      },
      list: async () => [],
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
      addInterpreter: () => ({ [Symbol.asyncDispose]: async () => undefined }),
      interpreters: async () =>
        Object.entries(this.interpreters).map(([id, { stage }]) => ({ id, title: 'A test', languages: ['en'], stage })),
      interpret: async (text, { interpreter }): Promise<IntentMatch> => {
        this.interpreted.push(`${interpreter}: ${text}`);
        const meant = this.interpreters[interpreter]!.means[text];
        if (meant === 'fail') throw new CoreError('SPEECH_FAILED', { engine: interpreter, reason: 'it fails' });
        if (meant === undefined) return { outcome: 'none', reason: 'it does not know' };
        return { outcome: 'plan', plan: plan(meant) };
      },
    };
  }
}
