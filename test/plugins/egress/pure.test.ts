/** What is decided about texts and addresses, and shares of a turn. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { hostProblem } from '@device-core/plugin-api/inside/app-spec';
import fc from 'fast-check';
import { isPublic } from '../../../plugins/apps/egress/addresses.ts';
import { Turns } from '../../../plugins/apps/egress/copy.ts';
import { passedOn } from '../../../plugins/apps/egress/headers.ts';
import { absoluteTarget, targetOf } from '../../../plugins/apps/egress/target.ts';
import { runs } from '../../fixtures/runs.ts';

describe('an address', () => {
  const cases: Readonly<Record<string, boolean>> = {
    '8.8.8.8': true,
    '93.184.216.34': true,
    '100.63.255.255': true,
    '172.15.0.1': true,
    '2606:4700::1111': true,
    '10.1.2.3': false,
    '172.31.255.255': false,
    '192.168.0.1': false,
    '100.127.0.1': false,
    '127.8.8.8': false,
    '0.1.2.3': false,
    '169.254.1.1': false,
    '198.19.0.1': false,
    '203.0.113.9': false,
    '255.255.255.255': false,

    '239.1.1.1': false,
    '240.0.0.1': false,
    '::': false,
    '::1': false,
    '::8.8.8.8': false,
    '::ffff:8.8.8.8': false,
    '64:ff9b::808:808': false,
    '64:ff9b:1::1': false,
    'fc00::1': false,
    'fe80::1': false,
    'fec0::1': false,
    'ff02::1': false,
    '2001::1': false,
    '2001:db8::1': false,
    '2002:808:808::1': false,
    '3fff::1': false,
    '2001:4860:4860::8888': true,
    '2a00:1450::1': true,
  };
  for (const [address, expected] of Object.entries(cases))
    it(`${address} is ${expected ? 'outside' : 'no way outside'}`, () => assert.equal(isPublic(address), expected));
});

describe('a target', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.webUrl(),
    fc.domain(),
    fc.ipV4(),
    fc.ipV6(),
    fc.constant('a.test'),
  );
  it('is a name that could have been granted and a port, or refused by a code of ours', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: -1, max: 70_000 }), (one, two, port) => {
        for (const read of [
          () => targetOf('com.a', `${one}:${port}`),
          () => targetOf('com.a', one + two),
          () => absoluteTarget('com.a', one),
          () => absoluteTarget('com.a', `http://${one}${two}`),
          () => absoluteTarget('com.a', `http://${one}:${port}/${two}`),
        ]) {
          try {
            const target = read();
            assert.equal(hostProblem(target.host), undefined);
            assert.ok(Number.isInteger(target.port) && target.port >= 1 && target.port <= 65_535);
            if ('path' in target) assert.match(String(target.path), /^\/[^\s#]*$/);
          } catch (thrown) {
            assert.ok(thrown instanceof CoreError, String(thrown));
            assert.ok(['EGRESS_DENIED', 'REQUEST_INVALID'].includes(thrown.code), thrown.code);
          }
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

it('headers for one hop stay behind, others go on as they came', () => {
  const raw = [
    'Host',
    'evil',
    'A',
    '1',
    'Connection',
    'B, content-length',
    'B',
    '2',
    'a',
    '3',
    'Content-Length',
    '4',
    'TE',
    'x',
  ];
  assert.deepEqual(passedOn(raw), ['A', '1', 'a', '3', 'Content-Length', '4']);
});

it('a client that used up its share of a turn goes on in the next, and so do all others', async () => {
  const turns = new Turns();
  const taken: string[] = [];
  const flow = (name: string, left: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const go = () => {
      while (left > 0) {
        left--;
        taken.push(name);
        if (!turns.take(512 * 1024, go)) return;
      }
      resolve();
    };
    go();
    return promise.then(() => undefined);
  };
  const others: number[] = [];
  const other = new Promise<void>((resolve) => {
    const look = () => {
      others.push(taken.length);
      if (others.length < 8) setImmediate(look);
      else resolve();
    };
    setImmediate(look);
  });
  void flow('a', 40);
  void flow('b', 40);
  await other;
  assert.ok(
    others.every((count, at) => at === 0 || count - others[at - 1]! <= 4),
    others.join(),
  );
  assert.ok(taken.slice(0, 8).includes('b'), taken.join(''));
});
