/** A device that listens in a process of its own, and what is said to it: the truth about when was measured here, not there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CAPTURE_RATE, monotonicMs, type VoiceTurn } from '@device-core/plugin-api';
import { encodeWav } from '@device-core/plugin-api/audio';
import { CoreProcess } from '../../fixtures/core-process.ts';
import { type Colour, join as concatenate, inNoise, say, silence, type Voice } from '../../fixtures/speech.ts';

const ROOT = join(import.meta.dirname, '../../..');
const START_MS = 30_000;
const TURN_MS = 20_000;
/** What is louder is speech: flite is silent to the last bit before and after it. */
const LOUD = 200;

export const WAKE = 'hey computer';
export const VOICES: readonly Voice[] = ['slt', 'rms'];
/** What the simulated device with the agenda understands, with answers that are short. */
export const COMMANDS = [
  'what is on my agenda today',
  'what is on my agenda tomorrow',
  'what is next on my agenda',
  'what time is it now',
  'set the volume to forty percent',
  'turn the volume up',
  'turn the volume down',
  'set a timer for five minutes',
  'how long is left on the timer',
  'cancel all timers',
  'tell me the time',
  'what is the volume',
] as const;
/** What it does not. */
export const STRANGE = [
  'purple elephants never dance on sunday',
  'the weather in paris is lovely this time of year',
  'please order three pizzas with extra cheese',
  'who won the football match last night',
  'play some music by the beatles',
  'my grandmother bakes the best apple pie',
  'turn on the lights in the kitchen',
  'how far is it from berlin to munich',
  'add milk and bread to the shopping list',
  'i think we should leave before the rain starts',
  'tell me a joke about computers',
  'what is the capital of australia',
] as const;

export interface Noise {
  readonly colour: Colour;
  readonly snr: number;
}

export interface Said {
  readonly turn: VoiceTurn | undefined;
  /** Wake event after the last sample of the phrase, and first sample of the answer after the last one of the command; milliseconds. */
  readonly wakeMs?: number;
  readonly answerMs?: number;
}

export class VoiceRoom implements AsyncDisposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'dc-'));
  #core!: CoreProcess;

  /** `change` rewrites the SKU of the simulator. */
  static async open(change: (sku: string) => string = (sku) => sku): Promise<VoiceRoom> {
    const room = new VoiceRoom();
    const sku = join(room.#root, 'voice.yaml');
    writeFileSync(sku, change(readFileSync(join(ROOT, 'manifests/skus/simulator.yaml'), 'utf8')));
    const app = join(ROOT, 'docs/examples/agenda');
    room.#core = await CoreProcess.start(room.#root, '--sku', sku, '--no-tcp', '--app', app);
    await room.#until('the chain', START_MS, () => room.#ready());
    return room;
  }

  get pid(): number {
    return this.#core.process.pid!;
  }

  /** The folder of its sockets. */
  get run(): string {
    return join(this.#root, 'run');
  }

  get(path: string) {
    return this.#core.get(path);
  }

  /** In one breath, the phrase first unless it is left out; in noise where it is named. */
  async tell(text: string, voice: Voice, noise?: Noise, phrase = true): Promise<Said> {
    const call = phrase ? trimmed(await say(WAKE, voice)) : silence(0);
    const command = trimmed(await say(text, voice));
    const gap = phrase ? 120 : 0;
    const before = 600;
    let samples = concatenate(silence(before), call, silence(gap), command, silence(1_200));
    if (noise) samples = inNoise(samples, noise.colour, noise.snr, text.length);
    const last = await this.#newest();
    const wav = Buffer.from(encodeWav({ rate: CAPTURE_RATE, samples })).toString('base64');
    const { body, status } = await this.#core.post('/audio/inject', { wav, wait: true });
    if (status !== 200) throw new Error(`audio.inject answered ${status}: ${JSON.stringify(body)}`);
    const turn = await this.#over(last?.turn);
    if (!turn) return { turn };
    const epoch = Date.now() - monotonicMs();
    const heardAt = (ms: number) => epoch + body.from + ms;
    const ms = (part: Int16Array) => (part.length / CAPTURE_RATE) * 1_000;
    const span = (name: string) => turn.spans.find((one) => one.name === name)?.to;
    const [woke, spoke] = [span('wake'), span('tts')];
    const called = heardAt(before + ms(call));
    const asked = heardAt(before + ms(call) + gap + ms(command));
    return {
      turn,
      ...(woke === undefined ? {} : { wakeMs: Math.max(0, turn.at + woke - called) }),
      ...(spoke === undefined ? {} : { answerMs: Math.max(0, turn.at + spoke - asked) }),
    };
  }

  /** Sound without an answer expected; resolves when its last sample was captured. */
  async play(samples: Int16Array): Promise<void> {
    const wav = Buffer.from(encodeWav({ rate: CAPTURE_RATE, samples })).toString('base64');
    const { status, body } = await this.#core.post('/audio/inject', { wav, wait: true });
    if (status !== 200) throw new Error(`audio.inject answered ${status}: ${JSON.stringify(body)}`);
  }

  /** Turns so far, newest first. */
  async turns(): Promise<readonly VoiceTurn[]> {
    return (await this.#core.get('/voice/turns')).body.turns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#core.stop();
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #newest(): Promise<VoiceTurn | undefined> {
    return (await this.turns())[0];
  }

  async #over(former: string | undefined): Promise<VoiceTurn | undefined> {
    await this.#until('the end of the turn', TURN_MS, async () => {
      const { body } = await this.#core.get('/voice');
      return body.state === 'idle' ? true : undefined;
    });
    // A speaker that has just ended is still heard by some engines.
    await sleep(300);
    const newest = await this.#newest();
    return newest?.turn === former ? undefined : newest;
  }

  async #ready(): Promise<true | undefined> {
    const match = await this.#core.post('/intents/match', { text: COMMANDS[0] });
    const { body } = await this.#core.get('/voice');
    const engines = await this.#core.get('/speech/engines');
    const kinds = new Set(engines.body.engines?.map(({ kind }: { kind: string }) => kind));
    const listens = body.state === 'idle' && body.reason === undefined;
    return match.body.outcome === 'plan' && listens && kinds.size === 4 ? true : undefined;
  }

  async #until<T>(what: string, ms: number, look: () => Promise<T | undefined>): Promise<T> {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(25)) {
      const found = await look();
      if (found !== undefined) return found;
    }
    throw new Error(`${what} never came`);
  }
}

/** From the first loud sample to the last. */
export function trimmed(samples: Int16Array): Int16Array {
  const loud = (sample: number) => Math.abs(sample) > LOUD;
  return samples.slice(Math.max(0, samples.findIndex(loud)), samples.findLastIndex(loud) + 1);
}
