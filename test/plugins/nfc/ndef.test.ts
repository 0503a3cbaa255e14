import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { NdefRecord } from '@device-core/plugin-api/services/nfc';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { decodeNdef, encodeNdef } from '../../../plugins/hardware/nfc/ndef.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });
const RECORD: fc.Arbitrary<NdefRecord> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string(), language: fc.constantFrom('en', 'de-CH', 'x') }),
  fc.record({
    type: fc.constant('uri' as const),
    uri: fc.oneof(
      ascii,
      ascii.map((rest) => `https://${rest}`),
    ),
  }),
  fc.record({ type: fc.constant('mime' as const), mime: ascii, data: fc.uint8Array({ maxLength: 300 }) }),
  fc.record({ type: fc.constant('external' as const), name: ascii, data: fc.uint8Array() }),
);

describe('NDEF', () => {
  const plain = (records: readonly NdefRecord[]) =>
    records.map((record) => ('data' in record ? { ...record, data: [...record.data] } : { ...record }));

  it('comes back from its bytes as it went in', () => {
    fc.assert(
      fc.property(fc.array(RECORD, { maxLength: 6 }), (records) => {
        assert.deepEqual(plain(decodeNdef(encodeNdef(records))), plain(records));
      }),
    );
  });

  it('reads the examples of the specifications', () => {
    const read = (hex: string) => decodeNdef(Buffer.from(hex, 'hex'));
    assert.deepEqual(read('d101085402656e48656c6c6f'), [{ type: 'text', text: 'Hello', language: 'en' }]);
    assert.deepEqual(read('d10107550165782e6f7267'), [{ type: 'uri', uri: 'http://www.ex.org' }]);
    assert.deepEqual(read('d00000'), []);
  });

  it('calls anything else malformed, and throws nothing but that', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decodeNdef(bytes);
        } catch (error) {
          assert.ok(error instanceof CoreError && error.code === 'TAG_FAILED', String(error));
        }
      }),
      { numRuns: runs(2_000) },
    );
    for (const [hex, reason] of [
      ['d101ff54', /longer than the message/],
      ['5101015400', /wrong place/],
      ['f101015400', /chunks/],
      ['d1010054', /first byte/],
    ] as const)
      assert.throws(() => decodeNdef(Buffer.from(hex, 'hex')), reason);
  });
});
