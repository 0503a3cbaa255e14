import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { HookRegistry } from '../../kernel/hooks.ts';

test('taps run by stage, then by plugin, in any order of their arrival', async () => {
  const orders = [
    ['b', 'a', 'late'],
    ['late', 'a', 'b'],
  ];
  for (const order of orders) {
    const hooks = new HookRegistry();
    const seen: string[] = [];
    for (const plugin of order)
      hooks.tap('operation.before', plugin, () => void seen.push(plugin), plugin === 'late' ? 10 : 0);
    await hooks.caller('operation.before').promise('x', {} as never);
    assert.deepEqual(seen, ['a', 'b', 'late']);
  }
});

test('a tap that left runs no more, and the owner keeps the same caller', async () => {
  const hooks = new HookRegistry();
  const caller = hooks.caller('kernel.ready');
  let runs = 0;
  const leave = hooks.tap('kernel.ready', 'a', async () => void runs++, 0);
  assert.equal(caller.isUsed(), true);
  await caller.promise();
  leave();
  leave();
  await caller.promise();
  assert.equal(runs, 1);
  assert.equal(caller.isUsed(), false);
});

test('the first refusal of a bail hook wins, from a tap that answers at once or later', async () => {
  const hooks = new HookRegistry();
  const refusal = new CoreError('BUSY', { what: 'x', limit: 1 });
  hooks.tap('operation.before', 'a', async () => undefined, 0);
  hooks.tap('operation.before', 'b', async (name: string) => (name === 'slow' ? refusal : undefined), 0);
  hooks.tap('operation.before', 'c', (name: string) => (name === 'quick' ? refusal : undefined), 0);
  const before = hooks.caller('operation.before');
  assert.equal(await before.promise('slow', {} as never), refusal);
  assert.equal(await before.promise('quick', {} as never), refusal);
  assert.equal(await before.promise('fine', {} as never), undefined);
});

test('answers that the taps of a bail hook know at once come without a promise, and later ones come in the same order', async () => {
  const refusal = new CoreError('BUSY', { what: 'x', limit: 1 });
  const now = (answer: unknown) => () => answer;
  const later = (answer: unknown) => async () => answer;
  const fails = () => assert.fail('broken');
  const cases: [taps: (() => unknown)[], atOnce: boolean, expected: unknown][] = [
    [[], true, undefined],
    [[now(undefined), now(undefined)], true, undefined],
    [[now(undefined), now(refusal), fails], true, refusal],
    [[now(refusal), later(undefined)], true, refusal],
    [[later(undefined), now(refusal), fails], false, refusal],
    [[now(undefined), later(undefined), later(refusal)], false, refusal],
    [[later(undefined), now(undefined)], false, undefined],
    [[later(undefined), fails], false, 'HOOK_FAILED'],
    [[fails, now(refusal)], true, 'HOOK_FAILED'],
  ];
  for (const [taps, atOnce, expected] of cases) {
    const hooks = new HookRegistry();
    taps.forEach((tap, index) => void hooks.tap('operation.before', 'a', tap, index));
    const caller = hooks.caller('operation.before');
    const result = async (ask: () => unknown) => {
      try {
        return await ask();
      } catch (error) {
        return (error as CoreError).code;
      }
    };
    let first: unknown;
    const asked = await result(() => {
      first = caller.first!('x', {} as never);
      return first;
    });
    assert.equal(first instanceof Promise, !atOnce);
    assert.equal(asked, expected);
    assert.equal(await result(() => caller.promise('x', {} as never)), expected);
    assert.deepEqual(await caller.unanswered(), []);
  }
});

test('an error names the plugin of the tap; one of the table passes as it is', async () => {
  const hooks = new HookRegistry();
  const cases: [fail: () => unknown, code: string][] = [
    [() => assert.fail('broken'), 'HOOK_FAILED'],
    [() => Promise.reject(new Error('broken')), 'HOOK_FAILED'],
    [() => Promise.reject(new CoreError('BUSY')), 'BUSY'],
  ];
  for (const [fail, code] of cases) {
    const leave = hooks.tap('operation.before', 'limits', fail, 0);
    await assert.rejects(hooks.caller('operation.before').promise('x', {} as never), (error: CoreError) => {
      assert.equal(error.code, code);
      if (code === 'HOOK_FAILED') assert.match(error.message, /plugin limits failed in hook operation.before: broken/);
      return true;
    });
    leave();
  }
});

test('a waterfall hook hands the value on, changed or not', () => {
  const hooks = new HookRegistry();
  hooks.tap('log.line', 'a', (line: string) => `${line} and a`, 0);
  hooks.tap('log.line', 'b', () => undefined, 0);
  assert.equal(hooks.caller('log.line').call('line'), 'line and a');
});

test('every tap of a parallel hook runs, whichever of them fails, and the owner learns of each failure', async () => {
  const hooks = new HookRegistry();
  const caller = hooks.caller('kernel.ready');
  const seen: string[] = [];
  hooks.tap('kernel.ready', 'a', () => assert.fail('broken at once'), 0);
  hooks.tap('kernel.ready', 'b', () => void seen.push('b'), 0);
  await assert.rejects(caller.promise(), /plugin a failed in hook kernel.ready: broken at once/);
  hooks.tap('kernel.ready', 'c', () => Promise.reject(new Error('broken later')), 0);
  hooks.tap('kernel.ready', 'd', async () => void seen.push('d'), 0);
  await assert.rejects(caller.promise(), /plugin a .*broken at once; plugin c .*broken later/);
  assert.deepEqual(seen, ['b', 'b', 'd']);
});
