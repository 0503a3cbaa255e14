/** What every plugin that keeps secrets must do for apps: own scope only, over the socket of the app. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Invocation } from '@device-core/plugin-api/services/operations';
import { virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { AGENDA, app, asApp, healthOf, TEXT } from '../fixtures/secrets-device.ts';
import type { SecretsUnderTest } from './secrets.ts';

/** Declares the tests; call it inside a `describe`. */
export function secretsOfAppsContract(target: SecretsUnderTest): void {
  it('are those that app.yaml declares, used over the socket of the app', async () => {
    const started = await target.start();
    await using _host = started.host;
    const { table } = started;
    await table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    assert.deepEqual(await table.run('secrets.get', { name: 'token' }, asApp()), { name: 'token', secretText: TEXT });
    assert.deepEqual(await table.run('secrets.get', { name: 'token', scope: `app.${AGENDA}` }, asApp()), {
      name: 'token',
      secretText: TEXT,
    });
    await assert.rejects(table.run('secrets.get', { name: 'token' }, asApp('com.example.other')), {
      code: 'SECRET_NOT_FOUND',
    });
    await table.run('secrets.set', { scope: 'app.com.example.other', name: 'token', secretText: TEXT });
    const { secrets: own } = await table.run<{ secrets: { scope: string }[] }>('secrets.list', {}, asApp());
    assert.deepEqual(
      own.map(({ scope }) => scope),
      [`app.${AGENDA}`],
    );
    await table.run('secrets.delete', { name: 'token' }, asApp());
    await assert.rejects(table.run('secrets.delete', { name: 'token' }, asApp()), { code: 'SECRET_NOT_FOUND' });
  });

  it("are refused by every spelling of another's name", async () => {
    const started = await target.start();
    await using _host = started.host;
    const { table } = started;
    const other = 'app.com.example.other';
    for (const scope of [other, 'shared', 'plugin.a', 'core'])
      await table.run('secrets.set', { scope, name: 'token', secretText: TEXT });
    const asked: readonly object[] = [
      ...[other, 'shared', 'core', 'plugin.a', 'app.', '', 'APP.com.example.other', `app.${AGENDA}/..`, '*'].map(
        (scope) => ({ scope, name: 'token' }),
      ),
      ...[
        `../${other}/token`,
        `${other}/token`,
        `${other}.token`,
        'shared/token',
        '..%2f',
        'token\0',
        'Token',
        'undeclared',
      ].map((name) => ({ name })),
    ];
    for (const params of asked) {
      for (const operation of ['get', 'set', 'delete']) {
        const more = operation === 'set' ? { secretText: TEXT } : {};
        const refusal = table.run(`secrets.${operation}`, { ...params, ...more }, asApp());
        await assert.rejects(refusal, (error: Error & { code?: string }) => {
          assert.ok(['SECRET_DENIED', 'PARAMS_INVALID'].includes(String(error.code)), `${operation} ${error.message}`);
          return assert.ok(!error.message.includes(TEXT)) ?? true;
        });
      }
    }
    await assert.rejects(table.run('secrets.list', { scope: other }, asApp()), { code: 'SECRET_DENIED' });
    for (const name of ['missing', 'rotate'])
      await assert.rejects(table.run(`secrets.${name}`, {}, asApp()), { code: 'CAPABILITY_DENIED' });
  });

  it('are not used with the token of the app alone, and read by nobody else', async () => {
    const started = await target.start();
    await using _host = started.host;
    const { table } = started;
    await table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    const byToken = { caller: app(AGENDA) };
    for (const [name, more] of [
      ['get', {}],
      ['set', { secretText: TEXT }],
      ['delete', {}],
    ] as const)
      await assert.rejects(table.run(`secrets.${name}`, { name: 'token', ...more }, byToken), {
        code: 'SESSION_REQUIRED',
      });
    await assert.rejects(table.run('secrets.list', {}, byToken), { code: 'SESSION_REQUIRED' });
    for (const scope of [undefined, `app.${AGENDA}`])
      await assert.rejects(table.run('secrets.get', { name: 'token', ...(scope && { scope }) }), {
        code: 'CALLER_DENIED',
      });
    const other: Partial<Invocation> = { caller: { kind: 'plugin', id: 'a' } };
    await assert.rejects(table.run('secrets.get', { name: 'token' }, other), { code: 'CALLER_DENIED' });
    await assert.rejects(table.run('secrets.list', {}, other), { code: 'CAPABILITY_DENIED' });
  });

  it('go with an app that is removed for good, and stay with one that may come back', async () => {
    const started = await target.start();
    await using host = started.host;
    const listed = async () => (await started.table.run<{ secrets: unknown[] }>('secrets.list', {})).secrets.length;
    await started.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    host.publish('app.removed', { id: AGENDA, purged: false });
    await host.settle();
    assert.equal(await listed(), 1);
    host.publish('app.removed', { id: AGENDA, purged: true });
    await host.settle();
    await eventually(async () => (await listed()) === 0, 'secrets that are gone');
  });

  it('of one that was removed for good are deleted when the vault can be opened, and of no use to the next one of its name until then', async () => {
    const place = target.place();
    const clock = virtualClock();
    const first = await target.start({}, { place, clock });
    for (const name of ['token', 'pin']) await first.table.run('secrets.set', { name, secretText: TEXT }, asApp());
    await first.host.stop();
    const open = target.shut(place);
    const second = await target.start({}, { place, clock });
    await using host = second.host;
    host.publish('app.removed', { id: AGENDA, purged: true });
    await host.settle();
    await assert.rejects(second.table.run('secrets.get', { name: 'token' }, asApp()), { code: 'SECRETS_LOCKED' });
    await eventually(async () => (await healthOf(second)).includes('SECRETS_OWED'), 'a health that tells it');
    open();
    await clock.advance(1_000);
    await assert.rejects(second.table.run('secrets.get', { name: 'token' }, asApp()), { code: 'SECRET_NOT_FOUND' });
    assert.deepEqual(await second.table.run('secrets.list', {}, asApp()), { secrets: [] });
    await second.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    assert.deepEqual(await second.table.run('secrets.get', { name: 'token' }, asApp()), {
      name: 'token',
      secretText: TEXT,
    });
    assert.deepEqual(await healthOf(second), target.told);
  });

  it('of one that was removed for good are tried again by the clock, though nobody asks', async () => {
    const place = target.place();
    const clock = virtualClock();
    const first = await target.start({}, { place, clock });
    await first.table.run('secrets.set', { name: 'token', secretText: TEXT }, asApp());
    await first.host.stop();
    const open = target.shut(place);
    const second = await target.start({}, { place, clock });
    await using host = second.host;
    host.publish('app.removed', { id: AGENDA, purged: true });
    await host.settle();
    open();
    const gone = () => host.logged.some((line) => JSON.stringify(line).includes('secret token was deleted'));
    await eventually(async () => {
      await clock.advance(5_000);
      return gone();
    }, 'a secret that is deleted');
  });
}
