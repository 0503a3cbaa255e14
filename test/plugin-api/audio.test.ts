import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bytesOfSamples,
  clausesOf,
  concatSamples,
  decodeWav,
  encodeWav,
  Latest,
  Reblocker,
  Resampler,
  resample,
  SampleReader,
  samplesOfBytes,
  wavHeader,
} from '@device-core/plugin-api/audio';
import { FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

const samples = fc.int16Array({ maxLength: 2_000 }).map((values) => Int16Array.from(values));
const rates = fc.constantFrom(8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000);

function sine(frequency: number, rate: number, ms: number, amplitude = 16_000): Int16Array {
  const count = Math.round((rate * ms) / 1_000);
  return Int16Array.from({ length: count }, (_, index) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * frequency * index) / rate)),
  );
}

/** Level of one frequency in the middle of a sound, 1 for a sine of full scale. */
function levelAt(frequency: number, sound: Int16Array, rate: number): number {
  const part = sound.subarray(Math.floor(sound.length * 0.2), Math.floor(sound.length * 0.8));
  let [re, im, weight] = [0, 0, 0];
  for (const [index, value] of part.entries()) {
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / part.length);
    re += window * value * Math.cos((2 * Math.PI * frequency * index) / rate);
    im += window * value * Math.sin((2 * Math.PI * frequency * index) / rate);
    weight += window;
  }
  return (2 * Math.hypot(re, im)) / weight / 32_768;
}

function power(sound: Int16Array): number {
  const part = sound.subarray(Math.floor(sound.length * 0.2), Math.floor(sound.length * 0.8));
  return Math.sqrt(part.reduce((sum, value) => sum + value * value, 0) / Math.max(1, part.length)) / 32_768;
}

/** A WAV file of any kind. */
function wavOf(options: {
  readonly encoding?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly bits: number;
  readonly data: Uint8Array;
  readonly extensible?: boolean;
  readonly before?: Uint8Array;
  readonly told?: number;
}): Buffer {
  const { encoding = 1, channels = 1, rate = 16_000, bits, data, extensible = false } = options;
  const format = Buffer.alloc(extensible ? 40 : 16);
  format.writeUInt16LE(extensible ? 0xfffe : encoding, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE((rate * channels * bits) / 8, 8);
  format.writeUInt16LE((channels * bits) / 8, 12);
  format.writeUInt16LE(bits, 14);
  if (extensible) format.writeUInt16LE(encoding, 24);
  const chunk = (tag: string, body: Uint8Array, told = body.length) => {
    const head = Buffer.alloc(8);
    head.write(tag, 'latin1');
    head.writeUInt32LE(told, 4);
    return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
  };
  return Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'),
    ...(options.before ? [chunk('LIST', options.before)] : []),
    chunk('fmt ', format),
    chunk('data', data, options.told ?? data.length),
  ]);
}

