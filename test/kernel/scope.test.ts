import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Logger } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { PluginScope } from '../../kernel/scope.ts';
import { pace } from '../fixtures/eventually.ts';

after(leakCheck());

function scopeWithLog(): { scope: PluginScope; errors: string[] } {
  const errors: string[] = [];
  const quiet = () => undefined;
  const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: (_, message) => void errors.push(message) };
  return { scope: new PluginScope('test', log), errors };
}

test('everything is released newest first, each release awaited, once', async () => {
  const { scope } = scopeWithLog();
  const seen: number[] = [];
  scope.defer('one', () => void seen.push(1));
  const part = scope.child('part');
  part.defer('three', () => void seen.push(3));
  part.defer('four', async () => {
    await pace(5);
    seen.push(4);
  });
  scope.use('two', { [Symbol.dispose]: () => void seen.push(2) });
  assert.equal(scope.signal.aborted, false);
  await Promise.all([scope.end(), scope.end()]);
  assert.deepEqual(seen, [2, 4, 3, 1]);
  assert.equal(scope.signal.aborted, true);
  assert.deepEqual(scope.held, []);
});

test('a part that ends by itself leaves nothing behind in the whole', async () => {
  const { scope } = scopeWithLog();
  for (let i = 0; i < 100; i++) {
    await using part = scope.child(`connection ${i}`);
    part.defer('socket', () => undefined);
  }
  scope.hold('subscription', () => undefined)[Symbol.dispose]();
  assert.deepEqual(scope.held, []);
  await scope.end();
});

test('a release that throws is told and does not keep the others', async () => {
  const { scope, errors } = scopeWithLog();
  let released = 0;
  scope.defer('first', () => void released++);
  scope.defer('bad', () => Promise.reject(new Error('no')));
  assert.deepEqual(await scope.end(), []);
  assert.equal(released, 1);
  assert.deepEqual(errors, ['plugin test failed in bad']);
});

test('a resource that comes after the end is released and refused', async () => {
  const { scope } = scopeWithLog();
  await scope.end();
  let released = 0;
  const resource = { [Symbol.dispose]: () => void released++ };
  assert.throws(() => scope.use('late', resource), { code: 'SCOPE_CLOSED', message: /acquired late after/ });
  assert.throws(() => scope.interval('tick', 1, () => undefined), { code: 'SCOPE_CLOSED' });
  assert.throws(() => scope.timeout('once', 1, () => undefined), { code: 'SCOPE_CLOSED' });
  assert.throws(() => scope.child('part'), { code: 'SCOPE_CLOSED' });
  assert.equal(released, 1);
});

test('timers end with the scope, do not overlap themselves, and their errors are told', async () => {
  const { scope, errors } = scopeWithLog();
  let [running, most, fired] = [0, 0, 0];
  scope.interval('tick', 1, async () => {
    most = Math.max(most, ++running);
    await pace(5);
    running--;
  });
  scope.timeout('bad', 1, () => Promise.reject(new Error('no')));
  scope.timeout('never', 10_000, () => void fired++);
  scope.timeout('gone', 1, () => void fired++)[Symbol.dispose]();
  await pace(30);
  assert.deepEqual(scope.held, ['tick', 'never']);
  await scope.end();
  await pace(10);
  assert.deepEqual([most, fired, errors], [1, 0, ['plugin test failed in bad']]);
});

test('a release that hangs is named, by its path, and the rest goes on', async () => {
  const { scope } = scopeWithLog();
  let released = 0;
  scope.defer('behind', () => void released++);
  scope.child('app').defer('process', () => new Promise(() => undefined));
  assert.deepEqual(await scope.end(20), ['app > process']);
  assert.equal(released, 1);
});
