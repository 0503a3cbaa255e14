import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { isLocal, parseAddress } from '../../../plugins/voice/wyoming/address.ts';
import { EventReader, encodeEvent, type WyomingEvent } from '../../../plugins/voice/wyoming/codec.ts';
import { PcmReader } from '../../../plugins/voice/wyoming/pcm.ts';
import { serviceOf } from '../../../plugins/voice/wyoming/remote-info.ts';
import { commandOf, languageFor, phraseOf } from '../../../plugins/voice/wyoming/words.ts';
import { runs } from '../../fixtures/runs.ts';
import { bytesOf } from './wire.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const LIMITS = { lineBytes: 4_096, dataBytes: 4_096, payloadBytes: 4_096 };

function read(bytes: Uint8Array, cuts: readonly number[] = [], limits = LIMITS): WyomingEvent[] {
  const reader = new EventReader(limits);
  const events: WyomingEvent[] = [];
  const places = [
    0,
    ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other),
    bytes.length,
  ];
  for (let index = 1; index < places.length; index++)
    for (const event of reader.push(bytes.subarray(places[index - 1], places[index]))) events.push(event);
  assert.equal(reader.within, false);
  return events;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof CoreError) return error.code;
    throw error;
  }
  return 'none';
}

const event = fc.record({
  type: fc.string({ minLength: 1, maxLength: 20 }),
  data: fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }),
  payload: fc.uint8Array({ maxLength: 200 }),
  style: fc.constantFrom('block' as const, 'inline' as const, 'own' as const),
});

const plain = ({ type, data, payload }: WyomingEvent) => ({
  type,
  data: JSON.parse(JSON.stringify(data)) as unknown,
  payload: [...payload],
});

describe('events of Wyoming', () => {
  it('are read as they were written, in either style, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 20 }), (events, cuts) => {
        const bytes = events.map(({ type, data, payload, style }) =>
          style === 'own' ? encodeEvent(type, data, payload) : bytesOf(type, data, payload, style),
        );
        assert.deepEqual(read(Buffer.concat(bytes), cuts).map(plain), events.map(plain));
      }),
    );
  });

  it('are read byte by byte', () => {
    const bytes = Buffer.concat([encodeEvent('info', { text: 'größer' }, Buffer.from('abc')), encodeEvent('ping')]);
    const events = read(bytes, [...bytes.keys()]);
    assert.deepEqual(
      events.map(({ type, data }) => [type, data]),
      [
        ['info', { text: 'größer' }],
        ['ping', {}],
      ],
    );
  });

  it('have the members of the block over those of the line', () => {
    const block = '{"b":3,"c":4}';
    const line = `{"type":"x","data":{"a":1,"b":2},"data_length":${block.length},"payload_length":2}\n`;
    const [first] = read(Buffer.from(`${line}${block}hi`));
    assert.deepEqual(first?.data, { a: 1, b: 3, c: 4 });
    assert.equal(Buffer.from(first!.payload).toString(), 'hi');
  });

  it('may say that there is nothing in any way that others do', () => {
    for (const line of [
      '{"type":"x"}\n',
      '{"type":"x","data":null,"data_length":null,"payload_length":null}\r\n',
      '{"type":"x","data":{},"data_length":0,"payload_length":0,"version":"1.5.4","more":[1]}\n',
    ])
      assert.deepEqual(read(Buffer.from(line)).map(plain), [{ type: 'x', data: {}, payload: [] }], line);
  });

  const wrong: readonly [title: string, bytes: string | Buffer, code: string][] = [
    ['no JSON', 'GET / HTTP/1.1\r\n', 'REQUEST_INVALID'],
    ['an empty line', '\n', 'REQUEST_INVALID'],
    ['no object', '[1]\n', 'REQUEST_INVALID'],
    ['no type', '{"data":{}}\n', 'REQUEST_INVALID'],
    ['a type that is no string', '{"type":7}\n', 'REQUEST_INVALID'],
    ['data that are no object', '{"type":"x","data":[1]}\n', 'REQUEST_INVALID'],
    ['a negative length', '{"type":"x","payload_length":-1}\n', 'REQUEST_INVALID'],
    ['a length that is no integer', '{"type":"x","data_length":1.5}\n', 'REQUEST_INVALID'],
    ['a length in words', '{"type":"x","data_length":"12"}\n', 'REQUEST_INVALID'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), 'REQUEST_INVALID'],
    ['a block that is no object', '{"type":"x","data_length":3}\n[1]', 'REQUEST_INVALID'],
    ['a deep nest', `{"type":"x","data":{"a":${'['.repeat(200)}${']'.repeat(200)}}}\n`, 'REQUEST_INVALID'],
    ['a line that does not end', 'x'.repeat(5_000), 'BODY_TOO_LARGE'],
    ['a line that is too long', `{"type":"${'x'.repeat(5_000)}"}\n`, 'BODY_TOO_LARGE'],
    ['large data', '{"type":"x","data_length":4097}\n', 'BODY_TOO_LARGE'],
    ['a large payload', '{"type":"x","payload_length":900719925474099}\n', 'BODY_TOO_LARGE'],
  ];
  for (const [title, bytes, code] of wrong)
    it(`are refused: ${title}`, () =>
      assert.equal(
        codeOf(() => read(Buffer.from(bytes))),
        code,
      ));

  it('end in events or in an error of the table, for any bytes', () => {
    const soup = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ maxLength: 100 }).map((text) => Buffer.from(`${text}\n`)),
      fc.json({ maxDepth: 2 }).map((text) => Buffer.from(`${text}\n`)),
      event.map(({ type, data, payload }) => encodeEvent(type, data, payload)),
    );
    fc.assert(
      fc.property(fc.array(soup, { maxLength: 8 }), fc.nat(), (pieces, cut) => {
        const bytes = Buffer.concat(pieces);
        const reader = new EventReader({ lineBytes: 200, dataBytes: 200, payloadBytes: 200 });
        const place = cut % (bytes.length + 1);
        try {
          for (const chunk of [bytes.subarray(0, place), bytes.subarray(place)])
            for (const { type, payload } of reader.push(chunk)) assert.ok(type.length > 0 && payload.length <= 200);
        } catch (error) {
          assert.ok(error instanceof CoreError, String(error));
        }
      }),
    );
  });

  it('that came before a wrong one are given', () => {
    const reader = new EventReader(LIMITS);
    const seen: string[] = [];
    assert.throws(() => {
      for (const { type } of reader.push(Buffer.from('{"type":"one"}\n{"type":"two"}\nrubbish\n'))) seen.push(type);
    }, CoreError);
    assert.deepEqual(seen, ['one', 'two']);
  });
});

