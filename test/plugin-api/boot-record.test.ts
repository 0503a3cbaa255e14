/** The record of the boot loader: whole or not there, whatever happened to its bytes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type BootRecord,
  decodeRecord,
  encodeRecord,
  newest,
  newRecord,
  RECORD_BYTES,
  type Slot,
} from '../../plugin-api/inside/boot-record.ts';
import { ANY_CHARACTER } from '../fixtures/any-text.ts';
import { runs } from '../fixtures/runs.ts';

const slots = fc.record({
  state: fc.constantFrom<Slot['state']>('empty', 'trial', 'good', 'bad'),
  tries: fc.nat(3),
  reason: fc.string({ unit: ANY_CHARACTER, maxLength: 2000 }),
});
const records: fc.Arbitrary<BootRecord> = fc.tuple(slots, slots).map(([a, b]) => newRecord({ a, b }));

test('a written record is read, with its texts in ASCII and cut', () => {
  fc.assert(
    fc.property(records, fc.nat(2 ** 40), (record, sequence) => {
      const bytes = encodeRecord(record, sequence);
      assert.equal(bytes.length, RECORD_BYTES);
      const found = decodeRecord(bytes);
      assert.equal(found.kind, 'record');
      if (found.kind !== 'record') return;
      assert.equal(found.sequence, sequence);
      assert.equal(found.record.slots.a.state, record.slots.a.state);
      assert.match(found.record.slots.b.reason ?? '', /^[\x20-\x7e]{0,300}$/);
    }),
    { numRuns: runs(500) },
  );
});

test('a bit that fell over, a torn write and other bytes are damage, never another record', () => {
  const good = encodeRecord(newRecord({ a: { state: 'good', tries: 0 } }), 7);
  fc.assert(
    fc.property(fc.nat(good.length * 8 - 1), (bit) => {
      const bytes = Uint8Array.from(good);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      const found = decodeRecord(bytes);
      // The number of the form is no part of what is hashed: a record of a form above is left alone, which harms nothing.
      assert.ok(found.kind === 'damaged' || (found.kind === 'newer' && bit >> 3 < 32), `bit ${bit}: ${found.kind}`);
    }),
    { numRuns: runs(3000) },
  );
  for (const torn of [0, 1, 100, 511, 512, 4095])
    assert.equal(
      decodeRecord(Uint8Array.from([...good.subarray(0, torn), ...new Uint8Array(4096 - torn)])).kind,
      'damaged',
    );
  assert.equal(decodeRecord(new Uint8Array()).kind, 'damaged');
});

test('the newer of two records counts, the other place is written next, and one of them is always whole', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('whole', 'torn', 'nothing'), { maxLength: 20 }), (writes) => {
      const places: [Uint8Array, Uint8Array] = [encodeRecord(newRecord({}), 1), new Uint8Array(RECORD_BYTES)];
      let last = 1;
      for (const how of writes) {
        const { found, next, sequence } = newest(...places);
        assert.equal(found.kind === 'record' && found.sequence, last);
        assert.equal(sequence, last + 1);
        const bytes = encodeRecord(newRecord({}), sequence);
        if (how === 'torn') places[next] = Uint8Array.from([...bytes.subarray(0, 60), ...places[next].subarray(60)]);
        if (how === 'whole') {
          places[next] = bytes;
          last = sequence;
        }
      }
    }),
    { numRuns: runs(500) },
  );
});

test('a record of a newer loader is told, and damage in both places, too', () => {
  const good = encodeRecord(newRecord({}), 3);
  const body = Buffer.from(good).toString('latin1');
  const newer = Buffer.from(body.replace('boot record 1 ', 'boot record 2 '), 'latin1');
  assert.deepEqual(newest(good, newer).found, { kind: 'newer', form: 2 });
  assert.deepEqual(newest(new Uint8Array(4096), new Uint8Array(4096)).found, { kind: 'damaged' });
});
