/**
 * A device that works for long: voice, bridge, ten apps, clients that come and go, plugins that restart. Each stage does one of these alone, the
 * last does all at once. After each round the heap is collected: it and the handles stay flat, and the figures of each stage are printed.
 * Costs a fifth of the whole; `DEVICE_SOAK=1` asks for all: 100,000 frames, 100,000 calls and 10,000 sessions.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { type AudioFrame, audioDevice, FRAME_SAMPLES, monotonicMs } from '@device-core/plugin-api/services/audio';
import { speech } from '@device-core/plugin-api/services/speech';
import { voice } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { heapUsed } from '../fixtures/heap.ts';
import { RawClient } from '../plugins/rpc/fixture.ts';

after(leakCheck());

const WHOLE = process.env.DEVICE_SOAK === '1' ? 1 : 1 / 5;
const ROUNDS = 5;
/** Rounds until everything that is made once is there: compiled code, rings, tables. */
const WARM = 4;
const APPS = 10;
/** Of one round: half of the count is done in a stage of its own, half while the others run. */
const FRAMES = (100_000 * WHOLE) / (2 * ROUNDS);
const CALLS = (100_000 * WHOLE) / (2 * ROUNDS);
const SESSIONS = (10_000 * WHOLE) / (2 * ROUNDS);
const RESTARTS = Math.ceil((300 * WHOLE) / (2 * ROUNDS));
const RESTARTED = ['spi', 'functions', 'events', 'config', 'speech', 'intent'];
/** What one frame, call, session or restart may leave on the average. The leaks that were mended kept 590 bytes a frame. */
const MOST_BYTES = { frames: 40, calls: 40, sessions: 400, restarts: 4_096 };
/** The collector's own noise, and rings that fill slowly: of one stage. */
const NOISE_BYTES = 512 * 1024;
/** Of every hundred frames so many are loud: a gate that follows the noise opens again and again. */
const LOUD = 40;

type Work = keyof typeof MOST_BYTES;

const counted: Record<Work | 'heard' | 'refused', number> = {
  frames: 0,
  calls: 0,
  sessions: 0,
  restarts: 0,
  heard: 0,
  refused: 0,
};

const NOISE = Int16Array.from({ length: FRAME_SAMPLES }, (_, index) => ((index * 7_919) % 200) - 100);

/** Gives frames as fast as they are taken, so many as it is asked for. */
class Microphone {
  #wanted = 0;
  #more = Promise.withResolvers<void>();

  give(frames: number): void {
    this.#wanted += frames;
    this.#more.resolve();
  }

