import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type ProcessOwner, processes } from '@device-core/plugin-api/inside/services/processes';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { given, leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { pace } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { FORMAT, Ours, offer, portOf, tellSound } from './ours.ts';
import { eventually, failure, healthOf, type Started, start } from './start.ts';
import { bytesOf, Peer, type Told } from './wire.ts';

after(leakCheck());

/** Deadlines that nothing in these tests comes near. */
const CALM = { answerMs: 20_000, stallMs: 20_000 };

async function transcript(peer: Peer, count = 10, value = 1): Promise<Told> {
  peer.tell('transcribe', { language: 'en' });
  peer.tell('audio-start', FORMAT);
  tellSound(peer, count, value);
  peer.tell('audio-stop');
  return peer.until('transcript');
}

/** The code of the error that ends the connection. */
async function refused(peer: Peer): Promise<string> {
  const { data } = await peer.until('error');
  assert.equal(await peer.hear(), undefined, 'it hangs up');
  assert.equal(typeof data.text, 'string');
  return String(data.code);
}

const names = (told: unknown): string[] => (told as { readonly name: string }[]).map(({ name }) => name);

/** Where the plugin may make a socket, at every level of isolation. */
class Place implements AsyncDisposable {
  readonly path: string;
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
    this.path = join(root, 'run', 'wyoming', 'a.sock');
  }

  static async make(): Promise<Place> {
    const root = await mkdtemp(join(tmpdir(), 'dc-'));
    for (const name of ['etc', 'var', 'run/wyoming']) await mkdir(join(root, name), { recursive: true });
    return new Place(root);
  }

  serve(): Promise<Started> {
    const root = this.#root;
    const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
    const info = { id: 'test', sku: 'test', title: 'Test', simulated: true, version: '1.0.0', paths };
    const at = given(device, { info: async () => info as unknown as DeviceInfo });
    return start({ serve: { uri: `unix://${this.path}` } }, [...new Ours().services(), at]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.#root, { recursive: true });
  }
}

describe('our engines over Wyoming', { timeout: 300_000 }, () => {
  it('are described: those of this device, in its order', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    for (const style of ['block', 'inline'] as const) {
      client.style = style;
      client.tell('describe');
      const { data } = await client.until('info');
      const { asr, tts, wake, intent } = data as Record<string, [{ readonly models: object; readonly voices: object }]>;
      assert.deepEqual(names(asr![0].models), ['ear']);
      assert.deepEqual(names(tts![0].voices), ['slt', 'rms']);
      assert.deepEqual(names(wake![0].models), ['hey_computer']);
      assert.deepEqual(intent![0].models, [
        {
          attribution: { name: 'Device Core', url: '' },
          installed: true,
          version: '1',
          name: 'sentences',
          description: 'Sentences of this device',
          languages: ['en'],
        },
      ]);
      for (const program of [asr, tts, wake, intent].flatMap((list) => list ?? []))
        assert.ok('attribution' in program && 'installed' in program && 'name' in program);
    }
  });

  it('are not described where there are none', async () => {
    const ours = new Ours();
    ours.engines = [];
    await using offered = await offer({ phrases: [] }, CALM, ours);
    const client = await offered.client();
    client.tell('describe');
    const { data } = await client.until('info');
    assert.deepEqual([data.asr, data.tts, data.wake], [[], [], []]);
  });

  it('answer a ping with the same text', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    client.tell('ping', { text: 'there?' });
    client.tell('ping');
    assert.deepEqual((await client.until('pong')).data, { text: 'there?' });
    assert.deepEqual((await client.until('pong')).data, {});
  });

  it('transcribe, one after the other on one connection, and never by a cloud', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    for (const count of [10, 20]) {
      assert.deepEqual((await transcript(client, count, 7)).data, { text: 'turn on the light', language: 'en' });
      const { samples, options } = offered.ours.transcribed.at(-1)!;
      assert.equal(samples.length, count * 320);
      assert.ok(samples.every((sample) => sample === 7));
      assert.equal((options as { stage?: string }).stage, 'local');
    }
    client.tell('transcribe', { name: 'far' });
    tellSound(client, 1);
    assert.equal(await refused(client), 'PARAMS_INVALID');
  });

  it('transcribe sound of any rate, width and number of channels, without audio-start, too', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    client.tell('audio-chunk', { rate: 48_000, width: 4, channels: 2 }, Buffer.alloc(48_000 * 8));
    client.tell('audio-stop');
    await client.until('transcript');
    const { samples } = offered.ours.transcribed[0]!;
    assert.ok(Math.abs(samples.length - 16_000) <= 320, `${samples.length} samples`);
  });

  it('detect phrases as they come, and tell when there were none', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    client.tell('detect', { names: ['hey_computer'] });
    client.tell('audio-start', { ...FORMAT, timestamp: 1_000 });
    tellSound(client, 4);
    tellSound(client, 1, 5_000);
    const { data } = await client.until('detection');
    // It came with the fifth chunk of 20 ms.
    assert.deepEqual(data, { name: 'hey_computer', timestamp: 1_100 });
    client.tell('audio-stop');
    client.tell('detect');
    tellSound(client, 3);
    client.tell('audio-stop');
    await client.until('not-detected');
    client.tell('detect', { names: ['open_sesame'] });
    tellSound(client, 1);
    assert.equal(await refused(client), 'PARAMS_INVALID');
  });

  it('speak: audio-start, chunks that others can take, audio-stop', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    for (const voice of [undefined, { name: 'rms' }]) {
      client.tell('synthesize', { text: 'Hello.', ...(voice && { voice }) });
      assert.deepEqual((await client.until('audio-start')).data, { ...FORMAT, timestamp: 0 });
      const samples: number[] = [];
      for (let told = await client.hear(); told?.type === 'audio-chunk'; told = await client.hear()) {
        assert.ok(told.payload.length <= 8_192);
        assert.equal(told.data.timestamp, Math.round(samples.length / 16));
        for (let at = 0; at < told.payload.length; at += 2) samples.push(told.payload.readInt16LE(at));
      }
      assert.deepEqual([samples.length, samples[0], samples.at(-1)], [15_000, 1, 3]);
    }
    assert.deepEqual(offered.ours.spoken, [
      { text: 'Hello.', voice: undefined },
      { text: 'Hello.', voice: 'rms' },
    ]);
    client.tell('synthesize', { text: 'Hello.', voice: { name: 'nobody' } });
    assert.equal(await refused(client), 'PARAMS_INVALID');
  });

  it('tell what a sentence means, and do nothing', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    client.tell('recognize', { text: 'volume ten' });
    assert.deepEqual((await client.until('intent')).data, {
      name: 'device.volume',
      entities: [{ name: 'level', value: 10 }],
      text: 'volume ten',
    });
    client.tell('recognize', { text: 'volume ten', context: { language: 'de_DE' } });
    assert.deepEqual((await client.until('not-recognized')).data, { text: 'volume ten' });
    client.tell('recognize', { text: 7 });
    assert.equal(await refused(client), 'PARAMS_INVALID');
  });

  it('serve two at once, each by itself', async () => {
    await using offered = await offer({}, CALM);
    const { ours } = offered;
    const both = Promise.withResolvers<void>();
    ours.text = async (samples) => {
      if (ours.atWork === 2) both.resolve();
      await both.promise;
      return String(samples[0]);
    };
    const texts = await Promise.all(
      [3, 4].map(async (value) => (await transcript(await offered.client(), 10, value)).data.text),
    );
    assert.deepEqual([texts, ours.together], [['3', '4'], 2]);
  });

  it('serve no more than the limit, and say so', async () => {
    await using offered = await offer({ connections: 1 }, CALM);
    const first = await offered.client();
    first.tell('ping');
    await first.until('pong');
    assert.equal(await refused(await offered.client()), 'BUSY');
    first[Symbol.dispose]();
    await eventually('a free place', async () => {
      const peer = await offered.client();
      peer.tell('ping');
      return (await peer.hear())?.type === 'pong';
    });
  });

  const guests: readonly (readonly [string, ProcessOwner, RegExp])[] = [
    ['an app', { kind: 'app', id: 'com.example.a', ended: false }, /a process of app com\.example\.a/],
    ['a plugin', { kind: 'plugin', id: 'guest', ended: false }, /a process of plugin guest/],
    ['what slipped away from its guest', { kind: 'core' }, /a process that the Core started/],
    ['who cannot be told', { kind: 'unknown' }, /cannot be identified/],
  ];
  for (const [who, owner, reason] of guests)
    it(`refuse ${who}: it has rights of its own, and a way of its own`, async () => {
      const known = given(processes, { ownerOfTcp: async () => owner });
      const served = { serve: { uri: 'tcp://127.0.0.1:0' }, ...CALM };
      await using started = await start(served, [...new Ours().services(), known]);
      using peer = await Peer.open({ host: '127.0.0.1', port: await portOf(started) });
      peer.tell('describe');
      const { data } = await peer.until('error');
      assert.equal(data.code, 'CALLER_DENIED');
      assert.match(String(data.text), reason);
    });

  it('answer who has said all and ended its side', async () => {
    await using offered = await offer({}, CALM);
    for (const [asked, answer] of [
      [[['transcribe'], ['audio-chunk', FORMAT, Buffer.alloc(640)], ['audio-stop']], 'transcript'],
      [[['synthesize', { text: 'Hello.' }]], 'audio-stop'],
      [[['recognize', { text: 'volume ten' }]], 'intent'],
      [[['describe']], 'info'],
    ] as const) {
      const client = await offered.client();
      for (const [type, data, payload] of asked as readonly (readonly [string, object?, Buffer?])[])
        client.tell(type, data, payload);
      client.socket.end();
      assert.equal((await client.until(answer)).type, answer);
      assert.equal(await client.hear(), undefined);
    }
  });

  it('hang up where an event is cut off, and go on for others', async () => {
    await using offered = await offer({}, CALM);
    const client = await offered.client();
    client.socket.end('{"type":"audio-chunk","payload_length":640}\nabc');
    assert.equal(await client.hear(), undefined);
    const other = await offered.client();
    assert.equal((await transcript(other)).data.text, 'turn on the light');
  });

  const rubbish: readonly [title: string, bytes: string | Buffer, code: string][] = [
    ['what is no event', 'GET / HTTP/1.1\r\n\r\n', 'REQUEST_INVALID'],
    ['a line without end', 'x'.repeat(3_000), 'BODY_TOO_LARGE'],
    ['large data', '{"type":"ping","data_length":3000}\n', 'BODY_TOO_LARGE'],
    ['a large payload', '{"type":"audio-chunk","payload_length":100000}\n', 'BODY_TOO_LARGE'],
    ['sound without a rate', bytesOf('audio-chunk', {}, Buffer.alloc(10)), 'REQUEST_INVALID'],
    ['a rate that is none', bytesOf('audio-chunk', { ...FORMAT, rate: 1e9 }, Buffer.alloc(10)), 'REQUEST_INVALID'],
    ['a text without end', bytesOf('synthesize', { text: 'x'.repeat(1_500) }), 'PARAMS_INVALID'],
    ['nothing to say', bytesOf('synthesize', { text: ' ' }), 'PARAMS_INVALID'],
  ];
  for (const [title, bytes, code] of rubbish)
    it(`refuse ${title}`, async () => {
      const limits = { lineBytes: 2_000, dataBytes: 2_000, payloadBytes: 4_096 };
      await using offered = await offer({ mostCharacters: 1_000 }, { ...CALM, ...limits });
      const client = await offered.client();
      client.socket.write(bytes);
      assert.equal(await refused(client), code);
    });

  it('hear no more than the longest speech', async () => {
    await using offered = await offer({ mostSeconds: 1 }, CALM);
    const client = await offered.client();
    client.tell('transcribe');
    tellSound(client, 60);
    assert.equal(await refused(client), 'PARAMS_INVALID');
    assert.ok(offered.ours.transcribed.every(({ samples }) => samples.length <= 16_000));
  });

  it('give up who says nothing', async () => {
    await using offered = await offer({ idleMs: 100 }, CALM);
    assert.equal(await refused(await offered.client()), 'UNAVAILABLE');
  });

  it('give up who does not read, and stop what speaks to it', async () => {
    const ours = new Ours();
    let stopped = false;
    ours.sound = async function* () {
      try {
        // More than what fits into buffers on the way.
        for (;;) yield { rate: 48_000, samples: new Int16Array(48_000) };
      } finally {
        stopped = true;
      }
    };
    await using offered = await offer({}, { ...CALM, stallMs: 300 }, ours);
    const client = await offered.client();
    client.socket.pause();
    client.tell('synthesize', { text: 'Hello.' });
    await eventually('its end', () => stopped);
    const other = await offered.client();
    other.tell('ping');
    await other.until('pong');
  });

  it('take a client that reads slowly', async () => {
    const ours = new Ours();
    ours.sound = async function* () {
      for (let piece = 0; piece < 60; piece++) yield { rate: 48_000, samples: new Int16Array(48_000).fill(piece) };
    };
    await using offered = await offer({}, CALM, ours);
    const client = await offered.client();
    client.tell('synthesize', { text: 'Hello.' });
    let bytes = 0;
    for (let told = await client.hear(); told?.type !== 'audio-stop'; told = await client.hear()) {
      bytes += told?.payload.length ?? 0;
      client.socket.pause();
      await pace(2);
      client.socket.resume();
    }
    assert.equal(bytes, 60 * 96_000);
  });

  it('stop an engine that does not answer in time', async () => {
    const ours = new Ours();
    ours.text = () => new Promise(() => undefined);
    await using offered = await offer({}, { answerMs: 300, stallMs: 20_000 }, ours);
    const client = await offered.client();
    tellSound(client, 1);
    client.tell('audio-stop');
    assert.equal(await refused(client), 'TIMEOUT');
  });

  it('tell the failure of an engine by its code', async () => {
    const ours = new Ours();
    ours.text = async () => {
      throw new CoreError('SPEECH_FAILED', { engine: 'ear', reason: 'it has a cold' });
    };
    await using offered = await offer({}, CALM, ours);
    const client = await offered.client();
    tellSound(client, 1);
    client.tell('audio-stop');
    const { data } = await client.until('error');
    assert.equal(data.code, 'SPEECH_FAILED');
    assert.match(String(data.text), /it has a cold/);
  });

  it('stop when the client goes away, and with the plugin', async () => {
    const offered = await offer({}, CALM);
    const { ours } = offered;
    const client = await offered.client();
    client.tell('transcribe');
    tellSound(client, 5);
    await eventually('the engine', () => ours.atWork === 1);
    client.socket.resetAndDestroy();
    await eventually('its end', () => ours.atWork === 0);
    const other = await offered.client();
    other.tell('transcribe');
    tellSound(other, 5);
    await eventually('the engine', () => ours.atWork === 1);
    await offered[Symbol.asyncDispose]();
    await eventually('its end', () => ours.atWork === 0);
  });

  it('survive messages of any kind', async () => {
    await using offered = await offer({ connections: 64 }, { ...CALM, payloadBytes: 1_024 });
    const types = ['describe', 'ping', 'transcribe', 'detect', 'audio-start', 'audio-chunk', 'audio-stop'];
    const event = fc
      .record({
        type: fc.constantFrom(...types, 'synthesize', 'recognize', 'voice-started', 'x'),
        data: fc.oneof(
          fc.constant({ ...FORMAT, text: 'volume ten' }),
          fc.dictionary(fc.constantFrom('rate', 'text', 'names', 'voice', 'name', 'language'), fc.jsonValue()),
        ),
        payload: fc.uint8Array({ maxLength: 700 }),
      })
      .map(({ type, data, payload }) => bytesOf(type, data as object, payload));
    const soup = fc.oneof({ weight: 8, arbitrary: event }, { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(soup, { maxLength: 12 }), async (pieces) => {
        const client = await offered.client();
        client.socket.end(Buffer.concat(pieces));
        for (let told = await client.hear(); told; told = await client.hear()) assert.ok(told.type.length > 0);
        client[Symbol.dispose]();
      }),
      { numRuns: runs(40) },
    );
    assert.equal((await transcript(await offered.client())).data.text, 'turn on the light');
    await eventually('quiet', () => offered.ours.atWork === 0);
  });
});

