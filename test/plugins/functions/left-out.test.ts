/** One function that cannot be registered takes no other along, and everybody is told what it lacks. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type FunctionEntry, type FunctionLeftOut, functions } from '@device-core/plugin-api/services/functions';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Started, start } from './start.ts';

const APP = 'com.example.agenda';
const CALLER = { kind: 'app', id: APP } as const;
const HANDLE = 'bridges.spi:flash';
const HINT = `capabilities: [{ id: ${HANDLE}, reason: ... }] in app.yaml and grants: { ${APP}: ["${HANDLE}"] } in the SKU`;

const free: FunctionEntry = { name: 'agenda.today', version: '1.0.0' };
const bound: FunctionEntry = { name: 'agenda.fetch', version: '1.0.0', permissions: [HANDLE] };

after(leakCheck());

const registryOf = (started: Started) => started.host.service(functions) as NonNullable<typeof functions.T>;
const listed = (started: Started) =>
  started.table.run('functions.list', {}) as Promise<{ functions: { name: string }[]; leftOut: FunctionLeftOut[] }>;

async function refusal(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, String(error));
  return error;
}

describe('offers of an app', () => {
  const others: readonly (readonly [what: string, entry: unknown, code: string, reason: RegExp])[] = [
    ['lacks a capability', bound, 'CAPABILITY_DENIED', /does not hold bridges\.spi:flash/],
    ['needs what there is not', { ...bound, permissions: ['netwrok'] }, 'CAPABILITY_UNKNOWN', /network/],
    ['has a name that is none', { ...free, name: 'Agenda fetch' }, 'FUNCTION_INVALID', /name must match/],
    ['stands there twice, with another shape', { ...free, inputs: { day: 'string' } }, 'VERSION_CONFLICT', /another/],
    ['is nothing', null, 'FUNCTION_INVALID', /not an object/],
  ];
  for (const [what, entry, code, reason] of others)
    it(`is registered but for a function that ${what}`, async () => {
      await using started = await start();
      const last = { name: 'agenda.last', version: '1.0.0' };
      const offered = { app: APP, functions: [free, entry as FunctionEntry, last] };
      const answer = await registryOf(started).offer(offered);
      assert.deepEqual(
        answer.registered.map(({ name }) => name),
        ['agenda.today', 'agenda.last'],
      );
      const { functions: there, leftOut } = await listed(started);
      assert.deepEqual(there.map(({ name }) => name).toSorted(), ['agenda.last', 'agenda.today']);
      assert.deepEqual(
        leftOut.map((one) => one.code),
        [code],
      );
      assert.match(leftOut[0]?.reason ?? '', reason);
      assert.ok(started.host.logged.some(({ level, message }) => level === 'warn' && reason.test(message)));
      const warned: string[] = [];
      const report = { add: () => undefined, warn: (...words: string[]) => void warned.push(words.join(': ')) };
      await started.host.hook('health.collect').promise(report as unknown as HealthReport);
      assert.match(warned.join(), /^FUNCTIONS_LEFT_OUT: 1 functions of apps cannot be called; /);
    });

  it('are named in FUNCTION_NOT_FOUND with the missing rights and the line that would grant them', async () => {
    await using started = await start();
    await registryOf(started).offer({ app: APP, functions: [free, bound] });
    for (const work of [
      started.table.run('functions.describe', { name: bound.name }),
      started.table.run('functions.call', { name: bound.name }),
      started.table.run('functions.call', { name: bound.name, app: APP }),
    ]) {
      const { code, details, message } = await refusal(work);
      assert.equal(code, 'FUNCTION_NOT_FOUND');
      assert.deepEqual([details.app, details.capability, details.hint], [APP, HANDLE, HINT]);
      assert.match(message, /it is left out, because com\.example\.agenda does not hold bridges\.spi:flash/);
    }
    const { message } = await refusal(started.table.run('functions.call', { name: 'agenda.other' }));
    assert.equal(message, 'there is no function agenda.other');
  });

  it('comes in when the capability is granted, and is told again when it is withdrawn', async () => {
    await using started = await start();
    started.sockets.join(APP, () => ({}));
    let changes = 0;
    using _listener = registryOf(started).onChange(() => {
      changes += 1;
    });
    await registryOf(started).offer({ app: APP, functions: [free, bound] });
    assert.equal(changes, 1);
    await started.host.grants.set(CALLER, [HANDLE]);
    assert.deepEqual((await listed(started)).leftOut, []);
    assert.equal(changes, 2);
    await started.table.run('functions.call', { name: bound.name });
    await started.host.grants.set(CALLER, []);
    const [lost] = (await listed(started)).leftOut;
    assert.deepEqual([lost?.name, lost?.capability, lost?.hint], [bound.name, HANDLE, HINT]);
    assert.equal((await refusal(started.table.run('functions.call', { name: bound.name }))).code, 'CAPABILITY_DENIED');
  });

  it('is called at once after the grant, without a look before', async () => {
    await using started = await start();
    started.sockets.join(APP, () => ({}));
    await registryOf(started).offer({ app: APP, functions: [bound] });
    await started.host.grants.set(CALLER, [HANDLE]);
    assert.deepEqual(await started.table.run('functions.call', { name: bound.name }), { result: {} });
  });

  it('is forgotten with its app, and told anew with each offer', async () => {
    await using started = await start();
    const registry = registryOf(started);
    for (let time = 0; time < 3; time += 1) await registry.offer({ app: APP, functions: [free, bound] });
    assert.equal((await registry.leftOut({ app: APP })).length, 1);
    assert.equal((await registry.leftOut({ app: 'com.example.other' })).length, 0);
    await registry.unregister(APP);
    assert.deepEqual(await registry.leftOut(), []);
  });

  it('are bounded, in any number', async () => {
    await using started = await start();
    const many = Array.from({ length: 400 }, (_, at) => ({ ...bound, name: `agenda.f${at}` }));
    assert.equal((await registryOf(started).offer({ app: APP, functions: many })).leftOut.length, 256);
  });
});
