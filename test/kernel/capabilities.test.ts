import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANONYMOUS, type Caller, type CapabilityId } from '@device-core/plugin-api';
import { CapabilityChecker } from '../../kernel/capabilities.ts';

const app: Caller = { kind: 'app', id: 'com.example.a' };
const operator: Caller = { kind: 'operator', id: 'root' };

test('a parent implies its children and an unscoped grant every scope; nothing else does', async () => {
  const checker = new CapabilityChecker();
  const cases: [grants: string[], wanted: CapabilityId, answer: boolean][] = [
    [['bridges'], 'bridges.spi:flash', true],
    [['bridges.spi'], 'bridges.spi:flash', true],
    [['bridges.spi:flash'], 'bridges.spi:flash', true],
    [['bridges.spi:flash'], 'bridges.spi:flash2', false],
    [['bridges.spi:flash'], 'bridges.spi', false],
    [['bridges.spi'], 'bridges.i2c', false],
    [['display'], 'display.notify', true],
    [['audio'], 'audio.node:snd', false],
    [['audio.node'], 'audio.node:snd', true],
    [['bridges'], 'bridges.node:i2c-1', true],
    [['events'], 'events.read:com.example.a', true],
    [['events.read:com.example'], 'events.read:com.example.a', false],
    [[], 'display', false],
  ];
  for (const [grants, wanted, answer] of cases) {
    await checker.set(app, grants);
    assert.equal(checker.holds(app, wanted), answer, `${grants} ${wanted}`);
    assert.equal(checker.holds(app, wanted), answer, 'from memory');
  }
});

test('the operator holds everything, other callers hold only their grants', () => {
  const checker = new CapabilityChecker();
  assert.ok(checker.holds(operator, 'system.plugins'));
  for (const caller of [ANONYMOUS, app, { kind: 'plugin', id: 'x' } as const]) {
    assert.equal(checker.holds(caller, 'display'), false);
    assert.throws(() => checker.requireAny(caller, 'display'), { code: 'CAPABILITY_DENIED' });
  }
});

test('a refusal of a whole family names what the caller of it asks for: the narrow form', () => {
  const checker = new CapabilityChecker();
  const details = { capability: 'bridges.spi:<handle>', class: 'sensitive' };
  assert.throws(
    () => checker.requireAny(app, 'bridges.spi', 'bridges.spi:<handle>'),
    (error: { details: Record<string, string> }) => {
      assert.deepEqual([error.details.capability, error.details.class], Object.values(details));
      assert.match(String(error.details.hint), /id: bridges\.spi:<handle>,.*\["bridges\.spi:<handle>"\]/);
      return true;
    },
  );
});

test('a change of grants counts at once', async () => {
  const checker = new CapabilityChecker();
  await checker.set(app, ['display']);
  assert.ok(checker.holds(app, 'display.notify'));
  await checker.clear(app);
  assert.equal(checker.holds(app, 'display.notify'), false);
});

test('a refusal says what would grant it, in the app and where needed in the SKU, and is remembered', async () => {
  const checker = new CapabilityChecker();
  const cases: [CapabilityId, string, RegExp, boolean][] = [
    ['display.notify', 'normal', /capabilities: \[\{ id: display.notify, reason: ... \}\]/, false],
    ['bridges.spi:flash', 'sensitive', /grants: \{ com.example.a: \["bridges.spi:flash"\] \}/, true],
    ['system.plugins', 'oem', /id: system.plugins/, true],
  ];
  for (const [capability, level, hint, sku] of cases) {
    assert.throws(
      () => checker.require(app, capability),
      (error: { code: string; details: Record<string, string> }) => {
        assert.equal(error.code, 'CAPABILITY_DENIED');
        assert.match(String(error.details.hint), hint);
        assert.equal(String(error.details.hint).includes('SKU'), sku);
        assert.deepEqual(
          [error.details.caller, error.details.capability, error.details.class],
          ['app.com.example.a', capability, level],
        );
        return true;
      },
    );
  }
  const refusals = await checker.refusals();
  assert.deepEqual(
    refusals.map(({ capability }) => capability),
    cases.map(([capability]) => capability).reverse(),
  );
});

test('256 refusals are kept, and 64 of one caller: who tries many names pushes out no other', async () => {
  const checker = new CapabilityChecker();
  for (let i = 0; i < 300; i++)
    assert.throws(() => checker.require({ kind: 'app', id: `com.example.a${i}` }, 'network.listen'));
  for (let i = 0; i < 300; i++) assert.throws(() => checker.require(app, `bridges.spi:h${i}`));
  const refusals = await checker.refusals();
  assert.equal(refusals.length, 256);
  const mine = refusals.filter(({ caller }) => caller.id === app.id);
  assert.equal(mine.length, 64);
  assert.deepEqual([mine[0]?.capability, mine[63]?.capability], ['bridges.spi:h299', 'bridges.spi:h236']);
});

test('a repeated refusal is remembered once, with its count, and pushes out no other', async () => {
  const checker = new CapabilityChecker();
  const other = { kind: 'app', id: 'com.example.b' } as const;
  assert.throws(() => checker.require(other, 'audio.capture'));
  for (let i = 0; i < 300; i++) assert.throws(() => checker.require({ ...app }, 'audio.capture'));
  const refusals = await checker.refusals();
  assert.deepEqual(
    refusals.map(({ caller, count }) => [caller.id, count]),
    [
      [app.id, 300],
      [other.id, 1],
    ],
  );
  assert.ok(refusals.every(({ first, ts }) => first <= ts));
});

test('an unknown capability is refused with the nearest one', async () => {
  const checker = new CapabilityChecker();
  await assert.rejects(checker.set(app, ['bridges.sip']), {
    code: 'CAPABILITY_UNKNOWN',
    message: /did you mean bridges.spi/,
  });
  await assert.rejects(checker.set(operator, []), { code: 'CALLER_DENIED' });
});

test('used rights are those that were asked for and held, since the grants were set', async () => {
  const checker = new CapabilityChecker();
  assert.deepEqual(await checker.used(app), []);
  await checker.set(app, ['bridges.spi', 'display.notify', 'audio.intent']);
  checker.require(app, 'bridges.spi:flash');
  checker.holds(app, 'display.notify');
  checker.holds(app, 'audio');
  assert.throws(() => checker.require(app, 'network.listen'));
  assert.deepEqual(await checker.used(app), ['bridges.spi:flash', 'display.notify']);
  assert.deepEqual(await checker.used(operator), []);
  await checker.set(app, ['bridges.spi']);
  assert.deepEqual(await checker.used(app), [], 'a start begins anew');
});
