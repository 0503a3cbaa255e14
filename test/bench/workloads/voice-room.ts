/** A device that listens in a process of its own, and what is said to it: the truth about when was measured here, not there. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SkuManifest } from '@device-core/plugin-api';
import { encodeWav } from '@device-core/plugin-api/audio';
import { CAPTURE_RATE, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { meaningOf } from '../../../plugins/voice/voice/program/figures.ts';
import { CoreProcess } from '../../fixtures/core-process.ts';
import { type Colour, join as concatenate, noise, say, silence, type Voice } from '../../fixtures/speech.ts';
import { placed, simulator } from '../sku-data.ts';

const ROOT = join(import.meta.dirname, '../../..');
const START_MS = 60_000;
/** Five seconds after its start a Core writes its compile cache, which takes it up to a second. */
const SETTLE_MS = 7_000;
/** Longer than any turn may be. */
const TURN_MS = 70_000;
/** A wake phrase of which nothing has come so long after the last word was missed. */
const MISSED_MS = 2_000;
/** What is louder is speech: flite is silent to the last bit before and after it. */
const LOUD = 200;
/** RMS of the loud samples of whatever is said here, whoever says it: -20 dB of full scale. */
const SPEECH_LEVEL = 3_277;
/** The estimates of the noise have settled. */
const NOISE_BEFORE_MS = 5_000;
const NOISE_CHUNK_MS = 40_000;
/** So much noise must be left when somebody begins to speak. */
const NOISE_LEFT_MS = 15_000;
const PHRASE_GAP_MS = 120;
/** Times come from traces: to look more often would only load the device. */
const LOOK_MS = 150;

export const WAKE = 'hey computer';

export interface Noise {
  readonly colour: Colour;
  /** Decibels between the loud samples of speech and the noise. */
  readonly snr: number;
}

export interface Said {
  readonly text: string;
  /** Intent and slots of the text, where it has any. */
  readonly meant: string | undefined;
  readonly voice: Voice;
  readonly turn: VoiceTurn | undefined;
  /** Wake event after the last sample of the phrase, and first sample of the answer after the last one of the command; milliseconds. */
  readonly wakeMs?: number;
  readonly answerMs?: number;
}

