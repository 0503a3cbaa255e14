import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { given, ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import { pace, eventually as until } from '../../fixtures/eventually.ts';
import { INFO, type Manner, Service } from './service.ts';
import {
  all,
  answering,
  eventually,
  failure,
  frames,
  HASTY,
  healthOf,
  NEVER,
  type Started,
  start,
  withEngine,
} from './start.ts';
import type { Peer, Told } from './wire.ts';

after(leakCheck());

const SOUND = { rate: 22_050, width: 2, channels: 1 };

async function stt(started: Started, options: object = {}, count = 5) {
  const { engine } = started.registry.find('stt');
  return engine.transcribe(frames(count), { language: 'en', signal: NEVER, ...options });
}

/** 100 ms of sound in ten pieces. */
function speaks(peer: Peer, { type }: Told): void {
  if (type !== 'synthesize') return;
  peer.tell('audio-start', SOUND);
  for (let piece = 0; piece < 10; piece++) peer.tell('audio-chunk', SOUND, Buffer.alloc(441, piece));
  peer.tell('audio-stop');
}

describe('external engines over Wyoming', { timeout: 300_000 }, () => {
  it('the manifest agrees with the plugin, which does nothing without configuration', async () => {
    const { host, registry } = await start({});
    assert.deepEqual(registry.rows, []);
    assert.deepEqual(await healthOf(host), { status: 'okay' });
    await host.stop();
    assert.deepEqual(host.leaks(), []);
  });

  it('are registered with what they say of themselves', async () => {
    await using service = await Service.start();
    const engines = (['stt', 'tts', 'wake'] as const).map((kind) => ({ kind, id: `my-${kind}`, uri: service.uri }));
    await using started = await start({ engines });
    const { rows } = started.registry;
    await eventually('their registration', () => rows.length === 3);
    const told = Object.fromEntries(rows.map(({ kind, description, owner }) => [kind, { ...description, owner }]));
    const same = { title: 'A test (Wyoming)', stage: 'local', owner: 'plugin.wyoming' };
    assert.deepEqual(told, {
      stt: { ...same, id: 'my-stt', languages: ['en', 'de-DE'], streaming: false },
      tts: { ...same, id: 'my-tts', languages: ['en-GB', 'de-DE'], voices: ['amy', 'thorsten'] },
      wake: { ...same, id: 'my-wake', languages: [] },
    });
    await eventually('good health', async () => (await healthOf(started.host)).status === 'okay');
    await started.host.stop();
    assert.deepEqual(rows, []);
    assert.deepEqual(started.host.leaks(), []);
  });

  it('are waited for, found, lost and found again', async () => {
    const service = await Service.start();
    const { uri, port } = service;
    await service.close();
    await using started = await start({ engines: [{ kind: 'stt', id: 'whisper', uri }] });
    const { rows } = started.registry;
    await eventually('its absence', async () => /ECONNREFUSED/.test((await healthOf(started.host)).message ?? ''));
    const { status, code, message } = await healthOf(started.host);
    assert.deepEqual([status, code], ['waiting', 'ENGINE_MISSING']);
    assert.match(message!, /^stt engine whisper is not there: .*127\.0\.0\.1/);
    {
      await using _second = await Service.start({ port });
      await eventually('its registration', () => rows.length === 1);
      await eventually('good health', async () => (await healthOf(started.host)).status === 'okay');
    }
    await eventually('its absence', () => rows.length === 0);
    await using _third = await Service.start({ port });
    await eventually('its return', () => rows.length === 1);
  });

  it('are looked for more and more seldom', async () => {
    await using service = await Service.start();
    service.info = undefined;
    service.manner = (peer) => void peer.socket.end();
    const began = performance.now();
    await using _started = await start({
      engines: [{ kind: 'stt', id: 'other', uri: service.uri }],
      leastPauseMs: 20,
      mostPauseMs: 60_000,
    });
    await until(() => service.connections >= 6, 'a sixth attempt');
    // After 0, 20, 60, 140, 300 and 620 ms: it counts how much time has passed, however busy the machine was.
    assert.ok(performance.now() - began >= 600, 'the pauses grow');
  });

  const useless: readonly [title: string, info: object | undefined, manner: Manner, message: RegExp][] = [
    ['offers something else', { tts: INFO.tts }, () => undefined, /offers no stt/],
    ['has installed nothing', { asr: [{ ...INFO.asr[0], installed: false }] }, () => undefined, /offers no stt/],
    ['does not answer', undefined, () => undefined, /did not come within/],
    ['hangs up', undefined, (peer) => void peer.socket.end(), /hung up/],
    ['answers in another protocol', undefined, (peer) => void peer.socket.write('HTTP/1.1 400 Bad\r\n'), /no JSON/],
    ['answers without end', undefined, (peer) => void peer.socket.write('x'.repeat(2_000)), /1000 bytes/],
    ['refuses', undefined, (peer) => peer.tell('error', { text: 'not today', code: 'closed' }), /closed: not today/],
  ];
  for (const [title, info, manner, message] of useless)
    it(`are named in health where the service ${title}`, async () => {
      await using service = await Service.start();
      service.info = info;
      service.manner = manner;
      await using started = await start({
        engines: [{ kind: 'stt', id: 'other', uri: service.uri }],
        lineBytes: 1_000,
        answerMs: title === 'does not answer' ? 400 : 20_000,
      });
      await eventually('that', async () => message.test((await healthOf(started.host)).message ?? ''));
      assert.deepEqual(started.registry.rows, []);
    });

  it('are local on this machine, unless the configuration says otherwise', async () => {
    await using service = await Service.start();
    await using started = await start({
      engines: [
        { kind: 'stt', id: 'here', uri: service.uri },
        { kind: 'stt', id: 'sent', uri: service.uri, stage: 'cloud', languages: ['en'] },
      ],
    });
    await eventually('their registration', () => started.registry.rows.length === 2);
    const stages = started.registry.rows.map(({ description }) => [
      description.id,
      description.stage,
      description.languages,
    ]);
    assert.deepEqual(stages.sort(), [
      ['here', 'local', ['en', 'de-DE']],
      ['sent', 'cloud', ['en']],
    ]);
  });

  it('are told apart from an address that makes no sense, and from our own', async () => {
    for (const config of [
      { engines: [{ kind: 'stt', id: 'other', uri: 'tcp://[nonsense]:1' }] },
      { engines: [{ kind: 'stt', id: 'other', uri: 'tcp://127.0.0.1:1' }], serve: { uri: 'tcp://127.0.0.1:1' } },
    ])
      assert.equal((await failure(start(config))).code, 'PARAMS_INVALID');
  });

  it('are asked again when the registry refuses them', async () => {
    await using service = await Service.start();
    let refusals = 0;
    const registry = given(speech, {
      register: () => {
        refusals++;
        throw new CoreError('PARAMS_INVALID', { where: 'id', reason: 'there is one already' });
      },
    });
    await using started = await start({ engines: [{ kind: 'stt', id: 'other', uri: service.uri }] }, [registry]);
    await eventually('that', () => refusals >= 2);
    assert.match((await healthOf(started.host)).message!, /there is one already/);
  });

  // Walls hide the sockets of others from a plugin in a process; the addresses of the network they leave to it.
  const walled = process.env[ISOLATION_VARIABLE] === 'process';
  it('can be behind a Unix socket', { skip: walled }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wyoming-'));
    try {
      await using service = await Service.start({ path: join(folder, 'a.sock') });
      service.manner = answering(['transcript', { text: 'Yes' }]);
      await using started = await withEngine('stt', service);
      assert.deepEqual(await stt(started), { text: 'yes', language: 'en' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('external recognisers', { timeout: 300_000 }, () => {
  it('hear every sample, in the language as they name it, and their text loses the wake phrase', async () => {
    await using service = await Service.start();
    service.style = 'inline';
    service.manner = answering(['transcript', { text: ' Hey computer, what time is it? ' }]);
    await using started = await withEngine('stt', service, { model: 'tiny' });
    const answer = await stt(started, { language: 'de', prefix: ['hey computer'] });
    assert.deepEqual(answer, { text: 'what time is it', language: 'de' });
    const [asked] = service.heardOf('transcribe');
    assert.deepEqual(asked?.data, { name: 'tiny', language: 'de_DE' });
    assert.deepEqual(service.heardOf('audio-start')[0]?.data, { rate: 16_000, width: 2, channels: 1, timestamp: 0 });
    const chunks = service.heardOf('audio-chunk');
    assert.deepEqual(
      chunks.map(({ data, payload }) => [data.timestamp, payload.length, payload.readInt16LE(638)]),
      [0, 1, 2, 3, 4].map((seq) => [seq * 20, 640, seq + 1]),
    );
    assert.deepEqual(service.heardOf('audio-stop')[0]?.data, { timestamp: 80 });
  });

  it('tell what they have understood so far', async () => {
    await using service = await Service.start();
    service.info = { asr: [{ ...INFO.asr[0], supports_transcript_streaming: true }] };
    service.manner = answering(
      ['transcript-start', { language: 'en' }],
      ['transcript-chunk', { text: 'What ' }],
      ['transcript-chunk', { text: 'time' }],
      ['transcript-stop'],
      ['transcript', { text: 'What time?' }],
    );
    await using started = await withEngine('stt', service);
    assert.equal(started.registry.find('stt').description.streaming, true);
    const partials: string[] = [];
    const answer = await stt(started, { partial: ({ text }: { text: string }) => void partials.push(text) });
    await started.host.settle();
    assert.equal(answer.text, 'what time?');
    assert.deepEqual(partials, ['what', 'what time']);
  });

  it('may leave out the whole after its pieces', async () => {
    await using service = await Service.start();
    const pieces = [['transcript-start'], ['transcript-chunk', { text: 'stop' }], ['transcript-stop']] as const;
    await using started = await withEngine('stt', service);
    service.manner = answering(...pieces);
    assert.equal((await stt(started)).text, 'stop');
    service.manner = (peer, told) => {
      answering(...pieces)(peer, told);
      if (told.type === 'audio-stop') peer.socket.end();
    };
    assert.equal((await stt(started)).text, 'stop');
  });

  it('may answer before the sound has ended', async () => {
    await using service = await Service.start();
    service.manner = (peer, { type }) =>
      type === 'audio-chunk' ? peer.tell('transcript', { text: 'Enough' }) : undefined;
    await using started = await withEngine('stt', service);
    let left = false;
    async function* endless() {
      try {
        for (;;) yield* frames(1, () => pace(5));
      } finally {
        left = true;
      }
    }
    const { engine } = started.registry.find('stt');
    assert.equal((await engine.transcribe(endless(), { language: 'en', signal: NEVER })).text, 'enough');
    await eventually('the end of the frames', () => left);
  });

  const faults: readonly [title: string, manner: Manner, message: RegExp][] = [
    [
      'hang up in the middle',
      (peer, { type }) => void (type === 'audio-chunk' && peer.socket.end()),
      /hung up|EPIPE|RESET/,
    ],
    [
      'cut the connection',
      (peer, { type }) => void (type === 'audio-chunk' && peer.socket.resetAndDestroy()),
      /hung up|EPIPE|RESET/,
    ],
    ['hang', () => undefined, /the transcript did not come within 1500 ms/],
    [
      'hang up within an event',
      (peer, { type }) =>
        void (type === 'audio-stop' && peer.socket.end('{"type":"transcript","data_length":50}\n{"te')),
      /within an event/,
    ],
    ['talk rubbish', (peer, { type }) => void (type === 'audio-stop' && peer.socket.write('what?\n')), /no JSON/],
    [
      'promise too much',
      (peer, { type }) =>
        void (type === 'audio-stop' && peer.socket.write('{"type":"transcript","payload_length":1e12}\n')),
      /payload/,
    ],
    [
      'write a line without end',
      (peer, { type }) => void (type === 'audio-stop' && peer.socket.write(' '.repeat(2_000_000))),
      /line/,
    ],
    ['have no text', answering(['transcript', { words: [] }]), /no text/],
    [
      'never end a transcript',
      answering(...Array.from({ length: 60 }, () => ['transcript-chunk', { text: 'x'.repeat(200) }] as const)),
      /longer than/,
    ],
    ['refuse', answering(['error', { text: 'no model' }]), /no model/],
  ];
  for (const [title, manner, message] of faults)
    it(`fail where they ${title}, and are asked again`, async () => {
      await using service = await Service.start();
      service.manner = manner;
      const answerMs = title === 'hang' ? 1_500 : 20_000;
      await using started = await withEngine('stt', service, {}, { checkMs: 60_000, leastPauseMs: 5_000, answerMs });
      const error = await failure(stt(started));
      assert.equal(error.code, 'SPEECH_FAILED');
      assert.match(error.message, message);
      assert.match(error.message, /^stt engine other failed: /);
      service.manner = answering(['transcript', { text: 'Fine' }]);
      assert.equal((await stt(started)).text, 'fine');
    });

  it('that do not take the sound in time fail, and nothing heaps up', async () => {
    await using service = await Service.start();
    service.manner = (peer) => {
      peer.socket.pause();
    };
    await using started = await withEngine('stt', service, {}, HASTY);
    let taken = 0;
    const { engine } = started.registry.find('stt');
    const source = frames(1_000_000, () => void taken++);
    const error = await failure(engine.transcribe(source, { language: 'en', signal: NEVER }));
    assert.match(error.message, /read nothing for 400 ms/);
    assert.ok(taken < 30_000, `${taken} frames were taken`);
  });

  it('stop when the caller leaves', async () => {
    await using service = await Service.start();
    await using started = await withEngine('stt', service, {});
    const stop = new AbortController();
    const answer = stt(started, { signal: stop.signal });
    await eventually('the sound', () => service.heardOf('audio-stop').length === 1);
    stop.abort();
    assert.equal((await failure(answer)).code, 'CANCELLED');
    assert.equal((await failure(stt(started, { signal: AbortSignal.abort() }))).code, 'CANCELLED');
  });

  it('do not know every language', async () => {
    await using service = await Service.start();
    await using started = await withEngine('stt', service);
    assert.equal((await failure(stt(started, { language: 'fr' }))).code, 'LANGUAGE_UNSUPPORTED');
  });

  it('hear two at once, each by itself', async () => {
    await using service = await Service.start();
    const sums = new Map<Peer, number>();
    service.manner = (peer, { type, payload }) => {
      if (type === 'audio-chunk') sums.set(peer, (sums.get(peer) ?? 0) + payload.readInt16LE(0));
      if (type === 'audio-stop') peer.tell('transcript', { text: String(sums.get(peer)) });
    };
    await using started = await withEngine('stt', service);
    const answers = await Promise.all([stt(started, {}, 10), stt(started, {}, 20), stt(started, {}, 0)]);
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['55', '210', 'undefined'],
    );
  });

  it('are gone at once for those who ask next, where a request finds them gone', async () => {
    const service = await Service.start();
    await using started = await withEngine('stt', service, {}, { checkMs: 60_000 });
    await service.close();
    assert.match((await failure(stt(started))).message, /ECONNREFUSED/);
    await eventually('its absence', () => started.registry.rows.length === 0);
  });
});

describe('external voices', { timeout: 300_000 }, () => {
  const speak = (started: Started, text: string, options: object = {}) =>
    all(started.registry.find('tts').engine.speak(text, options));

  it('give their sound as it is, in pieces of any size', async () => {
    await using service = await Service.start();
    service.manner = speaks;
    await using started = await withEngine('tts', service);
    const chunks = await speak(started, 'Hello.');
    assert.ok(chunks.every(({ rate }) => rate === 22_050));
    // Pieces of an odd number of bytes: one sample has a byte of each of two pieces.
    const samples = chunks.flatMap((chunk) => [...chunk.samples]);
    assert.equal(samples.length, 2_205);
    assert.equal(samples[220], 0x0100);
    assert.deepEqual(service.heardOf('synthesize')[0]?.data, { text: 'Hello.' });
    assert.deepEqual(await speak(started, '  '), []);
  });

  const voices: readonly [title: string, settings: object, options: object, voice: object | undefined][] = [
    ['what is asked for', {}, { voice: 'thorsten' }, { name: 'thorsten' }],
    ['the language', {}, { language: 'de' }, { name: 'thorsten', language: 'de_DE' }],
    ['the configuration', { voice: 'amy', speaker: 'b' }, { language: 'en' }, { name: 'amy', speaker: 'b' }],
    [
      'the language, where the configured one does not speak it',
      { voice: 'amy' },
      { language: 'de' },
      { name: 'thorsten', language: 'de_DE' },
    ],
    ['the configuration, where nothing is asked for', { voice: 'amy' }, {}, { name: 'amy' }],
  ];
  for (const [title, settings, options, voice] of voices)
    it(`are chosen by ${title}`, async () => {
      await using service = await Service.start();
      service.manner = speaks;
      await using started = await withEngine('tts', service, settings);
      await speak(started, 'Hello.', options);
      assert.deepEqual(service.heardOf('synthesize')[0]?.data.voice, voice);
    });

  it('are refused where there is none', async () => {
    await using service = await Service.start();
    await using started = await withEngine('tts', service);
    assert.equal((await failure(speak(started, 'Hi', { voice: 'gone' }))).code, 'PARAMS_INVALID');
    assert.equal((await failure(speak(started, 'Hi', { language: 'fr' }))).code, 'LANGUAGE_UNSUPPORTED');
  });

  const faults: readonly [title: string, events: readonly (readonly [string, object?, Buffer?])[], message: RegExp][] =
    [
      [
        'stop in the middle',
        [
          ['audio-start', SOUND],
          ['audio-chunk', SOUND, Buffer.alloc(100)],
        ],
        /did not come within/,
      ],
      ['name no rate', [['audio-start', { width: 2, channels: 1 }]], /the rate/],
      ['have samples of one byte', [['audio-start', { ...SOUND, width: 1 }]], /the width/],
      [
        'fail',
        [
          ['audio-start', SOUND],
          ['error', { text: 'no voice' }],
        ],
        /no voice/,
      ],
      [
        'never end',
        Array.from({ length: 40 }, () => ['audio-chunk', { ...SOUND, rate: 4_000 }, Buffer.alloc(8_000)] as const),
        /more than 5 seconds/,
      ],
    ];
  for (const [title, events, message] of faults)
    it(`fail where they ${title}`, async () => {
      await using service = await Service.start();
      service.manner = (peer, { type }) => {
        if (type === 'synthesize') for (const [name, data, payload] of events) peer.tell(name, data, payload);
      };
      const answerMs = title === 'stop in the middle' ? 400 : 20_000;
      await using started = await withEngine('tts', service, {}, { mostSpeechSeconds: 5, answerMs });
      const error = await failure(speak(started, 'Hello.'));
      assert.equal(error.code, 'SPEECH_FAILED');
      assert.match(error.message, message);
    });

  it('end with their listener', async () => {
    await using service = await Service.start();
    service.manner = async (peer, { type }) => {
      if (type !== 'synthesize') return;
      while (peer.socket.writable) {
        peer.tell('audio-chunk', SOUND, Buffer.alloc(4_410));
        await pace(5);
      }
    };
    await using started = await withEngine('tts', service);
    const { engine } = started.registry.find('tts');
    for await (const { samples } of engine.speak('Hello.', {})) {
      assert.equal(samples.length, 2_205);
      break;
    }
    const stop = new AbortController();
    let count = 0;
    const work = async () => {
      for await (const _ of engine.speak('Hello.', { signal: stop.signal })) if (++count === 3) stop.abort();
    };
    assert.equal((await failure(work())).code, 'CANCELLED');
  });
});