  async *capture(signal: AbortSignal): AsyncGenerator<AudioFrame> {
    for (let seq = 0; ; seq++) {
      while (counted.frames >= this.#wanted && !signal.aborted) {
        this.#more = Promise.withResolvers();
        const stop = () => this.#more.resolve();
        signal.addEventListener('abort', stop, { once: true });
        await this.#more.promise;
        signal.removeEventListener('abort', stop);
      }
      if (signal.aborted) return;
      counted.frames += 1;
      const samples = NOISE.map((sample) => sample * (seq % 100 < LOUD ? 40 : 1));
      yield { seq, at: monotonicMs(), samples };
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}

const microphone = new Microphone();

const ear = definePlugin({
  setup: (host) =>
    host.provide(audioDevice, {
      info: async () => ({ driver: 'soak', source: 'noise', sink: undefined, playRate: 48_000 }),
      capture: ({ signal }) => microphone.capture(signal),
      mute: async () => undefined,
      play: async () => undefined,
    }),
});

/** Hears every frame, and never its name. */
const listener = definePlugin({
  requires: { speech },
  setup(host, services) {
    const engine = {
      async *detect(frames: AsyncIterable<AudioFrame>) {
        for await (const _ of frames) counted.heard += 1;
        yield* [];
      },
    };
    const about = { id: 'soak', title: 'A listener', languages: ['en'], stage: 'local' } as const;
    host.scope.use('engine', services.speech.register('wake', about, engine, `plugin.${host.id}`));
  },
});

/** What is refused while a plugin restarts or others are before. */
const PASSING = /^(UNAVAILABLE|SERVICE_REVOKED|METHOD_NOT_FOUND|BUSY|QUEUE_FULL)$/;

class App {
  readonly id: string;
  readonly name: string;
  #client: RawClient | undefined;
  #last = 0;

  constructor(number: number) {
    this.id = `com.example.soak${number}`;
    this.name = `soak${number}`;
  }

  async connect(core: Core): Promise<void> {
    this.#client?.socket.destroy();
    await core.service(grants).set({ kind: 'app', id: this.id }, ['bridges.spi:flash']);
    const { path } = await core.service(appSockets).open({ id: this.id, name: this.name });
    this.#client = await RawClient.connect(path);
    await this.#client.ready();
  }

  /** Asks until it is answered: a plugin that restarts is asked again. Throws when it has not come back within the patience of a test. */
  async call(method: string, params: object = {}): Promise<void> {
    if (await this.#ask(method, params)) return;
    await eventually(() => this.#ask(method, params), `an answer of ${method}`, { ms: 30_000, every: 1 });
  }

  async #ask(method: string, params: object): Promise<boolean> {
    const client = this.#client!;
    const id = ++this.#last;
    client.send({ jsonrpc: '2.0', id, method, params });
    for (;;) {
      const answer = await client.next();
      if (answer === undefined) throw new Error(`the session of ${this.id} has ended`);
      if (answer.id !== id) continue; // a notification
      if (answer.error === undefined) return true;
      if (!PASSING.test(answer.error.data.code)) throw new Error(`${method}: ${answer.error.message}`);
      counted.refused += 1;
      return false;
    }
  }

  end(): void {
    this.#client?.socket.destroy();
  }
}

const CALLS_OF_AN_APP: readonly (readonly [method: string, params: object])[] = [
  ['system.ping', {}],
  ['spi.transfer', { handle: 'flash', tx: 'nw==', rxLen: 3 }],
  ['config.set', { key: 'soak.value', value: 1 }],
  ['config.list', {}],
  ['functions.list', {}],
  ['gpio.handles', {}],
];

function health(core: Core): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = request({ socketPath: join(core.paths.run, 'core.sock'), path: '/health', agent: false }, (response) => {
    response.resume().on('end', resolve);
  });
  sent.on('error', reject).end();
  return promise;
}

/** Descriptors, timers and the like. */
function handles(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { descriptors: readdirSync('/proc/self/fd').length };
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** The handles as soon as they are no more than `most` of each kind: what was closed last goes in a later turn. */
async function settled(most?: Readonly<Record<string, number>>): Promise<Readonly<Record<string, number>>> {
  let last = '';
  return eventually(() => {
    const now = handles();
    // A timer or a write of the moment is no leak.
    for (const [kind, count] of Object.entries(most === undefined ? {} : now))
      assert.ok(count <= (most?.[kind] ?? 0) + 2, `${count} of ${kind}, there were ${most?.[kind] ?? 0}`);
    const before = last;
    last = JSON.stringify(now);
    return before === last && now;
  }, 'handles as before');
}

/** One round of each kind of work. */
function rounds(core: Core, apps: readonly App[]): Readonly<Record<Work, () => Promise<void>>> {
  return {
    async frames() {
      const { frames, heard } = counted;
      microphone.give(FRAMES);
      await eventually(() => counted.frames - frames === FRAMES, 'the frames of the round', { ms: 120_000 });
      assert.ok(counted.heard - heard > FRAMES / 10, `${counted.heard - heard} of ${FRAMES} frames reach the engine`);
    },
    async calls() {
      const work = apps.map(async (app, index) => {
        for (let call = 0; call < CALLS / APPS; call++, counted.calls++) {
          const [method, params] = CALLS_OF_AN_APP[(call + index) % CALLS_OF_AN_APP.length]!;
          await app.call(method, params);
        }
      });
      await Promise.all(work);
    },
    async sessions() {
      for (let session = 0; session < SESSIONS; session++, counted.sessions++) {
        const guest = new App(APPS + (session % 3));
        await guest.connect(core);
        await guest.call('events.subscribe', { filter: 'plugin.**' });
        if (session % 2 === 0) await health(core);
        guest.end();
      }
    },
    async restarts() {
      for (let restart = 0; restart < RESTARTS; restart++) {
        const id = RESTARTED[counted.restarts++ % RESTARTED.length]!;
        assert.equal((await core.kernel.restart(id)).state, 'active', id);
      }
      await listening(core);
    },
  };
}

const listening = (core: Core) =>
  eventually(async () => (await core.service(voice).state()).state === 'idle', 'a voice that listens');

const kib = (bytes: number) => Math.round(bytes / 1_024);

async function startDevice(): Promise<Core> {
  const handle = { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0, deadlineMs: 60_000 };
  const ids =
    'operations identity system http rpc events functions config audio-sim audio speech vad-energy vad-fvad intent voice endpoints cbp gpio';
  const core = await startCore({
    plugins: {
      ...Object.fromEntries(ids.split(' ').map((id) => [id, '^1.0.0'])),
      limits: { version: '^1.0.0', config: { generous: true } },
      'port-sim': { version: '^1.0.0', config: { board: 'demo' } },
      spi: { version: '^1.0.0', config: { handles: [handle] } },
    },
    logLevel: 'error',
  });
  await core.kernel.swap('audio-sim', ear);
  await core.kernel.swap('vad-fvad', listener);
  const { plugins } = await core.kernel.status();
  assert.deepEqual(
    plugins.filter(({ state }) => state !== 'active'),
    [],
  );
  await listening(core);
  return core;
}

test('heap and handles are flat', { timeout: 1_800_000 }, async (context) => {
  await using core = await startDevice();
  const apps = Array.from({ length: APPS }, (_, number) => new App(number));
  for (const app of apps) await app.connect(core);
  const work = rounds(core, apps);
  const together = () => Promise.all(Object.values(work).map((one) => one()));
  const faults: string[] = [];

  /** Prints what a stage did and kept. What it kept too much of is told at the end, of all stages. */
  async function stage(name: string, run: () => Promise<unknown>, kinds: readonly Work[]): Promise<void> {
    const [before, cpu, start, first] = [await settled(), process.cpuUsage(), performance.now(), { ...counted }];
    const heaps = [await heapUsed()];
    const did = (kind: keyof typeof counted, from = first) => counted[kind] - from[kind];
    let [kept, most] = [0, 0];
    // What is made once, whenever that is, is no leak: a leak is there the second time, too.
    for (let time = 0; time < 2 && kept >= most; time++) {
      const [began, from] = [{ ...counted }, heaps.length - 1];
      for (let round = 0; round < ROUNDS; round++) {
        await run();
        await settled(before).catch((error: Error) => faults.push(`${name}: ${error.message}`));
        heaps.push(await heapUsed());
      }
      kept = heaps.at(-1)! - Math.min(...heaps.slice(from, from + 2));
      most = NOISE_BYTES + kinds.reduce((sum, kind) => sum + MOST_BYTES[kind] * did(kind, began), 0);
    }
    const { user, system } = process.cpuUsage(cpu);
    const took = `${Math.round((performance.now() - start) / 1_000)} s, ${Math.round((user + system) / 1e6)} s of CPU`;
    if (kept > most) faults.push(`${name}: ${kib(kept)} KiB are kept, at most ${kib(most)}`);
    const counts = [...kinds, 'heard', 'refused'].map((kind) => `${did(kind as Work)} ${kind}`).join(', ');
    context.diagnostic(`${name}: ${counts}; ${took}`);
    context.diagnostic(`  heap in KiB, before and after each round: ${heaps.map(kib).join(' ')}; kept ${kib(kept)}`);
    context.diagnostic(`  handles ${JSON.stringify(before)}, then ${JSON.stringify(await settled())}`);
  }

  for (let number = 0; number < WARM; number++) await together();
  for (const kind of Object.keys(work) as Work[]) await stage(kind, work[kind], [kind]);
  await stage('together', together, Object.keys(work) as Work[]);
  for (const app of apps) app.end();
  assert.deepEqual(faults, []);
});
