import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRange, isVersion, satisfies } from '@device-core/plugin-api/inside/versions';
import fc from 'fast-check';
import semver from 'semver';
import { runs } from '../fixtures/runs.ts';

const number = fc.oneof(
  fc.nat({ max: 3 }),
  fc.constantFrom('00', '01', '999999999', '9999999999', '99999999999999999', 'x', ''),
);
const numbers = fc.tuple(number, number, number).map((parts) => parts.join('.'));
const text = fc.tuple(
  fc.constantFrom('', '', '^', '^', '~', '>=', 'v', ' '),
  numbers,
  fc.constantFrom('', '', '', '-1', '-rc.1', '+b', ' ', '\n', ' || ^2.0.0'),
);
const versions = text.map((parts) => parts.join(''));

test('versions and ranges are read as semver reads them', () => {
  fc.assert(
    fc.property(versions, versions, (version, range) => {
      assert.equal(isVersion(version), semver.valid(version) !== null);
      assert.equal(isRange(range), semver.validRange(range) !== null);
      assert.equal(satisfies(version, range), semver.satisfies(version, range));
    }),
    { numRuns: runs(20_000) },
  );
});