export class VoiceRoom implements AsyncDisposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'dc-'));
  #core!: CoreProcess;
  #noise: { readonly level: number; readonly colour: Colour; seed: number; until: number } | undefined;

  /** Resolves when it listens and has settled. */
  static async open(sku: SkuManifest = simulator()): Promise<VoiceRoom> {
    const room = new VoiceRoom();
    const app = join(ROOT, 'docs/examples/agenda');
    room.#core = await CoreProcess.start(room.#root, '--sku', placed(room.#root, sku), '--no-tcp', '--app', app);
    const settled = monotonicMs() + SETTLE_MS;
    await room.#until('the chain', START_MS, () => room.#ready());
    await sleep(Math.max(0, settled - monotonicMs()));
    return room;
  }

  /** One after another: four starts at once are too much for two cores. */
  static async openSome(count: number, rooms: AsyncDisposableStack, sku?: SkuManifest): Promise<VoiceRoom[]> {
    const opened: VoiceRoom[] = [];
    while (opened.length < count) opened.push(rooms.use(await VoiceRoom.open(sku)));
    return opened;
  }

  get pid(): number {
    return this.#core.process.pid!;
  }

  /** The folder of its sockets. */
  get run(): string {
    return join(this.#root, 'run');
  }

  /** There is noise from now on, over what is left of the noise from before. Resolves when the device is used to it. */
  async settle(around: Noise | undefined): Promise<void> {
    this.#noise = around && {
      colour: around.colour,
      level: SPEECH_LEVEL / 10 ** (around.snr / 20),
      seed: 1,
      until: 0,
    };
    await this.#keepNoise();
    if (around) await sleep(NOISE_BEFORE_MS);
    await this.#idle();
  }

  /** The phrase and the text in one breath. Resolves when the turn is over. */
  async tell(text: string, voice: Voice): Promise<Said> {
    const call = trimmed(await say(WAKE, voice));
    const command = trimmed(await say(text, voice));
    await this.#keepNoise();
    const samples = leveled(concatenate(call, silence(PHRASE_GAP_MS), command));
    const former = (await this.#newest())?.turn;
    const { from, to } = await this.#inject(samples, true);
    const said = { text, voice, meant: await this.#meaning(text) };
    await sleep(Math.max(0, to - monotonicMs()));
    const turn = await this.#over(former, to + MISSED_MS);
    // A speaker that has just ended is still heard by some engines, and nobody says the next thing at once.
    await sleep(300);
    if (!turn) return { ...said, turn };
    const epoch = Date.now() - monotonicMs();
    const ms = (part: Int16Array) => (part.length / CAPTURE_RATE) * 1_000;
    const [called, asked] = [epoch + from + ms(call), epoch + to];
    const span = (name: string) => turn.spans.find((one) => one.name === name)?.to;
    const [woke, spoke] = [span('wake'), span('tts')];
    return {
      ...said,
      turn,
      ...(woke === undefined ? {} : { wakeMs: Math.max(0, turn.at + woke - called) }),
      ...(spoke === undefined ? {} : { answerMs: Math.max(0, turn.at + spoke - asked) }),
    };
  }

  /** Sound that is nobody's command; resolves when its last sample was captured. */
  async play(samples: Int16Array): Promise<void> {
    const { to } = await this.#inject(samples, true);
    await sleep(Math.max(0, to - monotonicMs()));
  }

  async mute(muted: boolean): Promise<void> {
    const { status } = await this.#core.put('/voice/mute', { muted });
    if (status !== 200) throw new Error(`voice.mute answered ${status}`);
  }

  /** Turns so far. */
  async turns(): Promise<readonly VoiceTurn[]> {
    return (await this.#core.get('/voice/turns?limit=1000')).body.turns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#core.stop();
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #meaning(text: string): Promise<string | undefined> {
    const { body } = await this.#core.post('/intents/match', { text });
    return body.outcome === 'plan' ? meaningOf(body.plan) : undefined;
  }

  /** Sound that goes on from what there was. */
  async #keepNoise(): Promise<void> {
    const around = this.#noise;
    if (!around || around.until - monotonicMs() > NOISE_LEFT_MS) return;
    const more = noise(around.colour, NOISE_CHUNK_MS, around.level, around.seed++);
    const { to } = await this.#inject(more, around.until < monotonicMs());
    around.until = to;
    await sleep(300);
  }

  async #inject(samples: Int16Array, over: boolean): Promise<{ readonly from: number; readonly to: number }> {
    const wav = Buffer.from(encodeWav({ rate: CAPTURE_RATE, samples })).toString('base64');
    const { status, body } = await this.#core.post('/audio/inject', { wav, over });
    if (status !== 200) throw new Error(`audio.inject answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  async #newest(): Promise<VoiceTurn | undefined> {
    return (await this.#core.get('/voice/turns?limit=1')).body.turns[0];
  }

  /** The turn that came after `former`, when it is over; undefined where there is none at `missed`, a monotonic time. */
  async #over(former: string | undefined, missed: number): Promise<VoiceTurn | undefined> {
    return this.#until('the end of the turn', TURN_MS, async () => {
      const { body } = await this.#core.get('/voice');
      if (body.state !== 'idle') return undefined;
      const newest = await this.#newest();
      if (newest && newest.turn !== former && newest.outcome !== 'running') return { found: newest };
      return monotonicMs() > missed ? { found: undefined } : undefined;
    }).then(({ found }) => found);
  }

  async #idle(): Promise<void> {
    await this.#until('the end of what is said', TURN_MS, async () => {
      const { body } = await this.#core.get('/voice');
      return body.state === 'idle' ? true : undefined;
    });
  }

  async #ready(): Promise<true | undefined> {
    const match = await this.#core.post('/intents/match', { text: 'what is on my agenda today' });
    const { body } = await this.#core.get('/voice');
    const engines = await this.#core.get('/speech/engines');
    const kinds = new Set(engines.body.engines?.map(({ kind }: { kind: string }) => kind));
    const listens = body.state === 'idle' && body.reason === undefined;
    return match.body.outcome === 'plan' && listens && kinds.size === 4 ? true : undefined;
  }

  async #until<T>(what: string, ms: number, look: () => Promise<T | undefined>): Promise<T> {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(LOOK_MS)) {
      const found = await look().catch((error: unknown) => {
        throw new Error(
          `the Core is gone: ${String(error)}\n${this.#core.out.slice(-2_000)}\n${this.#core.err.slice(-2_000)}`,
        );
      });
      if (found !== undefined) return found;
    }
    throw new Error(`${what} never came`);
  }
}

/** From the first loud sample to the last. */
function trimmed(samples: Int16Array): Int16Array {
  const loud = (sample: number) => Math.abs(sample) > LOUD;
  return samples.slice(Math.max(0, samples.findIndex(loud)), samples.findLastIndex(loud) + 1);
}

/** As loud as everybody else. */
export function leveled(samples: Int16Array): Int16Array {
  const loud = samples.filter((sample) => Math.abs(sample) > LOUD);
  const rms = Math.sqrt(loud.reduce((sum, sample) => sum + sample ** 2, 0) / Math.max(1, loud.length)) || 1;
  return samples.map((sample) => Math.max(-32_768, Math.min(32_767, Math.round((sample * SPEECH_LEVEL) / rms))));
}
