/** A device that hears its own speaker: it does not answer itself, and with echo cancellation it can be interrupted. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { encodeWav } from '@device-core/plugin-api/audio';
import { type AudioFrame, audio } from '@device-core/plugin-api/services/audio';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { voice } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { without } from '../fixtures/debian.ts';
import { loudnessOf } from '../fixtures/echo-room.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { join, say, silence } from '../fixtures/speech.ts';

const check = leakCheck();
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const PLUGINS = [
  ...[
    'operations',
    'identity',
    'system',
    'http',
    'rpc',
    'events',
    'functions',
    'config',
    'supervisor-process',
    'apps',
    'intent',
  ],
  ...['audio', 'speech', 'vad-fvad', 'soundswallower', 'tts-flite'],
];
const skip = without('libspeexdsp1');
/** Nearly as loud in the microphone as somebody in the room. */
const ECHO = { gain: 0.5, delayMs: 40 };
const STORY = `Once upon a time there was a little mountain, and on the mountain there lived a bird that sang all day long.
  The people of the valley listened to it, and in the evening they told their children about the song.`;
const CALL = 'Whenever you need me, say, hey computer, what time is it.';

class Device {
  readonly #core: Core;

  private constructor(core: Core) {
    this.#core = core;
  }

  static async open(plugins: Readonly<Record<string, object>>): Promise<Device> {
    const lines = Object.entries(plugins).map(([id, config]) => [id, { version: '^1.0.0', config }]);
    const core = await startCore({
      plugins: {
        ...Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
        'audio-sim': { version: '^1.0.0', config: { echo: ECHO } },
        ...Object.fromEntries(lines),
      },
    });
    const device = new Device(core);
    await until(async () => {
      const kinds = new Set((await core.service(speech).list()).map(({ kind }) => kind));
      const { capturing } = await core.service(audio).state();
      const grammar = await core.service(intents).grammar('en');
      return kinds.size === 4 && capturing.length > 0 && grammar ? true : undefined;
    }, 'the chain');
    return device;
  }

  invoke<T>(name: string, params: object): Promise<T> {
    const deadline = Date.now() + 60_000;
    const signal = AbortSignal.timeout(60_000);
    return this.#core.service(operations).invoke(name, params, { caller: OPERATOR, signal, deadline }) as Promise<T>;
  }

  say(text: string): Promise<void> {
    return this.#core.service(voice).say(text);
  }

  async turns(): Promise<number> {
    return (await this.#core.service(voice).turns(100)).length;
  }

  async is(state: string): Promise<void> {
    const there = async () => ((await this.#core.service(voice).state()).state === state ? true : undefined);
    await until(there, state);
  }

  async hear(samples: Int16Array): Promise<void> {
    const wav = Buffer.from(encodeWav({ rate: 16_000, samples })).toString('base64');
    await this.invoke('audio.inject', { wav, wait: true });
  }

  /** Loudness of what those hear who listen, second by second, until the work is done. */
  async listen(work: () => Promise<void>): Promise<readonly number[]> {
    const stop = new AbortController();
    const frames: AudioFrame[] = [];
    const reading = (async () => {
      for await (const frame of this.#core.service(audio).capture({ owner: 'plugin:test', signal: stop.signal }))
        frames.push(frame);
    })();
    await work();
    stop.abort();
    await reading;
    const seconds: number[] = [];
    for (let from = 0; from + 50 <= frames.length; from += 50)
      seconds.push(loudnessOf(join(...frames.slice(from, from + 50).map(({ samples }) => samples))));
    return seconds;
  }

  async health(component: string) {
    return (await this.invoke<{ components: Record<string, ComponentHealth> }>('system.health', {})).components[
      component
    ];
  }

  stop(): Promise<void> {
    return this.#core.stop();
  }
}

const average = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const WITH = { voice: { whileSpeaking: 'normal' }, 'aec-speex': {} };

after(check);

describe('a device that hears itself', { timeout: 300_000 }, () => {
  let device: Device;
  before(async () => {
    device = await Device.open({ voice: { whileSpeaking: 'strict' } });
  });
  after(() => device?.stop());

  test('does not answer itself, though its own wake phrase is in what it says', async (t) => {
    const turns = await device.turns();
    const seconds = await device.listen(async () => {
      await device.say(CALL);
      await device.say(STORY);
    });
    t.diagnostic(`${average(seconds).toFixed(1)} dB of itself are heard`);
    await device.is('idle');
    assert.equal(await device.turns(), turns);
  });
});

describe('a device that hears itself, with echo cancellation', { timeout: 300_000, skip }, () => {
  let device: Device;
  before(async () => {
    device = await Device.open(WITH);
  });
  after(() => device?.stop());

  test('hears little of itself soon, and does not answer', async (t) => {
    const turns = await device.turns();
    const seconds = await device.listen(async () => {
      await device.say(STORY);
      await device.say(CALL);
    });
    t.diagnostic(`heard of itself, dB by seconds: ${seconds.map((one) => one.toFixed(0)).join(' ')}`);
    assert.ok(average(seconds.slice(0, 2)) - average(seconds.slice(6, -1)) > 6, 'it learns the room');
    await device.is('idle');
    assert.equal(await device.turns(), turns);
    assert.equal((await device.health('audio.echo'))?.status, 'okay');
    assert.equal((await device.health('aec-speex'))?.status, 'okay');
  });

  test('is interrupted by a stop word', async (t) => {
    let outcome: string | undefined;
    const told = device
      .say(`${STORY} ${STORY}`)
      .catch((error) => error.code)
      .then((code) => {
        outcome = code ?? 'it went on to its end';
      });
    await device.is('speaking');
    const stop = join(silence(1_500), await say('be quiet', 'rms'), silence(500));
    let calls = 0;
    for (; calls < 5 && outcome === undefined; calls++) await device.hear(stop);
    await told;
    t.diagnostic(`after ${calls} calls`);
    assert.equal(outcome, 'CANCELLED');
    await device.is('idle');
  });
});
