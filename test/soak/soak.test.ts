/**
 * A device that works for long: voice, bridge, ten apps, clients that come and go, plugins that restart. After each round the heap is collected:
 * it and the handles stay flat. Costs a tenth of the whole; `DEVICE_SOAK=1` asks for 100,000 frames, 100,000 calls and 10,000 sessions.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  type AudioFrame,
  appSockets,
  audioDevice,
  definePlugin,
  FRAME_SAMPLES,
  grants,
  monotonicMs,
  speech,
  voice,
} from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { heapUsed } from '../fixtures/heap.ts';
import { RawClient } from '../plugins/rpc/fixture.ts';

after(leakCheck());

const SCALE = process.env.DEVICE_SOAK === '1' ? 10 : 1;
const ROUNDS = 10;
/** Rounds until everything that is made once is there: compiled code, rings, tables. */
const WARM = 3;
const FRAMES = 1_000 * SCALE;
const CALLS = 1_000 * SCALE;
const SESSIONS = 100 * SCALE;
const APPS = 10;
/** What one frame, call or session may leave on the average. The leaks that were mended kept 590 bytes a frame. */
const MOST_BYTES_EACH = 40;
/** The collector's own noise, and rings that fill slowly: of the whole run. */
const NOISE_BYTES = 768 * 1024;

/** Gives frames as fast as they are taken, so many as it is asked for. */
class Microphone {
  given = 0;
  #wanted = 0;
  #more = Promise.withResolvers<void>();

  give(frames: number): void {
    this.#wanted += frames;
    this.#more.resolve();
  }

  async *capture(signal: AbortSignal): AsyncGenerator<AudioFrame> {
    for (let seq = 0; ; seq++) {
      while (this.given >= this.#wanted && !signal.aborted) {
        this.#more = Promise.withResolvers();
        const stop = () => this.#more.resolve();
        signal.addEventListener('abort', stop, { once: true });
        await this.#more.promise;
        signal.removeEventListener('abort', stop);
      }
      if (signal.aborted) return;
      this.given += 1;
      // Quiet noise: a gate that is fed has work.
      const samples = new Int16Array(FRAME_SAMPLES).map((_, index) => ((index * 7919 + seq) % 200) - 100);
      yield { seq, at: monotonicMs(), samples };
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}

const microphone = new Microphone();
let heard = 0;

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
        for await (const _ of frames) heard += 1;
        yield* [];
      },
    };
    const about = { id: 'soak', title: 'A listener', languages: ['en'], stage: 'local' } as const;
    host.scope.use('engine', services.speech.register('wake', about, engine, `plugin.${host.id}`));
  },
});

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

  /** The answer; a plugin that restarts is asked again. */
  async call(method: string, params: object = {}): Promise<void> {
    const client = this.#client!;
    for (;;) {
      const id = ++this.#last;
      client.send({ jsonrpc: '2.0', id, method, params });
      for (;;) {
        const answer = await client.next();
        assert.ok(answer, 'the session is there');
        if (answer.id !== id) continue; // a notification
        if (answer.error === undefined) return;
        assert.match(answer.error.data.code, /UNAVAILABLE|SERVICE_REVOKED|METHOD_NOT_FOUND|BUSY|QUEUE_FULL/);
        break;
      }
      await new Promise<void>((resolve) => setImmediate(resolve));
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
  ['gpio.list', {}],
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

async function round(core: Core, apps: readonly App[], number: number): Promise<void> {
  const heardBefore = heard;
  const givenBefore = microphone.given;
  microphone.give(FRAMES);
  const calls = apps.map(async (app, index) => {
    for (let call = 0; call < CALLS / APPS; call++) {
      const [method, params] = CALLS_OF_AN_APP[(call + index) % CALLS_OF_AN_APP.length]!;
      await app.call(method, params);
    }
  });
  const sessions = async () => {
    for (let session = 0; session < SESSIONS; session++) {
      const guest = new App(APPS + (session % 3));
      await guest.connect(core);
      await guest.call('events.subscribe', { filter: 'plugin.**' });
      if (session % 2 === 0) await health(core);
      guest.end();
    }
  };
  const restarts = async () => {
    for (const id of ['spi', 'functions', ['events', 'intent', 'config'][number % 3]!])
      assert.equal((await core.kernel.restart(id)).state, 'active', id);
  };
  await Promise.all([...calls, sessions(), restarts()]);
  await eventually(() => microphone.given - givenBefore === FRAMES, 'the frames of the round', { ms: 120_000 });
  assert.ok(heard > heardBefore, 'frames reach the engine');
}

test('heap and handles are flat', { timeout: 1_800_000 }, async (context) => {
  const handle = { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0, deadlineMs: 60_000 };
  const ids =
    'operations identity system http rpc events functions config audio-sim audio speech vad-energy vad-fvad intent voice endpoints cbp gpio';
  await using core = await startCore({
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
  await eventually(async () => (await core.service(voice).state()).state === 'idle', 'a voice that listens');
  const apps = Array.from({ length: APPS }, (_, number) => new App(number));
  for (const app of apps) await app.connect(core);

  const heaps: number[] = [];
  let before = handles();
  for (let number = 0; number < ROUNDS + WARM; number++) {
    await round(core, apps, number);
    heaps.push(await heapUsed());
    if (number === WARM - 1) before = handles();
  }
  const [first, last] = [Math.min(...heaps.slice(WARM - 1, WARM + 1)), heaps.at(-1)!];
  const each = (last - first) / (ROUNDS * (FRAMES + CALLS + SESSIONS));
  context.diagnostic(`${ROUNDS * FRAMES} frames, ${ROUNDS * CALLS} calls, ${ROUNDS * SESSIONS} sessions`);
  context.diagnostic(`heap in KiB after each round: ${heaps.map((bytes) => Math.round(bytes / 1_024)).join(' ')}`);
  context.diagnostic(
    `${each.toFixed(1)} bytes each; handles ${JSON.stringify(before)}, then ${JSON.stringify(handles())}`,
  );
  assert.ok(
    last - first < NOISE_BYTES + MOST_BYTES_EACH * ROUNDS * FRAMES,
    `${Math.round((last - first) / 1_024)} KiB are kept`,
  );
  for (const app of apps) app.end();
  await eventually(() => {
    for (const [kind, count] of Object.entries(handles()))
      assert.ok(count <= (before[kind] ?? 0) + 2, `${count} of ${kind}, there were ${before[kind] ?? 0}`);
    return true;
  }, 'handles as before');
});
