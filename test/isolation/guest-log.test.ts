import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grant, guestLog } from '../../kernel/isolation/guest/log.ts';
import type { Peer } from '../../kernel/isolation/remote/index.ts';

function start() {
  const sent: (readonly [level: string, message: string])[] = [];
  const peer = {
    isFull: false,
    notify: (_: 'log', level: string, __: object, message: string) => sent.push([level, message]),
  };
  const credit = {};
  return { sent, peer, credit, log: guestLog(() => peer as unknown as Peer, credit) };
}

test('a plugin elsewhere sends its debug lines while the Core wants them, and no more of them than a heartbeat allows', () => {
  const { sent, credit, log } = start();
  log.debug({}, 'not wanted');
  grant(credit, true);
  for (let n = 0; n < 150; n++) log.debug({}, `line ${n}`);
  log.info({}, 'others pass');
  assert.equal(sent.length, 101);
  assert.deepEqual(sent.at(-1), ['info', 'others pass']);
  grant(credit, true);
  log.debug({}, 'next');
  assert.deepEqual(sent.slice(-2), [
    ['debug', '50 lines were dropped: the Core has much to hear'],
    ['debug', 'next'],
  ]);
  grant(credit, false);
  log.debug({}, 'not wanted any more');
  assert.equal(sent.length, 103);
});

test('while the Core has much to hear lines are dropped, counted and told with the next one of their level', () => {
  const { sent, peer, log } = start();
  peer.isFull = true;
  for (let n = 0; n < 3; n++) log.warn({}, 'lost');
  peer.isFull = false;
  log.warn({}, 'heard');
  assert.deepEqual(sent, [
    ['warn', '3 lines were dropped: the Core has much to hear'],
    ['warn', 'heard'],
  ]);
});