describe('WAV files', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(samples, rates, (sound, rate) => {
        assert.deepEqual(decodeWav(encodeWav({ rate, samples: sound })), { rate, samples: sound });
      }),
      { numRuns: runs(50) },
    );
  });

  const floats = Buffer.alloc(12);
  floats.writeFloatLE(0.5, 0);
  floats.writeFloatLE(-2, 4);
  floats.writeFloatLE(Number.NaN, 8);
  const doubles = Buffer.alloc(8);
  doubles.writeDoubleLE(-0.5);
  const KINDS = [
    ['8 bits', { bits: 8, data: Buffer.of(128, 255, 0) }, [0, 32_512, -32_768]],
    ['24 bits', { bits: 24, data: Buffer.of(0, 0, 0x40, 0, 0, 0xc0) }, [16_384, -16_384]],
    ['32 bits', { bits: 32, data: Buffer.of(0, 0, 0, 0x40) }, [16_384]],
    ['floating point, held within the range', { bits: 32, encoding: 3, data: floats }, [16_384, -32_768, 0]],
    ['floating point of 64 bits', { bits: 64, encoding: 3, data: doubles }, [-16_384]],
    ['two channels', { bits: 16, channels: 2, data: bytesOfSamples(Int16Array.of(100, 300, -100, -300)) }, [200, -200]],
    ['the extensible form', { bits: 16, extensible: true, data: bytesOfSamples(Int16Array.of(7)) }, [7]],
    ['a chunk of another kind, padded', { bits: 16, before: Buffer.of(1), data: Buffer.of(1, 0) }, [1]],
    ['a length that was never filled in', { bits: 16, told: 0, data: Buffer.of(1, 0, 2, 0) }, [1, 2]],
    ['a length that is a pipe', { bits: 16, told: 0x7ffff024, data: Buffer.of(1, 0, 2, 0) }, [1, 2]],
    ['a file that was cut off', { bits: 16, told: 100, data: Buffer.of(1, 0) }, [1]],
  ] as const;
  for (const [what, options, wanted] of KINDS) {
    it(`are read: ${what}`, () => assert.deepEqual([...decodeWav(wavOf(options)).samples], wanted));
  }

  const REFUSED: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['nothing', new Uint8Array(0), /no WAV file/],
    ['something else', Buffer.from('OggS, and so on, and so on'), /no WAV file/],
    ['a header alone', wavHeader(16_000, 0).subarray(0, 20), /no sound|cut off/],
    ['compressed sound', wavOf({ bits: 16, encoding: 85, data: new Uint8Array(4) }), /not known/],
    ['no channel', wavOf({ bits: 16, channels: 0, data: new Uint8Array(4) }), /0 channels/],
    ['a rate of nothing', wavOf({ bits: 16, rate: 0, data: new Uint8Array(4) }), /0 Hz/],
  ];
  for (const [what, bytes, reason] of REFUSED) {
    it(`are refused: ${what}`, () =>
      assert.throws(() => decodeWav(bytes), { code: 'PARAMS_INVALID', message: reason }));
  }

  it('of any contents are read or refused with a reason', () => {
    const good = encodeWav({ rate: 16_000, samples: Int16Array.from({ length: 20 }, (_, index) => index) });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 }),
        fc.nat(good.length),
        (changes, length) => {
          const bytes = good.slice(0, length);
          for (const [at, value] of changes) if (at < length) bytes[at] = value;
          try {
            assert.ok(decodeWav(bytes).rate > 0);
          } catch (error) {
            assert.equal((error as { code?: string }).code, 'PARAMS_INVALID');
          }
        },
      ),
    );
  });
});

describe('the resampler', () => {
  it('gives as many samples as the time needs, the same in one piece as in many', () => {
    fc.assert(
      fc.property(samples, rates, rates, fc.array(fc.nat(700), { maxLength: 6 }), (sound, from, to, cuts) => {
        const whole = resample({ rate: from, samples: sound }, to).samples;
        assert.equal(whole.length, Math.ceil((sound.length * to) / from));
        const resampler = new Resampler(from, to);
        const pieces: Int16Array[] = [];
        let at = 0;
        for (const cut of cuts) {
          pieces.push(resampler.push(sound.subarray(at, at + cut)));
          at = Math.min(sound.length, at + cut);
        }
        pieces.push(resampler.push(sound.subarray(at)), resampler.flush());
        assert.deepEqual(concatSamples(pieces), whole);
      }),
      { numRuns: runs(40) },
    );
  });

  it('may be used again after the end of a sound', () => {
    const resampler = new Resampler(48_000, 16_000);
    const sound = sine(440, 48_000, 50);
    const once = () => concatSamples([resampler.push(sound), resampler.flush()]);
    assert.deepEqual(once(), once());
  });

  for (const [from, to] of [
    [48_000, 16_000],
    [44_100, 16_000],
    [16_000, 48_000],
    [22_050, 48_000],
    [16_000, 44_100],
    [44_101, 48_000],
  ] as const) {
    it(`keeps what both rates can carry, in time (${from} to ${to} Hz)`, () => {
      const frequency = 1_000;
      const out = resample({ rate: from, samples: sine(frequency, from, 200) }, to).samples;
      assert.ok(Math.abs(levelAt(frequency, out, to) - 16_000 / 32_768) < 0.003);
      const ideal = sine(frequency, to, 200);
      const error = Int16Array.from(ideal, (value, index) => value - out[index]!);
      assert.ok(power(error) < 0.001, `the difference is ${power(error)}`);
    });
  }

  it('lets nothing fold back: 10 kHz at 48 kHz is silence at 16 kHz', () => {
    for (const frequency of [8_300, 10_000, 15_000, 20_000]) {
      const out = resample({ rate: 48_000, samples: sine(frequency, 48_000, 200) }, 16_000).samples;
      assert.ok(power(out) < 0.0005, `${frequency} Hz leaves ${power(out)}`);
    }
  });
});

