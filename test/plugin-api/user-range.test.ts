/** Ranges of users for guests of a Core that is not root, as subuid(5) and subgid(5) give them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  commonSpan,
  isInSpan,
  overUsers,
  type UserSpan,
  userInSpan,
  withUser,
} from '@device-core/plugin-api/inside/user-range';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

const NAMES = ['1000', 'kiosk'];

describe('the range of a user', () => {
  const ROWS: readonly (readonly [what: string, subuid: string, subgid: string, span: UserSpan | undefined])[] = [
    ['by name', 'root:1:9\nkiosk:100000:65536\n', 'kiosk:100000:65536', { first: 100_000, count: 65_536 }],
    ['by number', '1000:100000:65536', 'kiosk:100000:65536', { first: 100_000, count: 65_536 }],
    ['of others alone', 'other:100000:65536', 'kiosk:100000:65536', undefined],
    ['of users alone', 'kiosk:100000:65536', '', undefined],
    ['that users and groups share in part', 'kiosk:100:100', 'kiosk:150:100', { first: 150, count: 50 }],
    ['that users and groups do not share', 'kiosk:100:50', 'kiosk:150:50', undefined],
    ['that is the largest', 'kiosk:10:5\nkiosk:100:50', 'kiosk:1:999', { first: 100, count: 50 }],
    ['that holds root', 'kiosk:0:65536', 'kiosk:0:65536', undefined],
    ['past the last number', 'kiosk:4294967290:10', 'kiosk:4294967290:10', undefined],
    ['with words in it', 'kiosk:1e5:9\nkiosk:-1:9\nkiosk:5', 'kiosk:1:9', undefined],
  ];
  for (const [what, subuid, subgid, span] of ROWS)
    it(what, () => assert.deepEqual(commonSpan(subuid, subgid, NAMES), span));

  it('gives each number a user of its own, and none beyond', () => {
    const span = fc.record({ first: fc.integer({ min: 1, max: 1 << 30 }), count: fc.integer({ min: 1, max: 70_000 }) });
    fc.assert(
      fc.property(span, fc.nat(80_000), fc.nat(80_000), (range, one, other) => {
        const [a, b] = [userInSpan(range, one), userInSpan(range, other)];
        assert.equal(a !== undefined, one < range.count);
        if (a !== undefined) assert.ok(isInSpan(range, a));
        if (one !== other && a !== undefined) assert.notEqual(a, b);
      }),
      { numRuns: runs(500) },
    );
  });

  it('is mapped as a whole for the owner of files, and one user of it for a guest', () => {
    const range = { unshare: '/usr/bin/unshare', first: 100_000, count: 65_536 };
    assert.ok(overUsers(range.unshare, range).includes('--map-users=100000,100000,65536'));
    const words = withUser(range, 140_001, '/own/bin', ['/usr/bin/bwrap', '--help']);
    assert.deepEqual(
      words.filter((word) => word.startsWith('--map-')),
      ['--map-root-user', '--map-users=140001,140001,1', '--map-groups=140001,140001,1'],
    );
    // The search path of the guest chooses no program outside of its walls.
    assert.equal(words[1], 'PATH=/usr/bin:/bin:/usr/sbin:/sbin');
    assert.deepEqual(words.slice(-3), ['PATH=/own/bin', '/usr/bin/bwrap', '--help']);
    assert.deepEqual(withUser(range, 140_001, undefined, ['bwrap']).slice(-3), ['-u', 'PATH', 'bwrap']);
  });
});