describe('messages of Wyoming services', () => {
  it('is sound of any width and number of channels, cut anywhere', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(2, 3, 4),
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.integer({ min: -32_768, max: 32_767 }), { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        (width, channels, samples, cuts) => {
          const bytes = Buffer.alloc(samples.length * width * channels);
          samples.forEach((sample, index) => {
            for (let channel = 0; channel < channels; channel++)
              bytes.writeInt16LE(sample, (index * channels + channel) * width + width - 2);
          });
          const reader = new PcmReader({ rate: 16_000, width, channels });
          const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
          const read = places
            .slice(1)
            .flatMap((place, index) => [...reader.read(bytes.subarray(places[index], place))]);
          assert.deepEqual(read, samples);
        },
      ),
    );
  });

  it('is a command without the phrase before it', () => {
    assert.equal(commandOf('Hey Jarvis, what time is it?', ['hey jarvis']), 'what time is it');
    assert.equal(commandOf(' What time is it? ', ['hey jarvis']), 'what time is it?');
    assert.equal(commandOf('Hey Jarvis!', ['hey', 'hey jarvis']), '');
    assert.equal(commandOf('Heyday parade', ['hey']), 'heyday parade');
  });

  it('names phrases and languages in its own way', () => {
    for (const name of ['hey_jarvis', 'hey_jarvis_v0.1', 'Hey, Jarvis!', 'hey-jarvis'])
      assert.equal(phraseOf(name), 'hey jarvis');
    assert.equal(languageFor('en-GB', ['de', 'en_US', 'en_GB']), 'en_GB');
    assert.equal(languageFor('en', ['de', 'en_US']), 'en_US');
    assert.equal(languageFor('fr', ['de', 'en_US']), undefined);
  });

  it('is understood as far as it makes sense', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('asr', 'tts', 'wake'), fc.jsonValue()), (info) => {
        for (const kind of ['stt', 'tts', 'wake'] as const) {
          const service = serviceOf(info as Record<string, unknown>, kind);
          assert.ok(service === undefined || (service.title.length > 0 && Array.isArray(service.models)));
        }
      }),
    );
  });

  it('is at an address', () => {
    assert.deepEqual(parseAddress('tcp://localhost:10300'), {
      uri: 'tcp://localhost:10300',
      host: 'localhost',
      port: 10300,
    });
    assert.deepEqual(parseAddress('unix:///run/a.sock'), { uri: 'unix:///run/a.sock', path: '/run/a.sock' });
    for (const wrong of [
      'http://a:1',
      'tcp://a',
      'tcp://a:99999',
      'tcp://[x]:1',
      'unix://a',
      'tcp://a b:1',
      `unix:///${'x'.repeat(120)}`,
    ])
      assert.equal(
        codeOf(() => parseAddress(wrong)),
        'PARAMS_INVALID',
        wrong,
      );
    const local = ['tcp://127.0.0.1:1', 'tcp://127.9.9.9:1', 'tcp://[::1]:1', 'tcp://localhost:1', 'unix:///a'];
    assert.deepEqual(
      local.filter((uri) => !isLocal(parseAddress(uri))),
      [],
    );
    const others = ['tcp://192.168.0.1:1', 'tcp://127.0.0.1.example.com:1', 'tcp://[::2]:1', 'tcp://0.0.0.0:1'];
    assert.deepEqual(
      others.filter((uri) => isLocal(parseAddress(uri))),
      [],
    );
  });
});