describe('where our engines are', { timeout: 300_000 }, () => {
  it('is nowhere without configuration', async () => {
    await using started = await start({}, new Ours().services());
    assert.deepEqual(await healthOf(started.host), { status: 'okay' });
  });

  for (const uri of ['tcp://0.0.0.0:0', 'tcp://192.168.0.1:1', 'tcp://[::]:0', 'tcp://example.com:1'])
    it(`is not ${uri}, which others can reach`, async () => {
      const error = await failure(start({ serve: { uri } }, new Ours().services()));
      assert.ok(['PARAMS_INVALID', 'CONFIG_INVALID'].includes(error.code), error.code);
    });

  it('is a Unix socket that only its owner and group reach; a dead one is cleared away', async () => {
    await using place = await Place.make();
    const { path } = place;
    for (const _ of [1, 2]) {
      await using started = await place.serve();
      await eventually('the server', async () => /at unix/.test((await healthOf(started.host)).message ?? ''));
      assert.equal((await stat(path)).mode & 0o777, 0o660);
      using peer = await Peer.open({ path });
      peer.tell('ping');
      await peer.until('pong');
    }
  });

  it('is not where something else lies, which is told and looked at again', async () => {
    await using place = await Place.make();
    await writeFile(place.path, 'mine');
    await using started = await place.serve();
    await eventually('the problem', async () => /no socket/.test((await healthOf(started.host)).message ?? ''));
    assert.equal((await healthOf(started.host)).status, 'error');
    await rm(place.path);
    await eventually('the server', async () => (await healthOf(started.host)).status === 'okay');
  });

  it('is a port of another program until it is free', async () => {
    const first = await offer();
    await using started = await start({ serve: { uri: `tcp://127.0.0.1:${first.port}` } }, new Ours().services());
    await eventually('the problem', async () => /EADDRINUSE/.test((await healthOf(started.host)).message ?? ''));
    await first[Symbol.asyncDispose]();
    await eventually('the server', async () => (await healthOf(started.host)).status === 'okay');
  });
});