describe('pieces of sound', () => {
  it('are cut to frames without loss', () => {
    fc.assert(
      fc.property(fc.array(samples, { maxLength: 6 }), (pieces) => {
        const blocks = new Reblocker();
        const frames = pieces.flatMap((piece) => [...blocks.push(piece)]);
        const last = blocks.flush();
        assert.ok(frames.every(({ length }) => length === FRAME_SAMPLES));
        const all = concatSamples(pieces);
        const given = concatSamples([...frames, ...(last ? [last] : [])]);
        assert.deepEqual(given.subarray(0, all.length), all);
        assert.ok(given.subarray(all.length).every((value) => value === 0));
      }),
      { numRuns: runs(30) },
    );
  });

  it('come out of chunks of bytes that end in the middle of a sample', () => {
    fc.assert(
      fc.property(samples, fc.array(fc.nat(99), { maxLength: 9 }), (sound, cuts) => {
        const bytes = bytesOfSamples(sound);
        const reader = new SampleReader();
        const pieces: Int16Array[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          pieces.push(reader.read(bytes.subarray(at, at + cut)));
          at = Math.min(bytes.length, at + cut);
        }
        assert.deepEqual(concatSamples(pieces), sound);
        assert.deepEqual(samplesOfBytes(bytes), sound);
      }),
      { numRuns: runs(50) },
    );
  });
});

describe('a queue of the latest', () => {
  it('drops the oldest, counts it, and ends after what waits', async () => {
    const gone: number[] = [];
    const queue = new Latest<number>(3, (value) => gone.push(value));
    for (const value of [1, 2, 3, 4, 5]) queue.push(value);
    queue.close();
    queue.push(6);
    const seen: number[] = [];
    for await (const value of queue) seen.push(value);
    assert.deepEqual(seen, [3, 4, 5]);
    assert.deepEqual(gone, [1, 2]);
    assert.equal(queue.dropped, 2);
  });

  it('never holds more than its limit, also when its drops are told', () => {
    const queue = new Latest<number>(3);
    for (let value = 0; value < 10; value++) queue.push(value);
    assert.deepEqual([queue.waiting, queue.dropped], [3, 7]);
  });

  it('hands on an error, after what waits', async () => {
    const queue = new Latest<number>(3);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const value of queue) seen.push(value);
    })();
    queue.push(1);
    queue.fail(new Error('gone'));
    await assert.rejects(reading, /gone/);
    assert.deepEqual(seen, [1]);
  });
});

describe('clauses', () => {
  const texts: readonly (readonly [string, readonly string[]])[] = [
    ['', []],
    [' \n ', []],
    ['Hello.', ['Hello.']],
    [
      'At nine there is a meeting, and at ten a walk. Then lunch!',
      ['At nine there is a meeting,', 'and at ten a walk.', 'Then lunch!'],
    ],
    ['Well, that is it.', ['Well, that is it.']],
    ['It is 3.5 degrees at 9:30.', ['It is 3.5 degrees at 9:30.']],
    ['Ask Dr. Smith, e.g. tomorrow.', ['Ask Dr. Smith,', 'e.g. tomorrow.']],
    ['One\ntwo', ['One', 'two']],
  ];
  for (const [text, wanted] of texts) {
    it(`of ${JSON.stringify(text)}`, () =>
      assert.deepEqual(
        clausesOf(text).map((clause) => clause.text),
        wanted,
      ));
  }

  it('lose nothing, and none is long', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 600, unit: fc.constantFrom('a', 'b ', 'c, ', 'd. ', '\n', 'é') }), (text) => {
        const clauses = clausesOf(text);
        const bare = (value: string) => value.replace(/\s/g, '');
        assert.equal(bare(clauses.map((clause) => clause.text).join('')), bare(text));
        assert.ok(clauses.every((clause) => clause.text.length > 0 && clause.text.length <= 160));
      }),
    );
  });
});
