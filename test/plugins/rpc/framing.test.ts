import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameReader } from '../../../plugins/interface/rpc/frame-reader.ts';
import { runs } from '../../fixtures/runs.ts';

interface Sent {
  readonly value: object;
  readonly attachment?: Uint8Array;
  readonly newline: boolean;
}

/** Every kind of text that could confuse a reader that looks for ends. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('{', '}', '[', ']', '"', '\\', '\\"', '\n', '{"a":"', '\u2028', '\ufffd', '🌍'),
);
const value = fc.dictionary(
  fc.string({ maxLength: 5 }).map((key) => `k${key}`),
  fc.oneof(text, fc.array(text, { maxLength: 4 }), fc.integer(), fc.constant(null)),
  { maxKeys: 4 },
);
const sent = fc.record(
  { value, attachment: fc.uint8Array({ maxLength: 300 }), newline: fc.boolean() },
  { requiredKeys: ['value', 'newline'] },
) as fc.Arbitrary<Sent>;

function bytesOf({ value, attachment, newline }: Sent): Buffer {
  const head = attachment ? { ...value, bytes: attachment.length } : value;
  const line = Buffer.from(JSON.stringify(head));
  if (attachment) return Buffer.concat([line, Buffer.from('\n'), attachment]);
  return newline ? Buffer.concat([line, Buffer.from('\r\n')]) : line;
}

test('messages and attachments in pieces of any length are read exactly', () => {
  fc.assert(
    fc.property(
      fc.array(sent, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      (messages, sizes, pausing) => {
        const stream = Buffer.concat(messages.map(bytesOf));
        const read: { value: unknown; attachment?: Buffer | undefined }[] = [];
        const reader = new FrameReader(
          {
            message(value, attachment) {
              read.push({ value, attachment });
              if (pausing) reader.pause();
            },
            malformed: (error) => assert.fail(error),
            fatal: (error) => assert.fail(error),
          },
          { lineBytes: 1 << 20, attachmentBytes: 1 << 20 },
        );
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          reader.push(stream.subarray(at, at + size));
          for (let turns = 0; pausing && turns < 100; turns++) reader.resume();
          at += size;
        }
        reader.end();
        assert.deepEqual(
          read.map(({ value, attachment }) => [value, attachment && Buffer.from(attachment)]),
          messages.map(({ value, attachment }) => [
            JSON.parse(JSON.stringify(attachment ? { ...value, bytes: attachment.length } : value)),
            attachment && Buffer.from(attachment),
          ]),
        );
      },
    ),
    { numRuns: runs(500) },
  );
});

test('rubbish of any kind neither makes the reader throw nor loses the line after it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (rubbish, size) => {
      // A length of an attachment would take the next line for its bytes, and rightly so.
      fc.pre(!Buffer.from(rubbish).includes('bytes'));
      const read: unknown[] = [];
      const told: string[] = [];
      const reader = new FrameReader(
        {
          message: (value) => read.push(value),
          malformed: (error) => told.push(error.code),
          fatal: (error) => assert.fail(error),
        },
        { lineBytes: 1 << 20, attachmentBytes: 1 << 20 },
      );
      const stream = Buffer.concat([rubbish, Buffer.from('\n{"after":1}\n')]);
      for (let at = 0; at < stream.length; at += size) reader.push(stream.subarray(at, at + size));
      assert.deepEqual(read.at(-1), { after: 1 });
      assert.ok(told.every((code) => code === 'JSON_INVALID' || code === 'REQUEST_INVALID'));
    }),
    { numRuns: runs(500) },
  );
});
